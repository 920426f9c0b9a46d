"""Slow reference of shares: one text at a time, from the definitions."""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray


def softmax(scores: list[float]) -> list[float]:
    """exp(s_i) / Σ exp(s_j)."""
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    return [part / sum(parts) for part in parts]


def mixture(energies: Array, outputs: Array) -> tuple[Array, Array]:
    """Share z_k o_kc of each prototype, and the mixture of the others: (K,), (K, C)."""
    count, width = outputs.shape
    z = softmax(list(energies))
    share = np.array([[z[k] * outputs[k, c] for c in range(width)] for k in range(count)])
    without = np.zeros((count, width))
    for k in range(count):
        others = [j for j in range(count) if j != k]
        weights = softmax([energies[j] for j in others])
        for c in range(width):
            without[k, c] = sum(w * outputs[j, c] for w, j in zip(weights, others, strict=True))
    return share, without


def closest_probability(scores: Array, labels: Array, classes: int) -> list[float]:
    """softmax over classes of the best score of each; 0 for a class without prototypes."""
    best = [-math.inf] * classes
    for score, label in zip(scores, labels, strict=True):
        best[label] = max(best[label], score)
    top = max(best)
    parts = [0.0 if math.isinf(score) else math.exp(score - top) for score in best]
    return [part / sum(parts) for part in parts]


def closest(scores: Array, labels: Array, classes: int) -> tuple[Array, Array]:
    """The best prototype of a class has its probability; and what is said without each."""
    probability = closest_probability(scores, labels, classes)
    share, without = np.zeros((len(scores), classes)), np.zeros((len(scores), classes))
    for c in range(classes):
        mine = [k for k in range(len(scores)) if labels[k] == c]
        if mine:
            share[max(mine, key=lambda k: (scores[k], -k)), c] = probability[c]
    for k in range(len(scores)):
        rest = [j for j in range(len(scores)) if j != k]
        without[k] = closest_probability(scores[rest], labels[rest], classes)
    return share, without


def additive(contributions: Array) -> tuple[Array, Array, Array]:
    """Shares of P in proportion to the contributions, P without each, and the base: (K, C)."""
    count, classes = contributions.shape
    totals = [sum(contributions[k, c] for k in range(count)) for c in range(classes)]
    chances = softmax(totals)
    share, base = np.zeros((count, classes)), np.zeros(classes)
    for c in range(classes):
        if totals[c] == 0:
            base[c] = chances[c]
            continue
        for k in range(count):
            share[k, c] = chances[c] * contributions[k, c] / totals[c]
    without = np.array([
        softmax([totals[c] - contributions[k, c] for c in range(classes)]) for k in range(count)
    ])  # fmt: skip
    return share, without, base
