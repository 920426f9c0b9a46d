"""Do two models, say of two seeds, give the same reasons for the same texts?

Prototypes of two models cannot be compared by their rows or vectors, but their evidence can: both
point at training texts. The evidence of a text spreads the share of each prototype evenly over
the n training texts nearest to it,

    e(i|x) = Σ_k share_k(x) · [i among the n nearest of k] / n,    scaled to sum to 1,

and two models agree by the overlap Σ_i min(e_a(i|x), e_b(i|x)), from 0 to 1. The overlap with the
evidence for another text of the same predicted class is the yardstick: agreement above it is
about the text, not the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protofit.errors import InputError
from protofit.explain.plain import Plain
from protofit.explain.reading import Reading
from protofit.model.bundle import Bundle

NEAREST = 10  # training texts that stand for a prototype


@dataclass(frozen=True)
class Agreement(Plain):
    """How far the reasons of two models agree, averaged over texts."""

    texts: int
    same_prediction: float  # share of texts that both predict alike; regression: NaN
    overlap: float  # of the evidence for the same text
    within_class: float  # of the evidence for two texts of one predicted class (yardstick)
    chance: float  # of the evidence for two texts drawn at random


def agreement(
    one: Bundle, other: Bundle, inputs: Sequence[Any], *, nearest: int = NEAREST, seed: int = 0
) -> Agreement:
    """Compare the evidence of two models that have the same training texts in their index."""
    first, second = Reading.of(one), Reading.of(other)
    if not _same_texts(first, second):
        raise InputError(
            "the models have no index of the same texts", fix="Call index(X, y) on both."
        )
    if len(inputs) < 2:
        raise InputError("there are fewer than two texts", fix="Give more texts to compare on.")
    a, said_a = spread(first, inputs, nearest)
    b, said_b = spread(second, inputs, nearest)
    draw = np.random.default_rng(seed)
    mixed, shuffled = _within(np.zeros(len(inputs)), draw), _within(said_a, draw)
    return Agreement(
        texts=len(inputs),
        same_prediction=float("nan") if first.regression else float((said_a == said_b).mean()),
        overlap=_overlap(a, b),
        within_class=_overlap(a, b[shuffled]),
        chance=_overlap(a, b[mixed]),
    )


def spread(reading: Reading, inputs: Sequence[Any], nearest: int) -> tuple[Any, np.ndarray]:
    """Evidence over the training texts, sparse (n, N) with rows summing to 1; predictions (n,)."""
    from scipy.sparse import csr_matrix

    features, _ = reading.features(inputs)
    weights, said = [], []
    for start in range(0, len(inputs), reading.block):
        parts = reading.parts(features[start : start + reading.block])
        best = parts.probabilities.argmax(axis=1)
        share = np.abs(parts.share[np.arange(len(best)), :, best])
        weights.append(parts.importance if reading.regression else share)
        said.append(np.zeros(len(best)) if reading.regression else best)
    positions, _ = reading.search(reading.vectors, nearest)
    protos, near = positions.shape
    ends = np.arange(0, protos * near + 1, near)
    points = csr_matrix(
        (np.full(protos * near, 1 / near), positions.ravel(), ends),
        shape=(protos, len(reading.index or ())),
    )
    share = np.concatenate(weights)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    return csr_matrix(share) @ points, np.concatenate(said)


def _same_texts(one: Reading, other: Reading) -> bool:
    """As far as rows and labels can tell."""
    a, b = one.index, other.index
    if a is None or b is None:
        return False
    return np.array_equal(a.rows, b.rows) and np.array_equal(a.labels, b.labels)


def _overlap(a: Any, b: Any) -> float:
    """Mean over rows of Σ_i min(a_i, b_i)."""
    return float(a.minimum(b).sum() / a.shape[0])


def _within(said: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """A permutation that keeps predicted classes, and moves every text where it can."""
    order = np.arange(len(said))
    for label in np.unique(said):
        mine = draw.permutation(np.flatnonzero(said == label))
        order[mine] = np.roll(mine, 1)
    return order
