"""Do the explanations of two seeds agree? Two models of the same texts, pair by pair.

    python benchmarks/interpretability/seed_agreement.py --minutes 7

The seed changes dropout, order and the examples drawn; the training texts are the same. The
measure and its two yardsticks are those of `protofit.explain.agreement`: the overlap of the
evidence that two models give for the same text, against the overlap for another text of the same
predicted class, and for any other text.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from faithfulness import training_texts
from shelf import Record, arguments, fitted, recipe_of, rounded

from protofit.explain.agreement import agreement
from protofit.explain.reading import Reading

MOST_HELD = 500


def main() -> None:
    parser = arguments(__doc__ or "", "seed_agreement")
    parser.add_argument("--data", nargs="+", default=["tickets", "banking77"])
    parser.add_argument("--presets", nargs="+", default=["default", "paper", "groups"])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    record = Record(args.out, "overlap of the evidence of two seeds", args.minutes)
    keys = {
        f"{data}|{preset}|{one}-{other}": (data, preset, one, other)
        for data in args.data
        for preset in args.presets
        for one, other in combinations(range(args.seeds), 2)
    }
    for key in record.todo(list(keys)):
        data, preset, one, other = keys[key]
        train, held = training_texts(data, args.shared, 0)
        pair = [fitted(recipe_of(args, preset, s), train, args.shelf) for s in (one, other)]
        asked = np.random.default_rng(0).permutation(len(held))[:MOST_HELD]
        found = agreement(pair[0].bundle_, pair[1].bundle_, held.take(asked).texts)
        cell: dict[str, Any] = {
            name: rounded(getattr(found, name))
            for name in ("same_prediction", "overlap", "within_class", "chance")
        }
        cell["K"] = [len(Reading.of(model.bundle_).rows) for model in pair]
        record.add(key, {**cell, "texts": found.texts})


if __name__ == "__main__":
    main()
