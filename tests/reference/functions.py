"""The equations of the method as pure functions: one loop per sum, float64 throughout.

Symbols: B examples, K prototypes, d dimensions, C classes; `variance` is one shared sigma.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = Sequence[int] | NDArray[np.int64]
Pairs = Literal["all", "same_class"]
Reduction = Literal["sum", "mean"]


def sqdist(x: Array, p: Array) -> float:
    """Return the squared L2 distance sum_j (x_j - p_j)^2 of two (d,) vectors."""
    total = 0.0
    for j in range(len(x)):
        total += float(x[j] - p[j]) ** 2
    return total


def log_sum_exp(values: Sequence[float]) -> float:
    """Return log sum_k exp(v_k), shifted by the largest value."""
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))


def log_softmax(scores: Sequence[float]) -> list[float]:
    """Return s_k - log sum_j exp(s_j)."""
    normaliser = log_sum_exp(scores)
    return [score - normaliser for score in scores]


def log_importance(x: Array, prototypes: Array, variance: float) -> list[float]:
    """Return log z_k; the Gaussian normaliser cancels because the variance is shared."""
    return log_softmax([-sqdist(x, p) / (2.0 * variance) for p in prototypes])


def gaussian_importance(x: Array, prototypes: Array, variance: float) -> Array:
    """Return z (K,): z_k = N(x; p_k, variance I) / sum_j N(x; p_j, variance I)."""
    return np.array([math.exp(v) for v in log_importance(x, prototypes, variance)])


def mixture_prob(x: Array, prototypes: Array, logits: Array, variance: float) -> Array:
    """Return P(y|x) (C,) = sum_k z_k softmax(l_k), with logits (K, C)."""
    z = gaussian_importance(x, prototypes, variance)
    prob = np.zeros(logits.shape[1])
    for k in range(len(prototypes)):
        for c, log_p in enumerate(log_softmax(logits[k].tolist())):
            prob[c] += z[k] * math.exp(log_p)
    return prob


def mixture_value(x: Array, prototypes: Array, values: Array, variance: float) -> float:
    """Return the regression output y_hat = sum_k z_k l_k, with values (K,)."""
    z = gaussian_importance(x, prototypes, variance)
    return sum(float(z[k]) * float(values[k]) for k in range(len(prototypes)))


def base_variance(prototypes: Array) -> float:
    """Return rho: the unbiased variance over the K prototypes, averaged over dimensions."""
    count = len(prototypes)
    if count < 2:
        return 0.0
    dimensions = len(prototypes[0])
    total = 0.0
    for j in range(dimensions):
        mean = sum(float(p[j]) for p in prototypes) / count
        total += sum((float(p[j]) - mean) ** 2 for p in prototypes) / (count - 1)
    return total / dimensions


def creation_threshold(variance: float, rho: float, alpha: float, d: int) -> float:
    """Return lambda = max(0, -2 variance log(alpha / (1 + rho/variance)^(d/2))).

    The power is taken in log space: it leaves the float range already at moderate d.
    """
    log_ratio = math.log(alpha) - 0.5 * d * math.log1p(rho / variance)
    return max(0.0, -2.0 * variance * log_ratio)


def counted_pairs(count: int, labels: Labels | None, pairs: Pairs) -> Iterator[tuple[int, int]]:
    """Yield every j < k that the diversity term looks at."""
    if pairs == "same_class" and labels is None:
        raise ValueError("pairs='same_class' needs labels")
    for j in range(count):
        for k in range(j + 1, count):
            if pairs == "all" or (labels is not None and labels[j] == labels[k]):
                yield j, k


def _pair_hinge(
    vectors: Array, margin: float, labels: Labels | None, pairs: Pairs, reduction: Reduction
) -> float:
    """Return the sum or mean over counted pairs of max(0, margin - ||p_j - p_k||)^2."""
    total, count = 0.0, 0
    for j, k in counted_pairs(len(vectors), labels, pairs):
        total += max(0.0, margin - math.sqrt(sqdist(vectors[j], vectors[k]))) ** 2
        count += 1
    return total / max(count, 1) if reduction == "mean" else total


def diversity_literal(
    vectors: Array,
    lam: float,
    labels: Labels | None = None,
    pairs: Pairs = "all",
    reduction: Reduction = "sum",
) -> float:
    """Return sum_{j<k} max(0, lambda - ||p_j - p_k||)^2, as printed."""
    return _pair_hinge(vectors, lam, labels, pairs, reduction)


def diversity_consistent(
    vectors: Array,
    lam: float,
    labels: Labels | None = None,
    pairs: Pairs = "all",
    reduction: Reduction = "sum",
) -> float:
    """Return sum_{j<k} max(0, sqrt(lambda) - ||p_j - p_k||)^2: both sides are lengths."""
    return _pair_hinge(vectors, math.sqrt(lam), labels, pairs, reduction)


def diversity_gradient(
    vectors: Array,
    margin: float,
    labels: Labels | None = None,
    pairs: Pairs = "all",
    reduction: Reduction = "sum",
) -> Array:
    """Return dL_div/dp (K, d) for a constant margin (lambda, or its square root).

    With D = ||p_j - p_k|| and h = margin - D > 0:  dL/dp_j = -2 h (p_j - p_k) / D = -dL/dp_k.
    Coincident prototypes have no direction to part in; their pair contributes 0.
    """
    grad = np.zeros_like(vectors)
    count = 0
    for j, k in counted_pairs(len(vectors), labels, pairs):
        count += 1
        distance = math.sqrt(sqdist(vectors[j], vectors[k]))
        gap = margin - distance
        if gap > 0.0 and distance > 0.0:
            push = -2.0 * gap * (vectors[j] - vectors[k]) / distance
            grad[j] += push
            grad[k] -= push
    return grad / max(count, 1) if reduction == "mean" else grad


def _omega(i: int, now: int, length: int) -> float:
    """Return the linear discount (i - now + length) / length."""
    return (i - now + length) / length


def window_statistic(history: Mapping[int, float], now: int, length: int) -> float:
    """Return (1/length) sum_{now-length < i <= now} omega_i z_i; a missing step counts as 0."""
    total = 0.0
    for i in range(now - length + 1, now + 1):
        total += _omega(i, now, length) * history.get(i, 0.0)
    return total / length


def window_statistic_normalised(history: Mapping[int, float], now: int, length: int) -> float:
    """Return sum omega_i z_i / sum omega_i over the steps of the window that are present."""
    total, mass = 0.0, 0.0
    for i in range(now - length + 1, now + 1):
        if i in history:
            total += _omega(i, now, length) * history[i]
            mass += _omega(i, now, length)
    return total / mass if mass > 0.0 else 0.0


def soft_nearest_neighbour(
    features: Array, labels: Labels, variance: float, weights: Array | None = None
) -> float:
    """Return mean_i -log(sum_{j != i, y_j = y_i} e_ij / sum_{j != i} e_ij).

    e_ij = exp(-d_ij / (2 variance)); the mean, weighted by anchor if asked, is over the examples
    i that have another of their class, and 0 if there is none.
    """
    total, mass = 0.0, 0.0
    for i in range(len(features)):
        others = [j for j in range(len(features)) if j != i]
        score = {j: -sqdist(features[i], features[j]) / (2.0 * variance) for j in others}
        same = [score[j] for j in others if labels[j] == labels[i]]
        if not same:
            continue
        weight = 1.0 if weights is None else float(weights[i])
        total += weight * (log_sum_exp(list(score.values())) - log_sum_exp(same))
        mass += weight
    return total / mass if mass > 0.0 else 0.0


def nearest_in_class(
    x: Array, label: int, prototypes: Sequence[Array], proto_labels: Sequence[int]
) -> float:
    """Return min_k sqdist(x, p_k) over the prototypes of one class; infinite if it has none."""
    nearest = math.inf
    for p, proto_label in zip(prototypes, proto_labels, strict=True):
        if proto_label == label:
            nearest = min(nearest, sqdist(x, p))
    return nearest


def sequential_creation(
    features: Array,
    labels: Labels,
    prototypes: Array,
    proto_labels: Labels,
    lam: float,
    free: int,
) -> list[int]:
    """Return the batch indices that become prototypes, each seen by the examples after it."""
    known, known_labels = list(prototypes), [int(c) for c in proto_labels]
    created: list[int] = []
    for i in range(len(features)):
        label = int(labels[i])
        far = nearest_in_class(features[i], label, known, known_labels) > lam
        if far and len(created) < free:
            created.append(i)
            known.append(features[i])
            known_labels.append(label)
    return created


def farthest_creation(
    features: Array,
    labels: Labels,
    prototypes: Array,
    proto_labels: Labels,
    lam: float,
    free: int,
) -> list[int]:
    """Return per class the one example farthest beyond lambda from the prototypes before it."""
    known, known_labels = list(prototypes), [int(c) for c in proto_labels]
    best: dict[int, tuple[float, int]] = {}
    for i in range(len(features)):
        label = int(labels[i])
        distance = nearest_in_class(features[i], label, known, known_labels)
        if distance > lam and (label not in best or distance > best[label][0]):
            best[label] = (distance, i)
    return sorted(i for _, i in best.values())[:free]


@dataclass(frozen=True)
class DataLoss:
    """L0 with the importances z (B, K) and the gradients by score (B, K) and by head (K, .).

    The score is a_ik = -||x_i - p_k||^2 / (2 variance), so that z_i = softmax(a_i).
    """

    value: float
    importance: Array
    score_grad: Array
    head_grad: Array


def classification_loss(
    features: Array, labels: Labels, vectors: Array, logits: Array, variance: float
) -> DataLoss:
    """Return L0 = mean_i -log P(y_i|x_i) and its gradients.

    With s_k = softmax(l_k) and the posterior r_ik = z_ik s_k(y_i) / P(y_i|x_i):
    dL0/da_ik = (z_ik - r_ik) / B,   dL0/dl_kc = sum_i r_ik (s_kc - [c = y_i]) / B.
    """
    batch, count = len(features), len(vectors)
    log_s = [log_softmax(logits[k].tolist()) for k in range(count)]
    value = 0.0
    z, score_grad, head_grad = np.zeros((batch, count)), np.zeros((batch, count)), 0.0 * logits
    for i in range(batch):
        y = int(labels[i])
        log_z = log_importance(features[i], vectors, variance)
        log_joint = [log_z[k] + log_s[k][y] for k in range(count)]
        log_prob = log_sum_exp(log_joint)
        value -= log_prob / batch
        for k in range(count):
            z[i, k] = math.exp(log_z[k])
            r = math.exp(log_joint[k] - log_prob)
            score_grad[i, k] = (z[i, k] - r) / batch
            for c in range(logits.shape[1]):
                target = 1.0 if c == y else 0.0
                head_grad[k, c] += r * (math.exp(log_s[k][c]) - target) / batch
    return DataLoss(value, z, score_grad, head_grad)


def regression_loss(
    features: Array, targets: Array, vectors: Array, values: Array, variance: float
) -> DataLoss:
    """Return L0 = mean_i (y_i - y_hat_i)^2 and its gradients; values and head_grad are (K, 1).

    With e_i = y_hat_i - y_i:
    dL0/da_ik = 2 e_i z_ik (l_k - y_hat_i) / B,   dL0/dl_k = sum_i 2 e_i z_ik / B.
    """
    batch, count = len(features), len(vectors)
    value = 0.0
    z, score_grad, head_grad = np.zeros((batch, count)), np.zeros((batch, count)), 0.0 * values
    for i in range(batch):
        z[i] = gaussian_importance(features[i], vectors, variance)
        y_hat = mixture_value(features[i], vectors, values[:, 0], variance)
        error = y_hat - float(targets[i])
        value += error**2 / batch
        for k in range(count):
            score_grad[i, k] = 2.0 * error * z[i, k] * (values[k, 0] - y_hat) / batch
            head_grad[k, 0] += 2.0 * error * z[i, k] / batch
    return DataLoss(value, z, score_grad, head_grad)


def score_chain(
    features: Array, vectors: Array, variance: float, score_grad: Array
) -> tuple[Array, Array, float]:
    """Return the gradients by prototype (K, d), feature (B, d) and log variance.

    da_ik/dp_k = (x_i - p_k)/variance = -da_ik/dx_i;  da_ik/dlog variance = d_ik/(2 variance).
    """
    vector_grad, feature_grad = np.zeros_like(vectors), np.zeros_like(features)
    log_variance_grad = 0.0
    for i in range(len(features)):
        for k in range(len(vectors)):
            g = float(score_grad[i, k])
            pull = (features[i] - vectors[k]) / variance
            vector_grad[k] += g * pull
            feature_grad[i] -= g * pull
            log_variance_grad += g * sqdist(features[i], vectors[k]) / (2.0 * variance)
    return vector_grad, feature_grad, log_variance_grad
