"""Batches for heads that split a batch into support and query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Batch:
    """B examples of C classes, and a remembered mean of each class: float64."""

    features: np.ndarray  # (B, D)
    labels: np.ndarray  # (B,)
    means: np.ndarray  # (C, D)
    variance: float  # in the range of the squared distances over 2 ln 1/α
    seed: int

    @property
    def classes(self) -> int:
        return len(self.means)

    @property
    def remembered(self) -> list[np.ndarray | None]:
        return list(self.means)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Few classes with many examples, or many with few; scales vary, ties are improbable."""
    size, classes = draw(st.integers(1, 12)), draw(st.integers(2, 6))
    dimension, scale = draw(st.integers(1, 5)), draw(st.sampled_from([0.3, 1.0, 4.0]))
    seed = draw(st.integers(0, 2**32 - 1))
    return make_batch(size, classes, dimension, scale, seed)


def make_batch(size: int, classes: int, dimension: int, scale: float, seed: int) -> Batch:
    """The same without hypothesis."""
    numbers = np.random.default_rng(seed)
    return Batch(
        features=numbers.normal(0, scale, (size, dimension)),
        labels=numbers.integers(0, classes, size),
        means=numbers.normal(0, scale, (classes, dimension)),
        variance=float(numbers.uniform(0.02, 0.6) * scale**2 * dimension / 4),
        seed=seed,
    )
