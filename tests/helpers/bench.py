"""Small sets in parquet and specs over them, for runs of a fraction of a second."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from helpers.tickets import read_tickets

SPEC: dict[str, Any] = {
    "name": "toy",
    "encoder": "bert",
    "data": ["toys"],
    "sizes": [12, 24],
    "arms": ["raw", "pfit"],
    "rates": [1e-4],
    "seeds": [0, 1],
    "protocol": "paper",
    "records": "toy.jsonl",
}
TIMING = ("seconds", "ended")


def write_spec(path: Path, **changes: Any) -> Path:
    """A spec as TOML; JSON's texts, numbers and lists are TOML's as well."""
    values = {**SPEC, **changes}
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_sets(folder: Path) -> Path:
    """`toys` (2 classes), `pairs` (3 classes, two dev splits) and `scores` (regression)."""
    texts, _ = read_tickets("train")
    first, second = texts[:300], texts[::-1][:300]
    draw = np.random.default_rng(0)
    classes = draw.permutation(np.repeat([0, 1, 2], 100))
    marks = np.where(classes > 0, "fine parcel", "broken")
    marked = [f"{mark} {text}" for mark, text in zip(marks, first, strict=True)]
    scores = np.round(classes + draw.normal(0, 0.1, 300), 3).astype(np.float32)
    for name, labels in (("toys", np.minimum(classes, 1)), ("scores", scores)):
        spans = {"train": slice(260), "validation": slice(260, 300)}
        parts = {split: (marked[span], None, labels[span]) for split, span in spans.items()}
        _write(folder / name, parts)
    spans = {
        "train": slice(240), "validation_matched": slice(240, 260),
        "validation_mismatched": slice(260, 280),
    }  # fmt: skip
    pairs = {split: (first[span], second[span], classes[span]) for split, span in spans.items()}
    _write(folder / "pairs", pairs)
    return folder


Part = tuple[list[str], list[str] | None, np.ndarray]


def _write(folder: Path, splits: dict[str, Part]) -> None:
    folder.mkdir(parents=True)
    for name, (first, second, labels) in splits.items():
        columns = {
            "sentence1": pa.array(first),
            "sentence2": pa.array(second or [None] * len(first), pa.string()),
            "label": pa.array(labels, pa.float32() if labels.dtype.kind == "f" else pa.int32()),
            "idx": pa.array(range(len(first)), pa.int32()),
        }
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def without_times(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """key → record, less what a clock said."""
    return {
        record["key"]: {k: v for k, v in record.items() if k not in TIMING} for record in records
    }
