"""Add classes from ten texts without retraining: Banking77 with 10 of its 77 classes left out.

    python benchmarks/interpretability/new_classes.py --minutes 7

For a seed, 10 intents are left out; a model is trained on the other 67 with 30 texts each. Then
each intent is added with `prototypes.add_class` from its first 10 (also 1, 5, 30) training texts.
Accuracy is on the whole test file, always among 77 classes once they are added: on texts of the
new classes, on those of the old ones (also before the edits, among 67). Against it, two full
trainings on all 77 classes: with the same 10 texts for the new ones, and with 30 for all.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from banking_groups import INTENTS
from shelf import (
    Record,
    Texts,
    arguments,
    fitted,
    read_set,
    recipe_of,
    rounded,
    rows_per_class,
    trained,
)

from protofit import PFitClassifier
from protofit.explain.reading import Reading

PER_INTENT, LEFT_OUT, HANDFUL = 30, 10, 10
HANDFULS = (1, 5, 10, 30)


def accuracies(model: PFitClassifier, held: Texts, fresh: np.ndarray) -> dict[str, Any]:
    right = model.predict(held.texts) == held.labels
    return {
        "new": rounded(right[fresh].mean()),
        "old": rounded(right[~fresh].mean()),
        "all": rounded(right.mean()),
    }


def with_classes(
    model: PFitClassifier, train: Texts, rows: dict[str, np.ndarray], new: list[str], count: int
) -> float:
    """Add the classes from `count` texts each; seconds for all of them."""
    began = time.perf_counter()
    for name in new:
        model.prototypes.add_class(name, train.take(rows[name][:count]).texts)
    return time.perf_counter() - began


def one_seed(args: Any, train: Texts, held: Texts, seed: int) -> dict[str, Any]:
    rows = rows_per_class(train.labels, PER_INTENT, 0)
    draw = np.random.default_rng(seed)
    new = sorted(draw.choice(INTENTS, LEFT_OUT, replace=False).tolist())
    fresh = np.isin(held.labels, new)
    recipe = recipe_of(args, args.preset, seed)

    def model_of(texts_of_new: int) -> PFitClassifier:
        picked = [rows[c][: texts_of_new if c in new else PER_INTENT] for c in rows]
        return fitted(recipe, train.take(np.sort(np.concatenate(picked))), args.shelf)

    model = model_of(0)
    old = held.take(np.flatnonzero(~fresh))
    cell: dict[str, Any] = {
        "left_out": new,
        "before": {"old": rounded(model.score(old.texts, old.labels.tolist()))},
        "K": len(Reading.of(model.bundle_).rows),
        "training": trained(model),
        "added": {},
    }
    for count in HANDFULS:
        seconds = with_classes(model, train, rows, new, count)
        cell["added"][str(count)] = {**accuracies(model, held, fresh), "seconds": rounded(seconds)}
        for _ in new:
            model.prototypes.undo()
    again = rounded(model.score(old.texts, old.labels.tolist()))
    assert again == cell["before"]["old"], "undo gives the old model back"
    for name, count in (("retrained_ten", HANDFUL), ("retrained_all", PER_INTENT)):
        whole = model_of(count)
        cell[name] = {**accuracies(whole, held, fresh), **trained(whole)}
    return cell


def main() -> None:
    parser = arguments(__doc__ or "", "new_classes")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    record = Record(args.out, "classes added from a handful of texts, Banking77", args.minutes)
    train, held = read_set("banking77", args.shared, INTENTS)
    keys = {f"{args.preset}|{seed}": seed for seed in range(args.seeds)}
    for key in record.todo(list(keys)):
        record.add(key, one_seed(args, train, held, keys[key]))


if __name__ == "__main__":
    main()
