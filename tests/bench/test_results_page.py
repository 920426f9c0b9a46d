"""docs/results.md and its figures are what the committed records give."""

from __future__ import annotations

from pathlib import Path

import pytest

from protofit.bench.figures import figure_data
from protofit.bench.plot_style import LIGHT, THEMES, digest
from protofit.bench.report import IMAGES, results_of

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "benchmarks" / "records" / "bench"
ADVICE = "run `make results`"


@pytest.fixture(scope="module")
def results():
    if not any(RECORDS.glob("*.jsonl")):
        pytest.skip("no records are committed yet")
    return results_of(ROOT)


def test_the_page_is_what_the_records_give(results):
    page, _ = results
    written = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert written == page, f"docs/results.md is stale: {ADVICE}"


def test_the_figures_show_the_data_of_the_records(results):
    _, boards = results
    for name, data in figure_data(boards).items():
        for theme in THEMES:
            stem = name if theme is LIGHT else f"{name}-{theme.name}"
            path = ROOT / "docs" / IMAGES / f"{stem}.svg"
            assert f"data {digest(data)}" in path.read_text(), f"{path.name} is stale: {ADVICE}"


def test_the_template_can_be_filled():
    page, _ = results_of(ROOT)
    assert "{{" not in page
    assert "## In one screen" in page
