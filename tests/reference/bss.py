"""Singular values by one-sided Jacobi rotations, pair by pair, in float64."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def singular_values(matrix: Array, sweeps: int = 60) -> list[float]:
    """Return the min(n, m) singular values of an (n, m) matrix, largest first.

    Rows (or columns, whichever are fewer) are rotated in pairs until all are orthogonal; their
    norms are then the singular values.
    """
    rows = [row.astype(np.float64).copy() for row in (matrix if _wide(matrix) else matrix.T)]
    for _ in range(sweeps):
        if not _sweep(rows):
            break
    return sorted((math.sqrt(float(row @ row)) for row in rows), reverse=True)


def _wide(matrix: Array) -> bool:
    return matrix.shape[0] <= matrix.shape[1]


def _sweep(rows: list[Array]) -> bool:
    """Rotate every pair once; whether anything moved."""
    moved = False
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            a, b, c = float(rows[i] @ rows[i]), float(rows[j] @ rows[j]), float(rows[i] @ rows[j])
            if abs(c) <= 1e-15 * math.sqrt(a * b):
                continue
            moved = True
            zeta = (b - a) / (2 * c)
            tangent = math.copysign(1, zeta) / (abs(zeta) + math.hypot(1, zeta))
            cosine = 1 / math.hypot(1, tangent)
            sine = cosine * tangent
            rows[i], rows[j] = cosine * rows[i] - sine * rows[j], sine * rows[i] + cosine * rows[j]
    return moved


def penalty(features: Array, count: int) -> float:
    """Return the sum of the `count` smallest squared singular values."""
    return sum(value**2 for value in singular_values(features)[-count:])
