"""The variational bottleneck from its equations: one loop per sum, float64 throughout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Affine = tuple[Array, Array]  # (outputs, inputs), (outputs,)


@dataclass(frozen=True)
class Layers:
    """All parameters."""

    first: Affine
    second: Affine
    mean: Affine
    spread: Affine
    classifier: Affine
    prior_mean: Array
    prior_spread: Array  # before the softplus


def affine(layer: Affine, x: Sequence[float]) -> list[float]:
    """Return W x + b."""
    weight, bias = layer
    return [
        float(bias[i]) + sum(float(weight[i, j]) * x[j] for j in range(len(x)))
        for i in range(len(bias))
    ]


def softplus(value: float) -> float:
    """Return log(1 + e^v)."""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


def posterior(layers: Layers, x: Array) -> tuple[list[float], list[float]]:
    """Return the means and standard deviations of q(z|x)."""
    hidden = [max(0.0, v) for v in affine(layers.first, x.tolist())]
    hidden = [max(0.0, v) for v in affine(layers.second, hidden)]
    return affine(layers.mean, hidden), [softplus(v) for v in affine(layers.spread, hidden)]


def divergence(layers: Layers, x: Array) -> float:
    """Return KL(q(z|x) || prior) = sum_k log(sp/s) + (s^2 + (m - mp)^2) / (2 sp^2) - 1/2."""
    means, spreads = posterior(layers, x)
    total = 0.0
    for k, (m, s) in enumerate(zip(means, spreads, strict=True)):
        prior = softplus(float(layers.prior_spread[k]))
        gap = m - float(layers.prior_mean[k])
        total += math.log(prior / s) + (s**2 + gap**2) / (2 * prior**2) - 0.5
    return total


def output(layers: Layers, x: Array, noise: Sequence[float] | None = None) -> list[float]:
    """Return W z + b at z = mean + spread * noise; at the mean without noise."""
    means, spreads = posterior(layers, x)
    noise = [0.0] * len(means) if noise is None else noise
    code = [m + s * e for m, s, e in zip(means, spreads, noise, strict=True)]
    return affine(layers.classifier, code)


def cross_entropy(values: Sequence[float], label: int) -> float:
    """Return -log softmax(values)[label]."""
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values)) - values[label]


def annealed(beta: float, step: int, steps_per_epoch: int) -> float:
    """Return min(1, epoch * beta) at the 0-based step, the first epoch being 1."""
    return min(1.0, (step // steps_per_epoch + 1) * beta)


def loss(
    layers: Layers, features: Array, labels: Sequence[int], noise: Array, beta: float
) -> float:
    """Return the mean over draws and examples of the cross-entropy + beta * mean KL."""
    draws, count = len(noise), len(features)
    fit = 0.0
    for s in range(draws):
        for i in range(count):
            values = output(layers, features[i], noise[s, i].tolist())
            fit += cross_entropy(values, labels[i])
    kl = sum(divergence(layers, x) for x in features)
    return fit / (draws * count) + beta * kl / count
