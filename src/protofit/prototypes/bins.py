"""Targets cut into bins that act as classes, and the way back to a value."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn


class TargetBins(nn.Module):
    """Bins of nearly equal counts; a bin stands for the mean of its targets."""

    edges: Tensor
    values: Tensor

    def __init__(self, bins: int) -> None:
        super().__init__()
        self.register_buffer("edges", torch.zeros(bins - 1))
        self.register_buffer("values", torch.zeros(bins))

    @torch.no_grad()
    def fit(self, targets: np.ndarray) -> None:
        """Edges and values from the targets of the training data (N,)."""
        bins = len(self.values)
        self.edges.copy_(torch.from_numpy(quantile_edges(targets.astype(np.float64), bins)))
        own = self.groups(torch.from_numpy(targets).to(self.edges)).cpu().numpy()
        sums, counts = np.bincount(own, targets, bins), np.bincount(own, minlength=bins)
        self.values.copy_(torch.from_numpy(sums / counts.clip(1)))

    def groups(self, targets: Tensor) -> Tensor:
        """Bin of each target (B,)."""
        return torch.bucketize(targets, self.edges.to(targets.dtype))

    def expected(self, log_prob: Tensor) -> Tensor:
        """ŷ = Σ_c P(c|x) v_c: (B, bins) → (B, 1)."""
        return (log_prob.exp() * self.values).sum(dim=1, keepdim=True)


def quantile_edges(targets: np.ndarray, bins: int) -> np.ndarray:
    """Inner edges (bins − 1,) of bins of nearly equal counts; ties never share a bin by accident.

    Edges lie midway between distinct values: with at most `bins` values each has its own bin.
    Edges that are not needed are +∞ (empty bins).
    """
    values, counts = np.unique(targets, return_counts=True)
    between = (values[:-1] + values[1:]) / 2
    if len(values) > bins:
        share_below = np.cumsum(counts)[:-1] / len(targets)
        wanted = np.arange(1, bins) / bins
        nearest = np.abs(share_below[None, :] - wanted[:, None]).argmin(axis=1)
        between = between[np.unique(nearest)]
    return np.concatenate([between, np.full(bins - 1 - len(between), np.inf)])
