"""Slow statistics, written from their definitions."""

from __future__ import annotations

import itertools
import math


def bootstrap(values, level=0.95):
    """All n^n resamples with replacement; the smallest mean that covers each tail's share."""
    n = len(values)
    means = sorted(sum(chosen) / n for chosen in itertools.product(values, repeat=n))
    tail = (1 - level) / 2

    def quantile(share):
        place = math.ceil(share * len(means) - 1e-9)
        return means[max(0, place - 1)]

    return sum(values) / n, quantile(tail), quantile(1 - tail)


def rank_rows(rows):
    """1 for the highest; equal values share the mean of their places."""
    ranked = []
    for row in rows:
        line = []
        for value in row:
            above = sum(other > value for other in row)
            equal = sum(other == value for other in row)
            line.append(above + (equal + 1) / 2)
        ranked.append(line)
    return ranked


def friedman(rows):
    """(k − 1) (Σ_j R_j² − n C) / (A − C), A the sum of squared ranks, C = n k (k + 1)² / 4."""
    ranked = rank_rows(rows)
    n, k = len(ranked), len(ranked[0])
    sums = [sum(line[j] for line in ranked) for j in range(k)]
    a = sum(rank**2 for line in ranked for rank in line)
    c = n * k * (k + 1) ** 2 / 4
    return (k - 1) * (sum(total**2 for total in sums) - n * c) / (a - c)


# 5 % points of the studentised range over the square root of 2, infinite degrees of freedom
NEMENYI_Q = {3: 2.343, 4: 2.569, 5: 2.728, 9: 3.102, 10: 3.164}


def student(values):
    """95 % interval of the mean of five values: t(4) = 2.776."""
    n = len(values)
    mean = sum(values) / n
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    half = 2.7764451052 * math.sqrt(variance / n)
    return mean, mean - half, mean + half
