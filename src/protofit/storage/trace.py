"""The trace of a run as a table: one row per step, numbers only."""

from __future__ import annotations

import csv
import io
from pathlib import Path

Row = dict[str, float]
TRACE_FILE = "trace.csv"


def trace_csv(rows: list[Row]) -> str:
    """The trace as CSV text; whole numbers without a decimal point."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _short(value) for name, value in row.items()})
    return text.getvalue()


def read_trace(path: Path) -> list[Row]:
    """Rows of a trace file."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {name: float(value) for name, value in row.items() if value}
            for row in csv.DictReader(file)
        ]


def _short(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.6g}"
