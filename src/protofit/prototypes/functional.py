"""The equations of the paper as pure functions of tensors.

Letters in the shapes: B examples, K prototypes (rows, active or not), D features, C classes.
Everything is computed in at least float32, whatever the encoder runs in.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

Pairs = Literal["all", "same_class"]
Reduction = Literal["sum", "mean"]


def widened(features: Tensor) -> Tensor:
    """`features` in float32 (float64 stays float64)."""
    return features.to(torch.promote_types(features.dtype, torch.float32))


def sqdist(left: Tensor, right: Tensor) -> Tensor:
    """Squared L2 distances ‖x_i − p_k‖² = ‖x_i‖² − 2 x_i·p_k + ‖p_k‖²: (B, D), (K, D) → (B, K).

    The products are float64: digits lost to cancellation stay below float32's last, and no
    reduced-precision mode of the process applies. Devices without float64 take differences.
    """
    if left.device.type == "mps":
        return torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist").square()
    x, p = left.double(), right.double()
    norms = x.square().sum(dim=1, keepdim=True) + p.square().sum(dim=1)
    return torch.addmm(norms, x, p.T, alpha=-2).clamp_min(0).to(left.dtype)


def log_importance(distances: Tensor, variance: Tensor, active: Tensor) -> Tensor:
    """log z: normalised Gaussian densities with one shared variance, −∞ where not active.

    z_ik = N(x_i; p_k, σ) / Σ_k' N(x_i; p_k', σ) — (B, K) squared distances → (B, K).
    """
    energy = -distances / (2 * variance)
    return log_softmax(energy.masked_fill(~active, -math.inf), dim=1)


def mixture_log_prob(log_z: Tensor, class_logits: Tensor) -> Tensor:
    """log P(y|x) = log Σ_k z_k softmax(l_k)_y: (B, K), (K, C) → (B, C)."""
    each = log_softmax(class_logits, dim=1)
    return torch.logsumexp(log_z.unsqueeze(2) + each.unsqueeze(0), dim=1)


def mixture_mean(log_z: Tensor, values: Tensor) -> Tensor:
    """ŷ = Σ_k z_k l_k: (B, K), (K,) → (B,)."""
    return (log_z.exp() * values).sum(dim=1)


def base_variance(vectors: Tensor, active: Tensor) -> Tensor:
    """ρ: unbiased variance over the active rows, averaged over dimensions; 0 below two rows."""
    weight = active.to(vectors.dtype).unsqueeze(1)
    count = weight.sum()
    mean = (vectors * weight).sum(dim=0) / count.clamp_min(1)
    squares = ((vectors - mean).square() * weight).sum(dim=0)
    return (squares / (count - 1).clamp_min(1)).mean()


def creation_sqdist(variance: Tensor, rho: Tensor, alpha: float, dimension: int) -> Tensor:
    """λ = −2σ log(α / (1 + ρ/σ)^{d/2}), at least 0: the Kulis-Jordan sign (docs/method.md, 1)."""
    threshold = -2 * variance * math.log(alpha) + dimension * variance * torch.log1p(rho / variance)
    return threshold.clamp_min(0)


def diversity_hinge(
    vectors: Tensor,
    active: Tensor,
    labels: Tensor,
    reach: Tensor,
    *,
    pairs: Pairs = "all",
    reduction: Reduction = "sum",
) -> Tensor:
    """Σ_{j<k} max(0, reach − ‖p_j − p_k‖)² over pairs of active rows (K, D) → ().

    `reach` is a distance: λ as printed, or √λ where the units are made consistent.
    """
    squared = sqdist(vectors, vectors)
    counted = (active.unsqueeze(0) & active.unsqueeze(1)).triu(diagonal=1)
    if pairs == "same_class":
        counted = counted & (labels.unsqueeze(0) == labels.unsqueeze(1))
    apart = counted & (squared > 0)  # √ has no gradient at 0: coincident pairs feel no push
    distance = torch.where(apart, squared, 1).sqrt().masked_fill(~apart, 0)
    hinge = (reach - distance).clamp_min(0).square().masked_fill(~counted, 0).sum()
    return hinge if reduction == "sum" else hinge / counted.sum().clamp_min(1)


def soft_nearest_neighbour(
    features: Tensor, labels: Tensor, variance: Tensor, weights: Tensor | None = None
) -> Tensor:
    """In-batch neighbour loss on squared distances (B, D), (B,) → ().

    mean_i −log Σ_{j≠i, y_j=y_i} e^{−d_ij/2σ} / Σ_{j≠i} e^{−d_ij/2σ}, over the anchors i that
    have another example of their class in the batch. Examples of weight 0 are not there.
    """
    energy = -sqdist(features, features) / (2 * variance)
    absent = torch.eye(len(features), dtype=torch.bool, device=features.device)
    if weights is not None:
        absent = absent | (weights <= 0).unsqueeze(0)
    same = (labels.unsqueeze(0) == labels.unsqueeze(1)) & ~absent
    anchor = same.any(dim=1)
    nothing = torch.finfo(energy.dtype).min  # finite: rows without a neighbour keep clean gradients
    every = torch.logsumexp(energy.masked_fill(absent, nothing), dim=1)
    kin = torch.logsumexp(energy.masked_fill(~same, nothing), dim=1)
    weight = anchor.to(energy.dtype) if weights is None else anchor * weights
    loss = torch.where(anchor, every - kin, 0)
    return (weight * loss).sum() / weight.sum().clamp_min(torch.finfo(energy.dtype).tiny)


def window_weights(length: int, newest: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """ω of each slot of a ring of `length` steps whose last written slot is `newest`: (length,).

    ω(i, T, δ) = (i − T + δ) / δ: 1 for the newest step, 1/δ for the oldest still in the window.
    """
    slots = torch.arange(length, device=newest.device)
    age = torch.remainder(newest - slots, length)
    return (length - age).to(dtype) / length
