"""The benchmark of Table 3 runs, and says what is measured and what is not."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "table3.py"
QUICK = ["--shape", "tiny", "--batch", "8", "--steps", "30", "--rounds", "1", "--growth", "32",
         "64", "--growth-steps", "1", "--growth-rounds", "1", "--device", "cpu"]  # fmt: skip


@pytest.fixture(scope="module")
def table3() -> dict[str, object]:
    """What the script defines."""
    return runpy.run_path(str(SCRIPT))


def test_random_tokens(table3, tmp_path: Path) -> None:
    out = tmp_path / "table3.json"
    record = table3["main"]([*QUICK, "--length", "12", "--examples", "640", "--out", str(out)])
    assert json.loads(out.read_text()) == record
    rows = {(row["arm"], row["size"]): row for row in record["rows"]}
    assert set(rows) == {(arm, size) for arm in table3["ARMS"] for size in (32, 64, 640)}
    assert all(row["seconds"] > 0 and row["extrapolated"] for row in rows.values())
    step = record["step_seconds"]["pfit"]["median"]
    assert rows["pfit", 640]["seconds"] == pytest.approx(80 * step, rel=0.01, abs=0.01)


def test_whole_epochs_of_a_set(table3, sets: Path, tiny_bert: Path) -> None:
    more = ["--set", "toys", "--data-dir", str(sets), "--tokenizer", str(tiny_bert), "--whole", "1"]
    record = table3["main"]([*QUICK, *more])
    whole = {row["arm"] for row in record["rows"] if not row["extrapolated"]}
    assert whole == {"raw", "pfit"}
    assert {row["size"] for row in record["rows"]} == {32, 64, 260}


def test_the_line_through_the_growth(table3) -> None:
    """Steps of 2 ms, 1 ms to begin a re-estimation and 0.01 ms for each text."""

    class Args:
        batch, examples = 10, 10_000

    growth = {n: [0.002 + 0.001 + 1e-5 * n] * 3 for n in (100, 200, 400)}
    rows, fit = table3["imp_rows"](growth, 0.002, Args)
    assert fit["seconds_per_step_and_text"] == pytest.approx(1e-5)
    assert fit["seconds_per_step"] == pytest.approx(1e-3)
    assert rows[-1]["seconds"] == pytest.approx(1000 * (0.003 + 0.1))
    assert rows[0]["seconds"] == pytest.approx(10 * 0.004)


def test_seconds_of_a_step(table3) -> None:
    marks = {step: 0.5 * step + (9 if step < 20 else 0) for step in range(41)}
    assert table3["per_step"](marks, 10, 2) == pytest.approx(0.5)
    low, high = table3["interval"](np.array([1.0, 2.0, 3.0]), np.random.default_rng(0))
    assert 1 <= low <= 2 <= high <= 3
