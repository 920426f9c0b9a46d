"""A map: features on their two principal axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Plane:
    """Two orthonormal axes through a centre."""

    centre: np.ndarray  # (D,)
    axes: np.ndarray  # (2, D)
    explained: tuple[float, float]  # share of the variance along each axis

    @classmethod
    def of(cls, features: np.ndarray) -> Plane:
        """The axes along which (n, D) varies most; each points where its largest part is positive.

        With fewer than two directions of variance the missing axes are arbitrary but fixed.
        """
        centre = features.mean(axis=0)
        apart = features - centre
        values, vectors = np.linalg.eigh(apart.T @ apart)
        axes = vectors[:, ::-1].T[:2]
        if len(axes) < 2:
            axes = np.concatenate([axes, np.zeros((2 - len(axes), features.shape[1]))])
        values = np.maximum(np.append(values[::-1], [0.0, 0.0])[:2], 0)
        largest = np.abs(axes).argmax(axis=1)
        signs = np.sign(axes[np.arange(2), largest])
        axes = axes * np.where(signs == 0, 1, signs)[:, None]
        total = max(float(np.square(apart).sum()), 1e-300)
        return cls(centre, axes, (float(values[0] / total), float(values[1] / total)))

    def places(self, features: np.ndarray) -> np.ndarray:
        """(n, D) → (n, 2)."""
        return np.asarray((features.astype(np.float64) - self.centre) @ self.axes.T)

    def place(self, feature: np.ndarray) -> tuple[float, float]:
        """(D,) → (x, y)."""
        x, y = self.places(feature[None, :])[0]
        return float(x), float(y)
