"""Random batches and banks for comparison with the slow reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor


@dataclass(frozen=True)
class Problem:
    """B examples against P rows, of which some are active: float64 arrays."""

    features: np.ndarray  # (B, D)
    labels: np.ndarray  # (B,)
    vectors: np.ndarray  # (P, D)
    logits: np.ndarray  # (P, C)
    rows: np.ndarray  # (P,) class of each row
    active: np.ndarray  # (P,)
    variance: float
    level: float  # a squared distance in the range of the others; never a tie

    @property
    def live(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Vectors, logits and classes of the active rows only."""
        return self.vectors[self.active], self.logits[self.active], self.rows[self.active]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Sizes, scale and ties vary; the numbers come from a seeded generator."""
    batch, rows = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    dimension, classes = draw(st.integers(1, 6)), draw(st.integers(2, 4))
    scale = draw(st.sampled_from([0.1, 1.0, 10.0]))
    grid = draw(st.booleans())  # whole coordinates: many equal distances
    numbers = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    features = numbers.normal(0, scale, (batch, dimension))
    vectors = numbers.normal(0, scale, (rows, dimension))
    if grid:
        features, vectors = features.round(), vectors.round()
    active = numbers.random(rows) < 0.7
    active[numbers.integers(rows)] = True
    return Problem(
        features=features,
        labels=numbers.integers(0, classes, batch),
        vectors=vectors,
        logits=numbers.normal(0, 2, (rows, classes)),
        rows=numbers.integers(0, classes, rows),
        active=active,
        variance=float(numbers.uniform(0.2, 3) * scale**2),
        level=float(numbers.uniform(0.1, 2) * dimension * scale**2),
    )


def tensor(values: object) -> Tensor:
    """A tensor of the same type and values."""
    return torch.from_numpy(np.array(values))
