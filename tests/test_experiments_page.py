"""The tables of docs/experiments.md are what the committed records give."""

from __future__ import annotations

import re
import runpy

from helpers.places import ROOT


def test_the_tables_are_what_the_records_give() -> None:
    generator = runpy.run_path(str(ROOT / "benchmarks" / "experiment_tables.py"))
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    marks = re.findall(r"<!-- table: ([a-z0-9.-]+) -->", page)
    assert sorted(marks) == sorted(generator["TABLES"])
    assert generator["filled"](page) == page, "run `python benchmarks/experiment_tables.py`"
    assert generator["filled"](page.replace("| raw |", "| row |")) == page
