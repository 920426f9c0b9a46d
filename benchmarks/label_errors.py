"""Wrong labels among the training texts of the bundled example: how many does a model point at?

    python benchmarks/label_errors.py               # one seed; writes the record
    python benchmarks/label_errors.py --seeds 0 1 2

Labels of 15 of the 300 texts are made wrong, a model is trained on all of them, and the texts that
it doubts are listed twice: by the features after training, and by those of the encoder before it.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from protofit import PFitClassifier
from protofit.explain.label_errors import label_errors
from protofit.explain.reading import Reading

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benchmarks" / "records" / "label_errors.json"
WRONG = 15
LISTED = 25  # texts of a list that are counted, as many as the report shows


def example() -> tuple[list[str], list[str]]:
    """Texts and labels."""
    with (ROOT / "examples" / "tickets" / "train.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["label"] for row in rows]


def spoiled(labels: list[str], seed: int) -> tuple[list[str], set[int]]:
    """The labels with some made wrong, and the rows of those."""
    draw = np.random.default_rng(seed)
    names, changed = sorted(set(labels)), list(labels)
    rows = draw.choice(len(labels), WRONG, replace=False)
    for row in rows:
        changed[row] = str(draw.choice([name for name in names if name != labels[row]]))
    return changed, set(rows.tolist())


def found(bundle: Any, wrong: set[int]) -> dict[str, int]:
    """How many texts are listed, and how many of those have a wrong label."""
    listed = [each.row for each in label_errors(Reading(bundle), most=LISTED)]
    first = {f"wrong_in_first_{n}": len(wrong & set(listed[:n])) for n in (5, 10, LISTED)}
    return {"listed": len(listed), **first}


def main() -> None:
    """Train once per seed and look twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, default=RECORD)
    options = parser.parse_args()
    texts, labels = example()
    cells = {}
    for seed in options.seeds:
        given, wrong = spoiled(labels, seed)
        bundle = PFitClassifier(keep_texts=True, random_state=seed).fit(texts, given).bundle_
        before = found(bundle, wrong)
        bundle.index = replace(bundle.index, texts=None)  # nothing left to encode again
        cells[str(seed)] = {"before_training": before, "after_training": found(bundle, wrong)}
        print(seed, cells[str(seed)], flush=True)
    content = {"texts": len(texts), "wrong": WRONG, "cells": cells}
    options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
