"""docs/interpretability.md is what its template and the committed records give."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

from helpers.places import ROOT


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "benchmarks" / "interpretability_page.py"))


def test_the_committed_page_is_fresh(generator: dict[str, Any]) -> None:
    committed = (ROOT / "docs" / "interpretability.md").read_text(encoding="utf-8")
    assert committed == generator["page"](), "run `python benchmarks/interpretability_page.py`"


def test_nothing_is_left_open(generator: dict[str, Any]) -> None:
    page = generator["page"]()
    assert "{{" not in page
    assert "Not yet run" not in page


def test_the_figures_of_the_paper_are_reached_by_the_default(generator: dict[str, Any]) -> None:
    """10 nearest training texts of each prototype on SST-2, five seeds."""
    cells = generator["grouped"](generator["read"]("inter_class"))["embedded", "default", "1000"]
    assert len(cells) >= 5
    for name, least in generator["PAPER"].items():
        shares = [cell[name]["train"] for cell in cells]
        assert 100 * sum(shares) / len(shares) >= least


def test_explanations_were_exact(generator: dict[str, Any]) -> None:
    gaps = [cell["gap"] for cell in generator["read"]("faithfulness").values()]
    assert gaps
    assert max(gaps) <= 1e-6
