"""The bundled example, read without the library."""

from __future__ import annotations

import csv

from helpers.places import EXAMPLE


def read_tickets(split: str) -> tuple[list[str], list[str]]:
    """Texts and labels."""
    with (EXAMPLE / f"{split}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["label"] for row in rows]
