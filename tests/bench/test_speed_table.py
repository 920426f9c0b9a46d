"""Pace and profile are shown as they were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from protofit.bench.markdown import NOT_YET
from protofit.bench.speed_table import speed_tables
from protofit.errors import InputError

LINE = {"spec": "e5-fair", "device": "some GPU", "runs": 100, "seconds": 60.0,
        "gpu": {"samples": 100, "busy_share": 0.9, "watts": 500}}  # fmt: skip
ROW = {
    "data": "sst2", "tokens_per_run": 400, "parts_ms": {"encoder": 6.0, "heads": 2.0},
    "kernels": {"busy_share": 0.95, "by_kind": {"matrix products": 0.6, "adam": 0.4}},
}  # fmt: skip
PROFILE = {
    "device": "some GPU", "encoder": "e5-small", "matrix_teraflops": 780.4,
    "rows": [
        {**ROW, "copies": 1, "step_ms": 4.0, "step_ms_per_run": 4.0, "useful": 0.01},
        {**ROW, "copies": 15, "step_ms": 15.0, "step_ms_per_run": 1.0, "useful": 0.061},
    ],
}  # fmt: skip


def test_without_records_it_says_so(tmp_path: Path) -> None:
    assert speed_tables(tmp_path) == NOT_YET


def test_sessions_of_a_spec_are_added_up(tmp_path: Path) -> None:
    more = {**LINE, "runs": 200, "gpu": {"samples": 300, "busy_share": 0.5, "watts": 300}}
    lines = [LINE, more, {**LINE, "spec": "stsb", "gpu": None}]
    (tmp_path / "grid.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = speed_tables(tmp_path)
    assert "| e5-fair | some GPU | 300 | 2.0 | 150 | 60 | 350 |" in table
    assert "| stsb | some GPU | 100 | 1.0 | 100 | — | — |" in table


def test_processes_that_share_a_device_share_its_time(tmp_path: Path) -> None:
    """Three for a minute each, side by side: 300 trainings in one minute."""
    lines = [{**LINE, "beside": 3}] * 3
    (tmp_path / "grid.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "| e5-fair | some GPU | 300 | 1.0 | 300 | 90 | 500 |" in speed_tables(tmp_path)


def test_the_profile_of_a_fleet(tmp_path: Path) -> None:
    (tmp_path / "fleet_profile.json").write_text(json.dumps(PROFILE))
    table = speed_tables(tmp_path)
    assert "| sst2 | 1 | 400 | 4.0 | 4.00 | 6.0 | 2.0 | 95 | 1 |" in table
    assert "| sst2 | 15 | 400 | 15.0 | 1.00 | 6.0 | 2.0 | 95 | 6 |" in table
    assert "780 teraflops" in table
    assert "- sst2, 15 copies: matrix products 60 %, adam 40 %" in table
    assert "1 copies" not in table


@pytest.mark.parametrize("name", ["grid.jsonl", "fleet_profile.json"])
def test_another_file_is_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"rows": [{}]}')
    with pytest.raises(InputError, match="no record of speed"):
        speed_tables(tmp_path)
