"""The first state of ProSeNet: which examples are prototypes, and the scale of their votes."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from protofit.prototypes.bins import quantile_edges
from protofit.prototypes.scale import SAMPLE, SMALLEST, logit_gap, wanted_gap
from protofit.prototypes.start import separability

BINS = 8  # regression: of the targets, to draw examples over their range


def first_examples(
    labels: np.ndarray, classes: int | None, count: int, draw: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(rows of the first prototypes (count,), rows of a sample that sets the scale).

    Classes, or bins of targets where `classes` is None, take turns with their examples in random
    order; with fewer examples than prototypes the turns begin again.
    """
    if classes is None:
        edges = quantile_edges(labels.astype(np.float64), BINS)
        labels = np.searchsorted(edges, labels)
    shuffled = draw.permutation(len(labels))
    turn = np.zeros(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        own = labels[shuffled] == label
        turn[own] = np.arange(own.sum())
    order = shuffled[np.lexsort((labels[shuffled], turn))]
    return np.resize(order, count), np.sort(shuffled[:SAMPLE])


def logit_factor(
    logits: Tensor, features: Tensor, labels: Tensor, floor: float, gap: float
) -> float:
    """t that gives logits (n, C) the gap that the separability of the classes deserves."""
    visible = separability(features, labels, logits.shape[1])
    return wanted_gap(visible, floor, gap) / max(logit_gap(logits), SMALLEST)


def value_factor(values: Tensor, targets: Tensor, floor: float) -> float:
    """t of the least-squares line from values (n,) to targets (n,).

    The standard deviation of what it predicts is at least `floor`, in those of the targets.
    """
    x, y = values.double() - values.double().mean(), targets.double() - targets.double().mean()
    spread, level = float(x.square().mean().sqrt()), float(y.square().mean().sqrt())
    fit = float((x * y).mean()) / max(spread * level, SMALLEST**2)
    return max(fit, floor) * level / max(spread, SMALLEST)
