"""Do prototypes find classes that training never named? Fine classes hidden in coarse ones.

    python benchmarks/interpretability/intra_class.py --minutes 7

Banking77's 77 intents are joined into 10 coarse classes (`banking_groups.py`), AG News' topics by
pairs into 2 (a different pairing for each seed). PFit is trained on the coarse labels; a text
then belongs to its most important prototype, and purity, NMI and AMI are measured against the
hidden fine classes. Every figure comes twice: on the training texts and on 1,000 texts of the
test file. The training texts are drawn once: 30 of each intent, 250 of each topic.

prototypes       the most important prototype of all
own_class        the most important one among those of the text's coarse class
kmeans_frozen    k-means inside each coarse class with as many centres as it has prototypes, on
                 features of the encoder before training; kmeans_tuned: after it
classes          the coarse classes alone (K = C): what one knows without looking inside
most             the highest purity that any K groups inside the coarse classes could have
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import torch
from banking_groups import COARSE_OF_INTENT, INTENTS
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
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from protofit import PFitClassifier, Settings
from protofit.data.labels import ClassOrder
from protofit.encoders.resolve import resolve_encoder
from protofit.explain.reading import Reading
from protofit.model.build import build_model
from protofit.model.bundle import Bundle

PAIRINGS = (  # the topics of the first class; the other two are the second
    ("World", "Sports"), ("World", "Business"), ("World", "Sci/Tech"),
)  # fmt: skip
PER_CLASS = {"banking77": 30, "ag_news": 250}
MOST_HELD = 1000  # test texts looked at
ARMS: dict[str, tuple[str, dict[str, Any]]] = {  # name: preset, settings on top
    "default": ("default", {}),
    "paper": ("paper", {}),
    "paper, head rate 0.01": ("paper", {"train.head_learning_rate": 0.01}),
    "default, quantile 0.5": ("default", {"head.scale.quantile": 0.5}),
    "default, quantile 0.5, no neighbour loss": (
        "default", {"head.scale.quantile": 0.5, "head.neighbour_weight": 0.0},
    ),
    "groups": ("groups", {}),
    "groups, no cohesion": ("groups", {"head.cohesion_weight": 0.0}),
    "groups, not following": ("groups", {"head.follow.together": 0.0, "head.follow.own": 0.0}),
    "groups, creation": ("groups", {"head.creation.rule": "farthest"}),
    "groups, neighbour loss": ("groups", {"head.neighbour_weight": 1.0}),
}  # fmt: skip


def coarse_of(data: str, fine: np.ndarray, seed: int) -> np.ndarray:
    if data == "banking77":
        return np.asarray([COARSE_OF_INTENT[name] for name in fine])
    first = PAIRINGS[seed % len(PAIRINGS)]
    return np.where(np.isin(fine, first), "+".join(first), "the other two")


@functools.cache
def frozen_features(texts: tuple[str, ...], max_length: int) -> np.ndarray:
    """Features of the encoder as it was before training."""
    settings, classes = (
        Settings.build(overrides={"encoder.max_length": max_length}),
        ClassOrder.of(["a", "b"]),
    )
    with torch.random.fork_rng(devices=[]):
        model, tokenizer = build_model(resolve_encoder("embedded"), settings, classes)
    fresh = Bundle(model, tokenizer, classes, False, settings)
    return fresh.features(fresh.tokens(texts)).numpy()


def scores(groups: np.ndarray, fine: np.ndarray) -> dict[str, float]:
    table = contingency_matrix(fine, groups)
    return {
        "purity": rounded(table.max(axis=0).sum() / len(fine)),
        "nmi": rounded(normalized_mutual_info_score(fine, groups)),
        "ami": rounded(adjusted_mutual_info_score(fine, groups)),
    }


def kmeans_groups(
    train: np.ndarray,
    coarse: np.ndarray,
    held: np.ndarray,
    held_coarse: np.ndarray,
    counts: dict[str, int],
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Groups of training and test texts: k-means inside each coarse class."""
    groups, held_groups, used = np.zeros(len(train), int), np.zeros(len(held), int), 0
    for name, count in counts.items():
        own, there = coarse == name, held_coarse == name
        found = KMeans(min(count, int(own.sum())), n_init=5, random_state=seed).fit(train[own])
        groups[own] = used + found.labels_
        held_groups[there] = used + found.predict(held[there])
        used += count
    return groups, held_groups


