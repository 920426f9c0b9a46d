"""The trace as CSV: short, ordered, and read back to the digits that were written."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.storage.trace import Row, read_trace, trace_csv


def round_trip(rows: list[Row], folder: Path) -> list[Row]:
    path = folder / "trace.csv"
    path.write_text(trace_csv(rows), encoding="utf-8", newline="")
    return read_trace(path)


def test_text() -> None:
    rows: list[Row] = [
        {"step": 1, "loss": 0.693147181, "rate": 1e-05},
        {"step": 2.0, "loss": 12345678.9, "rate": 0.0},
    ]
    assert trace_csv(rows) == "step,loss,rate\n1,0.693147,1e-05\n2,1.23457e+07,0\n"


def test_columns_come_in_the_order_of_their_first_row_and_gaps_stay_gaps(tmp_path: Path) -> None:
    rows: list[Row] = [{"b": 1.0, "a": 2.0}, {"c": 3.0, "a": 0.0}]
    assert trace_csv(rows).splitlines()[0] == "b,a,c"
    assert round_trip(rows, tmp_path) == rows


def test_no_rows(tmp_path: Path) -> None:
    assert round_trip([], tmp_path) == []


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_infinite_values(value: float, tmp_path: Path) -> None:
    assert round_trip([{"loss": value}], tmp_path) == [{"loss": value}]


def test_a_missing_number_is_still_missing_when_read(tmp_path: Path) -> None:
    (row,) = round_trip([{"loss": float("nan")}], tmp_path)
    assert row["loss"] != row["loss"]


names = st.text('abc_," ', min_size=1, max_size=4)
numbers = st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False, width=32)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.dictionaries(names, numbers, min_size=1, max_size=4), max_size=6))
def test_any_rows_are_read_back_to_six_digits(rows: list[Row]) -> None:
    text = trace_csv(rows)
    read = [
        {name: float(value) for name, value in row.items() if value}
        for row in csv.DictReader(io.StringIO(text))
    ]
    assert read == [
        {name: pytest.approx(value, rel=1e-5) for name, value in row.items()} for row in rows
    ]


def test_whole_numbers_are_exact(tmp_path: Path) -> None:
    rows: list[Row] = [{"step": 1234567.0, "seen": 98765432}]
    assert "." not in trace_csv(rows)
    assert round_trip(rows, tmp_path) == rows
