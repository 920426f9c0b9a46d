"""Statistics of a comparison: pure functions of arrays.

Seeds are the unit: a difference is taken between two methods trained on the same subset. With
five seeds every interval is crude: the percentile bootstrap is too narrow (it excludes 0 whenever
the five differences agree in sign, which under no effect happens in 1 of 16 cases), so the paired
t interval and the counts of signs are given beside it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

EXACT_UP_TO = 8  # values: beyond, resamples are drawn instead of enumerated
DRAWS = 10_000
NOISE = 1e-9  # below it a difference of means is the rounding of their sums

Outcome = Literal["win", "tie", "loss"]


@dataclass(frozen=True)
class Interval:
    """A mean with a two-sided interval."""

    mean: float
    low: float
    high: float

    @property
    def outcome(self) -> Outcome:
        """A tie when the interval contains 0."""
        if self.low > NOISE:
            return "win"
        return "loss" if self.high < -NOISE else "tie"


@dataclass(frozen=True)
class Comparison:
    """One method against another on the same subsets, in the unit of the values."""

    bootstrap: Interval
    student: Interval | None  # None below two seeds
    signs: tuple[int, int, int]  # seeds better, equal, worse

    @property
    def mean(self) -> float:
        """Mean difference."""
        return self.bootstrap.mean

    @property
    def outcome(self) -> Outcome:
        """By the bootstrap interval."""
        return self.bootstrap.outcome


def mean_sd(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample deviation (n − 1); None in place of a deviation of one value."""
    data = np.asarray(values, dtype=np.float64)
    return float(data.mean()), float(data.std(ddof=1)) if len(data) > 1 else None


def bootstrap_interval(values: Sequence[float], level: float = 0.95, seed: int = 0) -> Interval:
    """Percentile bootstrap of the mean; all nⁿ resamples up to EXACT_UP_TO values, else drawn."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) <= EXACT_UP_TO:
        counts, weights = _multisets(len(data))
        means = counts @ data / len(data)
    else:
        draws = np.random.default_rng(seed).integers(0, len(data), (DRAWS, len(data)))
        means, weights = data[draws].mean(axis=1), np.full(DRAWS, 1 / DRAWS)
    tail = (1 - level) / 2
    low, high = (_weighted_quantile(means, weights, q) for q in (tail, 1 - tail))
    return Interval(float(data.mean()), low, high)


def student_interval(values: Sequence[float], level: float = 0.95) -> Interval | None:
    """Mean ± t_{n−1} s / √n of paired differences; None below two values."""
    from scipy.stats import t

    mean, sd = mean_sd(values)
    if sd is None:
        return None
    half = float(t.ppf((1 + level) / 2, len(values) - 1)) * sd / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def sign_counts(differences: Sequence[float]) -> tuple[int, int, int]:
    """How many are above 0, 0, below 0."""
    signs = np.sign(np.asarray(differences, dtype=np.float64))
    return int((signs > 0).sum()), int((signs == 0).sum()), int((signs < 0).sum())


def compare(differences: Sequence[float]) -> Comparison:
    """Everything said of paired differences, one per seed."""
    return Comparison(
        bootstrap_interval(differences), student_interval(differences), sign_counts(differences)
    )


def ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each column within its row (rows, methods), 1 = highest score, ties shared."""
    from scipy.stats import rankdata

    whole = np.rint(np.asarray(scores, dtype=np.float64) / NOISE)
    ranked: np.ndarray = rankdata(-whole, axis=1)
    return ranked


@dataclass(frozen=True)
class RankTest:
    """Friedman's test over blocks with Nemenyi's critical difference of average ranks."""

    average: tuple[float, ...]  # average rank of each method
    statistic: float  # Friedman's χ², corrected for ties
    p_value: float
    critical: float  # two methods differ when their average ranks are further apart
    blocks: int


def rank_test(scores: np.ndarray, level: float = 0.95) -> RankTest:
    """χ²_F of ranks, and CD = q √(k (k + 1) / 6n), for scores of n blocks × k ≥ 3 methods."""
    from scipy.stats import chi2, studentized_range

    ranked = ranks(scores)
    blocks, methods = ranked.shape
    average = ranked.mean(axis=0)
    spread = float(np.square(ranked - (methods + 1) / 2).sum())
    between = blocks * float(np.square(average - (methods + 1) / 2).sum())
    statistic = blocks * (methods - 1) * between / spread if spread else 0.0
    quantile = float(studentized_range.ppf(level, methods, np.inf)) / math.sqrt(2)
    return RankTest(
        average=tuple(float(value) for value in average),
        statistic=statistic,
        p_value=float(chi2.sf(statistic, methods - 1)),
        critical=quantile * math.sqrt(methods * (methods + 1) / (6 * blocks)),
        blocks=blocks,
    )


def cliques(average: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """Longest runs (first, last) of methods, ordered by rank, that do not differ; singles left out.

    `average` must be sorted.
    """
    runs: list[tuple[int, int]] = []
    for first, rank in enumerate(average):
        last = max(i for i, other in enumerate(average) if other - rank <= critical)
        if last > first and not (runs and runs[-1][1] >= last):
            runs.append((first, last))
    return runs


@lru_cache
def _multisets(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Every resample of n values up to order: counts (m, n) and probabilities (m,)."""
    chosen = itertools.combinations_with_replacement(range(n), n)
    counts = np.array([np.bincount(rows, minlength=n) for rows in chosen])
    ways = [
        math.factorial(n) / math.prod(math.factorial(int(times)) for times in row) for row in counts
    ]
    return counts, np.array(ways) / n**n


def _weighted_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Smallest value at which the cumulative weight reaches `share`."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, share - 1e-12))
    return float(values[order][min(place, len(values) - 1)])
