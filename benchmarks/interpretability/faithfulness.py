"""Does an explanation name what the decision rests on? Delete prototypes and look again.

    python benchmarks/interpretability/faithfulness.py --minutes 7

For held-out texts three deletions are compared: the prototype with the largest share in the
predicted class, any other prototype, and any other prototype of the same class as the first. For
the latter two the mean over all such prototypes is taken, not a draw. Reported are the share of
decisions that change and the mean drop of the probability of the decision. Where a class has one
prototype, deleting it takes the whole class away: `several` repeats the figures for the texts
whose top prototype has others of its class beside it. `gap` is the largest difference between
what an explanation says about a deletion and the probability after really deleting.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from intra_class import texts_of
from shelf import (
    Record,
    Texts,
    arguments,
    fitted,
    read_set,
    recipe_of,
    rounded,
    stratified,
    trained,
)

from protofit import PFitClassifier
from protofit.explain.reading import Reading
from protofit.methods.editable import copied

SHOWN_DELETIONS = 50  # deletions really made, to compare with what was said


def training_texts(data: str, shared: Path, seed: int) -> tuple[Texts, Texts]:
    """1,000 of SST-2 by seed; all tickets; Banking77 in 10 coarse classes; and held-out texts."""
    if data == "banking77":
        train, held, coarse, held_coarse = texts_of(data, shared, seed)
        return train.named(coarse), held.named(held_coarse)
    train, held = read_set(data, shared)
    if data == "sst2":
        train = train.take(stratified(data, shared, 1000, seed))
    return train, held


def deletions(model: PFitClassifier, held: Texts) -> dict[str, Any]:
    reading = Reading.of(model.bundle_)
    features, _ = reading.features(held.texts)
    rows: list[dict[str, float]] = []
    for start in range(0, len(held), reading.block):
        parts = reading.parts(features[start : start + reading.block])
        rows += [one_text(reading, parts, i) for i in range(len(parts.probabilities))]
    several = [row for row in rows if "kin_flip" in row]
    said = np.asarray(reading.classes)[reading.predictions(features).argmax(axis=1)]
    return {
        "K": len(reading.rows),
        "classes": len(reading.classes),
        "classes_with_several": int((np.bincount(reading.groups) > 1).sum()),
        "accuracy": rounded((said == held.labels).mean()),
        "texts": len(rows),
        "all": means(rows, ("top_flip", "top_drop", "other_flip", "other_drop")),
        "texts_several": len(several),
        "several": means(
            several, ("top_flip", "top_drop", "other_flip", "other_drop", "kin_flip", "kin_drop")
        ),
        "gap": float(f"{largest_gap(reading, features):.1e}"),
    }


def one_text(reading: Reading, parts: Any, i: int) -> dict[str, float]:
    """Whether the decision flips and how far its probability drops, by what is deleted."""
    chances, without = parts.probabilities[i], parts.without[i]
    best = int(chances.argmax())
    top = int(parts.share[i, :, best].argmax())
    flips = without.argmax(axis=1) != best
    drops = chances[best] - without[:, best]
    others = np.arange(len(flips)) != top
    kin = others & (reading.groups == reading.groups[top])
    row = {"top_flip": float(flips[top]), "top_drop": float(drops[top])}
    row |= {"other_flip": flips[others].mean(), "other_drop": drops[others].mean()}
    if kin.any():
        row |= {"kin_flip": flips[kin].mean(), "kin_drop": drops[kin].mean()}
    return row


def means(rows: list[dict[str, float]], names: tuple[str, ...]) -> dict[str, float | None]:
    return {n: rounded(np.mean([row[n] for row in rows])) if rows else None for n in names}


@torch.no_grad()
def largest_gap(reading: Reading, features: torch.Tensor) -> float:
    """|P said to remain − P after deleting the top prototype from a copy of the head|."""
    parts = reading.parts(features[:SHOWN_DELETIONS])
    gap = 0.0
    for i, feature in enumerate(features[:SHOWN_DELETIONS]):
        best = int(parts.probabilities[i].argmax())
        top = int(parts.share[i, :, best].argmax())
        head = copied(reading.head)
        head.remove(reading.rows[top])
        left = head(feature[None]).double().exp()[0]
        left = (left / left.sum()).numpy()
        gap = max(gap, float(np.abs(left - parts.without[i, top]).max()))
    return gap


def main() -> None:
    parser = arguments(__doc__ or "", "faithfulness")
    parser.add_argument("--data", nargs="+", default=["sst2", "tickets", "banking77"])
    parser.add_argument("--presets", nargs="+", default=["default", "paper", "groups"])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    record = Record(args.out, "what deleting a prototype does to a decision", args.minutes)
    keys = {
        f"{data}|{preset}|{seed}": (data, preset, seed)
        for data in args.data
        for preset in args.presets
        for seed in range(args.seeds)
    }
    for key in record.todo(list(keys)):
        data, preset, seed = keys[key]
        train, held = training_texts(data, args.shared, seed)
        model = fitted(recipe_of(args, preset, seed), train, args.shelf)
        record.add(key, {**deletions(model, held), **trained(model)})


if __name__ == "__main__":
    main()
