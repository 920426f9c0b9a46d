"""Do the texts nearest to a prototype have its class? SST-2, ten nearest texts per prototype.

    python benchmarks/interpretability/inter_class.py --minutes 7

The paper (AAAI-23, "Inter-class Distinctions") reports 91 % for positive and 87 % for negative
prototypes. Here the share is measured among the training texts, as there, and among validation
texts that the model has never seen. A share is averaged over the prototypes of a model. As a
yardstick the same is measured for training texts in the place of prototypes (the text itself is
left out): what any point of the class would give. `held_by_z` takes the ten held-out texts for
which the prototype is most important in the place of the nearest ones. `apart` is the smallest
distance between prototypes of two classes, `within` the median distance of a held-out text to the
nearest prototype. `replaced` measures the same model after every prototype was put onto the
nearest training text of its class (`prototypes.replace`), as ProSeNet does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from shelf import (
    Record,
    arguments,
    fitted,
    read_set,
    recipe_of,
    rounded,
    stratified,
    trained,
)

from protofit import PFitClassifier
from protofit.explain.neighbours import nearest
from protofit.explain.reading import Reading

NEAREST = 10
ARMS: dict[str, tuple[str, dict[str, Any]]] = {  # name: preset, settings on top
    "default": ("default", {}),
    "paper": ("paper", {}),
    "paper, head rate 0.01": ("paper", {"train.head_learning_rate": 0.01}),
    "groups": ("groups", {}),
    "groups, not following": ("groups", {"head.follow.together": 0.0, "head.follow.own": 0.0}),
}
ASKED = 500  # training texts of the yardstick


def shares(queries: np.ndarray, features: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Share of the nearest rows that are of one's class: (Q, D), (N, D), (Q, N) → (Q,)."""
    positions, _ = nearest(queries, features, NEAREST)
    return np.take_along_axis(same, positions, axis=1).mean(axis=1)


def yardstick(features: np.ndarray, labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares for training texts among the other training texts, and their classes."""
    asked = np.random.default_rng(seed).permutation(len(labels))[:ASKED]
    positions, _ = nearest(features[asked], features, NEAREST + 1)
    found = []
    for row, near in zip(asked, positions, strict=True):
        others = near[near != row][:NEAREST]
        found.append((labels[others] == labels[row]).mean())
    return np.asarray(found), labels[asked]


def measure(model: PFitClassifier, held: Any, seed: int) -> dict[str, Any]:
    reading = Reading.of(model.bundle_)
    index = reading.index
    classes = np.asarray(reading.classes)
    text_shares, text_labels = yardstick(index.features, classes[index.labels], seed)
    result = of_prototypes(reading, held)
    for name in classes:
        result[str(name)]["texts_train"] = rounded(text_shares[text_labels == name].mean())
    for row in model.prototypes.rows:
        model.prototypes.replace(row)
    result["replaced"] = of_prototypes(Reading.of(model.bundle_), held)
    return result


def of_prototypes(reading: Reading, held: Any) -> dict[str, Any]:
    """Accuracy on the held-out texts, and the shares of the prototypes of each class."""
    index = reading.index
    features = reading.features(held.texts)[0]
    said = reading.predictions(features).argmax(axis=1)
    unseen = features.numpy()
    classes = np.asarray(reading.classes)
    labels = classes[index.labels]
    mine = classes[reading.outputs.argmax(axis=1)]  # the class that a prototype predicts
    among = {
        "train": shares(reading.vectors, index.features, mine[:, None] == labels[None]),
        "held": shares(reading.vectors, unseen, mine[:, None] == held.labels[None]),
    }
    z = reading.head.importance(features).numpy()
    first = np.argsort(-z, axis=0, kind="stable")[:NEAREST].T  # (K, 10)
    among["held_by_z"] = (held.labels[first] == mine[:, None]).mean(axis=1)
    away = reading.distances(reading.vectors)
    away[mine[:, None] == mine[None]] = np.inf
    result: dict[str, Any] = {"accuracy": rounded((classes[said] == held.labels).mean())}
    result["apart"] = rounded(away.min())
    result["within"] = rounded(np.median(reading.distances(unseen).min(axis=1)))
    for name in classes:
        of = mine == name
        means = {part: rounded(found[of].mean()) for part, found in among.items() if of.any()}
        result[str(name)] = {
            "prototypes": int(of.sum()),
            **{part: means.get(part) for part in among},
            "lowest_train": rounded(among["train"][of].min()) if of.any() else None,
            "frequency_train": rounded((labels == name).mean()),
            "frequency_held": rounded((held.labels == name).mean()),
        }
    return result


def main() -> None:
    parser = arguments(__doc__ or "", "inter_class")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--encoder", default="embedded", help="embedded, or a folder of weights/")
    args = parser.parse_args()
    record = Record(args.out, "same-class share of the 10 nearest texts, SST-2", args.minutes)
    train, held = read_set("sst2", args.shared)
    keys = {
        f"{args.encoder}|{arm}|{size}|{seed}": (arm, size, seed)
        for size in args.sizes
        for seed in range(args.seeds)
        for arm in args.arms
    }
    for key in record.todo(list(keys)):
        arm, size, seed = keys[key]
        preset, settings = ARMS[arm]
        texts = train.take(stratified("sst2", args.shared, size, seed))
        recipe = recipe_of(args, preset, seed, settings, args.encoder)
        model = fitted(recipe, texts, args.shelf)
        record.add(key, {**measure(model, held, seed), **trained(model)})


if __name__ == "__main__":
    main()
