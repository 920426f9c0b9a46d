"""The paper's Table 4: the three nearest texts of three prototypes of one class.

    python benchmarks/interpretability/table4.py --data sst2 --label negative
    python benchmarks/interpretability/table4.py --label returns --out RECORD

Shown are the prototypes that most training texts of the class belong to. Texts go into a record
only where they are the bundled example's: those of other sets are not ours to publish.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from shelf import Record, arguments, fitted, read_set, recipe_of, stratified

from protofit import PFitClassifier
from protofit.explain.reading import Reading

SIZES = {"sst2": [1000, 5000], "tickets": [100, 300]}
PROTOTYPES, NEAREST = 3, 3


def table(model: PFitClassifier, label: str) -> dict[str, Any]:
    """The most used prototypes of the class with their nearest training texts."""
    reading = Reading.of(model.bundle_)
    mine = [k for k in range(len(reading.rows)) if reading.labels_of(k) == label]
    support = reading.survey.support
    chosen = sorted(mine, key=lambda k: (-support[k], k))[:PROTOTYPES]
    found = []
    for letter, k in zip("ABC", chosen, strict=False):
        near = reading.near_prototype(k, NEAREST)
        texts = [{"text": n.text, "label": n.label, "distance": round(n.distance, 3)} for n in near]
        found.append({"name": letter, "support": int(support[k]), "nearest": texts})
    return {"label": label, "K": len(reading.rows), "of_class": len(mine), "prototypes": found}


def show(title: str, found: dict[str, Any]) -> None:
    print(f"\n{title}: K = {found['K']}, {found['of_class']} of class {found['label']}")
    for prototype in found["prototypes"]:
        print(f"  prototype {prototype['name']} ({prototype['support']} training texts)")
        for near in prototype["nearest"]:
            print(f"    {near['distance']:6.2f}  [{near['label']}]  {near['text']}")


def main() -> None:
    parser = arguments(__doc__ or "", "table4")
    parser.set_defaults(out=None)
    parser.add_argument("--data", choices=SIZES, default="tickets")
    parser.add_argument("--label", default=None)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--sizes", type=int, nargs="+", default=None)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.out and args.data != "tickets":
        sys.exit("only the texts of the bundled example may go into a record")
    out: Path | None = args.out
    record = Record(out, "nearest texts of prototypes, examples/tickets") if out else None
    train, _ = read_set(args.data, args.shared)
    label = args.label or str(np.unique(train.labels)[0])
    for size in args.sizes or SIZES[args.data]:
        texts = train.take(stratified(args.data, args.shared, size, args.seed))
        model = fitted(recipe_of(args, args.preset, args.seed), texts, args.shelf)
        found = table(model, label)
        if record is None:
            show(f"{args.data}, {size} examples, preset {args.preset}", found)
        else:
            record.add(f"{args.preset}|{size}|{label}", found)


if __name__ == "__main__":
    main()
