"""ProSeNet from its equations: one loop per sum, float64 throughout."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def distance(x: Array, p: Array) -> float:
    """Return ||x - p|| / sqrt(d)."""
    total = 0.0
    for j in range(len(x)):
        total += (float(x[j]) - float(p[j])) ** 2
    return math.sqrt(total / len(x))


def similarities(x: Array, prototypes: Array, kind: str = "l2") -> list[float]:
    """Return exp(-distance), or exp(-distance^2) where kind is 'squared'."""
    power = 2 if kind == "squared" else 1
    return [math.exp(-(distance(x, p) ** power)) for p in prototypes]


def scores(x: Array, prototypes: Array, weight: Array, factor: float, kind: str) -> list[float]:
    """Return t W a(x), with weight (C, K)."""
    a = similarities(x, prototypes, kind)
    return [factor * sum(float(row[k]) * a[k] for k in range(len(a))) for row in weight]


def log_probabilities(values: Sequence[float]) -> list[float]:
    """Return the log-softmax of the scores."""
    top = max(values)
    normaliser = top + math.log(sum(math.exp(v - top) for v in values))
    return [v - normaliser for v in values]


def diversity(prototypes: Array, separation: float) -> float:
    """Return sum_{j<k} max(0, d_min - distance(p_j, p_k))^2."""
    total = 0.0
    for j in range(len(prototypes)):
        for k in range(j + 1, len(prototypes)):
            total += max(0.0, separation - distance(prototypes[j], prototypes[k])) ** 2
    return total


def clustering(features: Array, prototypes: Array, weights: Sequence[float]) -> float:
    """Return the weighted mean over examples of the least squared distance to a prototype."""
    total = 0.0
    for i, x in enumerate(features):
        total += weights[i] * min(distance(x, p) ** 2 for p in prototypes)
    return total / len(features)


def evidence(features: Array, prototypes: Array, weights: Sequence[float]) -> float:
    """Return the mean over prototypes of the least squared distance to an example that counts."""
    total = 0.0
    for p in prototypes:
        total += min(distance(x, p) ** 2 for i, x in enumerate(features) if weights[i] > 0)
    return total / len(prototypes)


def projection(features: Array, prototypes: Array) -> list[int]:
    """Return for each prototype the first of the nearest examples."""
    nearest: list[int] = []
    for p in prototypes:
        all_distances = [distance(x, p) for x in features]
        nearest.append(all_distances.index(min(all_distances)))
    return nearest
