"""IMP (Allen et al. 2019) and its hard form as loops in float64, one cluster at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reference.functions import Array, Labels, base_variance, log_softmax, sqdist
from reference.protonet import Known, mean_of


@dataclass
class Cluster:
    """A vector, its class, and whether examples can move it."""

    vector: Array
    label: int
    fixed: bool = False  # a remembered mean of a class without examples here


@dataclass(frozen=True)
class Outcome:
    """Clusters that are left, and the figures on the way."""

    clusters: list[Cluster]
    threshold: float
    created: int
    deleted: int
    shares: list[list[float]]  # responsibilities (examples, clusters before deletion)


def creation_threshold(variance: float, rho: float, alpha: float, dimension: int) -> float:
    """lambda with the sign of the authors' program, not below 0."""
    growth = (1 + rho / variance) ** (dimension / 2)
    return max(0.0, -2 * variance * math.log(alpha / growth))


def cluster(
    features: Array,
    labels: Labels,
    examples: list[int],
    remembered: Known,
    variance: float,
    alpha: float,
    *,
    hard: bool = False,
    first_only: bool = False,
    room: int | None = None,
) -> Outcome:
    """Means, one sequential pass of creation, responsibilities, means again, deletion."""
    clusters: list[Cluster] = []
    for c, memory in enumerate(remembered):
        own = [features[i] for i in examples if labels[i] == c]
        if own:
            clusters.append(Cluster(mean_of(own), c))
        elif memory is not None:
            clusters.append(Cluster(memory, c, fixed=True))
    rho = base_variance(np.array([row.vector for row in clusters]))
    threshold = creation_threshold(variance, rho, alpha, features.shape[1])
    first = list(clusters)
    for i in examples:
        seen = first if first_only else clusters
        distances = [sqdist(features[i], row.vector) for row in seen if row.label == labels[i]]
        full = room is not None and sum(r.label == labels[i] for r in clusters) >= room
        if min(distances) > threshold and not full:
            clusters.append(Cluster(features[i].copy(), int(labels[i])))
    shares = [
        responsibility(features[i], int(labels[i]), clusters, variance, hard) for i in examples
    ]
    left, deleted = moved(features, examples, clusters, shares)
    return Outcome(left, threshold, len(clusters) - len(first), deleted, shares)


def responsibility(
    x: Array, label: int, clusters: list[Cluster], variance: float, hard: bool
) -> list[float]:
    """Share of every cluster in one example: only those of its class have any."""
    own = [k for k, row in enumerate(clusters) if row.label == label]
    distances = [sqdist(x, clusters[k].vector) for k in own]
    result = [0.0] * len(clusters)
    if hard:
        result[own[distances.index(min(distances))]] = 1.0
        return result
    for k, log_share in zip(
        own, log_softmax([-d / (2 * variance) for d in distances]), strict=True
    ):
        result[k] = math.exp(log_share)
    return result


def moved(
    features: Array, examples: list[int], clusters: list[Cluster], shares: list[list[float]]
) -> tuple[list[Cluster], int]:
    """Responsibility-weighted means; clusters with a total of 0.001 or less are gone."""
    left, deleted = [], 0
    for k, row in enumerate(clusters):
        if row.fixed:
            left.append(row)
            continue
        weight, total = 0.0, np.zeros(features.shape[1])
        for n, i in enumerate(examples):
            weight += shares[n][k]
            total = total + shares[n][k] * features[i]
        if weight > 1e-3:
            left.append(Cluster(total / weight, row.label))
        else:
            deleted += 1
    return left, deleted


def log_prob(x: Array, clusters: list[Cluster], classes: int, divisor: float) -> list[float]:
    """log softmax over classes of -(distance to the closest cluster of the class) / divisor."""
    there = [c for c in range(classes) if any(row.label == c for row in clusters)]
    scores = [-min(sqdist(x, r.vector) for r in clusters if r.label == c) / divisor for c in there]
    result = [-np.inf] * classes
    for c, value in zip(there, log_softmax(scores), strict=True):
        result[c] = value
    return result


def or_loss(x: Array, label: int, clusters: list[Cluster], divisor: float) -> float:
    """-log of target / denominator: closest own cluster over the closest of every class."""
    target = min(sqdist(x, row.vector) for row in clusters if row.label == label)
    denominator = 0.0
    for c in {row.label for row in clusters}:
        closest = min(sqdist(x, row.vector) for row in clusters if row.label == c)
        denominator += math.exp((target - closest) / divisor)
    return math.log(denominator)