def most_purity(fine: np.ndarray, coarse: np.ndarray, counts: dict[str, int]) -> float:
    """Σ over coarse classes of their largest K_c fine classes, over n."""
    hit = 0
    for name, count in counts.items():
        sizes = np.unique(fine[coarse == name], return_counts=True)[1]
        hit += int(np.sort(sizes)[::-1][:count].sum())
    return hit / len(fine)


@torch.no_grad()
def owners(reading: Reading, features: np.ndarray, coarse: np.ndarray) -> tuple[Any, Any]:
    """The most important prototype of each text: of all, and of its own coarse class."""
    z = reading.head.importance(torch.from_numpy(features.astype(np.float32))).numpy()
    own = np.asarray(reading.classes)[reading.groups][None] == coarse[:, None]
    return z.argmax(axis=1), np.where(own, z, -1).argmax(axis=1)


def measure(
    model: PFitClassifier, fine: np.ndarray, coarse: np.ndarray, held: Texts, held_coarse: Any
) -> dict[str, Any]:
    reading, seed = Reading.of(model.bundle_), model.bundle_.record["seed"]
    length = model.bundle_.settings.encoder.max_length
    tuned = reading.index.features.astype(np.float32)
    held_features = reading.features(held.texts)[0]
    held_tuned = held_features.numpy()
    said = np.asarray(reading.classes)[reading.predictions(held_features).argmax(axis=1)]
    names, sizes = np.unique(np.asarray(reading.classes)[reading.groups], return_counts=True)
    counts = {str(name): int(size) for name, size in zip(names, sizes, strict=True)}
    groups = {
        "prototypes": (owners(reading, tuned, coarse)[0],
                       owners(reading, held_tuned, held_coarse)[0]),
        "own_class": (owners(reading, tuned, coarse)[1],
                      owners(reading, held_tuned, held_coarse)[1]),
        "kmeans_frozen": kmeans_groups(
            frozen_features(reading.index.texts, length), coarse,
            frozen_features(tuple(held.texts), length), held_coarse, counts, seed,
        ),
        "kmeans_tuned": kmeans_groups(tuned, coarse, held_tuned, held_coarse, counts, seed),
        "classes": (coarse, held_coarse),
    }  # fmt: skip
    return {
        "K": len(reading.rows),
        "K_of_classes": counts,
        "coarse_accuracy": rounded((said == held_coarse).mean()),
        "train": {name: scores(pair[0], fine) for name, pair in groups.items()}
        | {"most": rounded(most_purity(fine, coarse, counts))},
        "held": {name: scores(pair[1], held.labels) for name, pair in groups.items()}
        | {"most": rounded(most_purity(held.labels, held_coarse, counts))},
    }


def texts_of(data: str, shared: Path, seed: int) -> tuple[Texts, Texts, np.ndarray, np.ndarray]:
    """Training and test texts under their fine classes, and the coarse classes of both."""
    train, held = read_set(data, shared, INTENTS if data == "banking77" else ())
    rows = rows_per_class(train.labels, PER_CLASS[data], 0)
    train = train.take(np.sort(np.concatenate(list(rows.values()))))
    held = held.take(np.sort(np.random.default_rng(0).permutation(len(held))[:MOST_HELD]))
    return train, held, *(coarse_of(data, part.labels, seed) for part in (train, held))


def main() -> None:
    parser = arguments(__doc__ or "", "intra_class")
    parser.add_argument("--data", nargs="+", default=["banking77", "ag_news"])
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    record = Record(args.out, "fine classes hidden in coarse ones", args.minutes)
    keys = {
        f"{data}|{arm}|{seed}": (data, arm, seed)
        for data in args.data
        for seed in range(args.seeds)
        for arm in args.arms
    }
    for key in record.todo(list(keys)):
        data, arm, seed = keys[key]
        train, held, coarse, held_coarse = texts_of(data, args.shared, seed)
        preset, settings = ARMS[arm]
        if data == "ag_news":
            settings = {**settings, "encoder.max_length": 64}
        recipe = recipe_of(args, preset, seed, settings)
        model = fitted(recipe, train.named(coarse), args.shelf)
        found = measure(model, train.labels, coarse, held, held_coarse)
        record.add(key, {**found, **trained(model)})


if __name__ == "__main__":
    main()
