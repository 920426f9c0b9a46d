"""Clustering within classes: responsibilities, their means, and the class of the nearest cluster.

Letters in the shapes: B examples, K clusters (rows, active or not), D features, C classes.
Shapes never depend on values; only `far_from_class` looks at values on the host.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from protofit.prototypes.functional import sqdist

SMALLEST_WEIGHT = 1e-3  # clusters with at most this much responsibility in all are deleted


@dataclass(frozen=True)
class Rule:
    """How clusters are made."""

    alpha: float  # α, concentration of the Chinese restaurant process
    hard: bool  # all responsibility to the nearest cluster of the class (DP-means)
    first_only: bool  # creation looks at the distance to the class mean alone


def membership(groups: Tensor, classes: int) -> Tensor:
    """Whether example i is of class c: (B,) → (B, C)."""
    return groups.unsqueeze(1) == torch.arange(classes, device=groups.device).unsqueeze(0)


def weighted_means(weights: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
    """p_k = Σ_i r_ik x_i / Σ_i r_ik, and Σ_i r_ik: (B, K), (B, D) → (K, D), (K,).

    Zero where the sum is zero. Sums are float64 where the device has it: reproducible digits.
    """
    wide = torch.float32 if features.device.type == "mps" else torch.float64
    r, x = weights.to(wide), features.to(wide)
    totals = r.sum(dim=0)
    divisor = totals.masked_fill(totals <= 0, 1).unsqueeze(1)
    return ((r.T @ x) / divisor).to(features.dtype), totals.to(features.dtype)


def responsibilities(distances: Tensor, own: Tensor, variance: Tensor, *, hard: bool) -> Tensor:
    """r_ik ∝ exp(−‖x_i − p_k‖² / 2σ) over the rows k that are `own` to example i: (B, K).

    `hard`: 1 for the nearest own row. An example with no own row has none.
    """
    if hard:
        nearest = distances.masked_fill(~own, torch.inf).argmin(dim=1)
        return (membership(nearest, distances.shape[1]) & own).to(distances.dtype)
    nothing = torch.finfo(distances.dtype).min
    energy = (-distances / (2 * variance)).masked_fill(~own, nothing)
    return torch.softmax(energy, dim=1) * own


def class_logits(logits: Tensor, labels: Tensor, active: Tensor, classes: int) -> Tensor:
    """Largest logit among the active rows of each class: (B, K), (K,), (K,) → (B, C).

    The softmax of these is the "or" loss of IMP: its target is the closest prototype of the
    class, and only the closest prototype of every class is in its denominator. A class with no
    row has the smallest finite number, which leaves gradients clean.
    """
    nothing = torch.finfo(logits.dtype).min
    none = logits.new_full((len(logits), classes), nothing)
    rows = labels.unsqueeze(0).expand_as(logits)
    return none.scatter_reduce(1, rows, logits.masked_fill(~active, nothing), "amax")


def far_from_class(
    features: Tensor, mean: Tensor, threshold: Tensor, room: int, *, first_only: bool
) -> Tensor:
    """Examples (n, D) of one class that become clusters, at most `room`, in order: indices.

    Example i does if it is farther than λ from the class mean and from every cluster made of an
    example before it. Waits for the device once per cluster.
    """
    nearest = sqdist(features, mean.unsqueeze(0)).squeeze(1)
    far = (nearest > threshold).nonzero().flatten()
    if first_only:
        return far[:room]
    chosen: list[Tensor] = []
    while len(far) and len(chosen) < room:
        newest = far[:1]
        chosen.append(newest)
        nearest = torch.minimum(nearest, sqdist(features, features[newest]).squeeze(1))
        later = torch.arange(len(nearest), device=far.device) > newest
        far = ((nearest > threshold) & later).nonzero().flatten()
    return torch.cat(chosen) if chosen else far[:0]
