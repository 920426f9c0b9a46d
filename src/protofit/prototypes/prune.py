"""Adaptive simplification: which prototypes have not been used enough lately."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from protofit.config.checks import at_least
from protofit.prototypes.functional import window_weights


@dataclass(frozen=True)
class PruneConfig:
    """The sliding window over z and what falls below it."""

    per_epoch: int = 2  # M: a pruning every epoch/M steps; 0 turns simplification off (PF-S)
    threshold: float = 1e-3  # ε on the windowed average importance
    relative: bool = False  # ε is a multiple of 1/K
    normalised: bool = False  # divide by Σω over the steps lived through, not by δ as printed
    window: int | None = None  # δ in steps; None: one epoch, at least a tenth of the run
    grace: int | None = None  # age in steps below which nothing is pruned; None: δ

    def __post_init__(self) -> None:
        at_least("head.prune.per_epoch", self.per_epoch, 0)
        at_least("head.prune.threshold", self.threshold, 0)
        at_least("head.prune.window", self.window, 1)
        at_least("head.prune.grace", self.grace, 0)


def window_statistic(
    window: Tensor, count: Tensor, born: Tensor, step: Tensor, *, normalised: bool
) -> Tensor:
    """(1/δ) Σ_i ω(i, T, δ) z_ik over the window ending at T = `step`: (δ, P) → (P,).

    Steps before a row's birth count as zero; `normalised` divides by the Σω of the steps since.
    """
    length = window.shape[0]
    weights = window_weights(length, torch.remainder(step, length), window.dtype)
    mean = window / count.clamp_min(1).unsqueeze(1)
    total = (weights.unsqueeze(1) * mean).sum(dim=0)
    if not normalised:
        return total / length
    slots = torch.arange(length, device=window.device)
    when = step - torch.remainder(step - slots, length)
    lived = (when.unsqueeze(1) >= born.unsqueeze(0)) & (count > 0).unsqueeze(1)
    return total / (weights.unsqueeze(1) * lived).sum(dim=0).clamp_min(1 / length)


def unused(
    statistic: Tensor, active: Tensor, labels: Tensor, mature: Tensor, threshold: Tensor | float
) -> Tensor:
    """Rows to prune (P,): active, mature, below ε — and never the last row of a class.

    Where every prototype of a class would go, the most used one stays (ties: the lowest row).
    """
    doomed = active & mature & (statistic < threshold)
    same = (labels.unsqueeze(0) == labels.unsqueeze(1)) & active.unsqueeze(0)
    survivor = (same & ~doomed.unsqueeze(0)).any(dim=1)
    row = torch.arange(len(labels), device=labels.device)
    better = statistic.unsqueeze(0) > statistic.unsqueeze(1)
    earlier = (statistic.unsqueeze(0) == statistic.unsqueeze(1)) & (
        row.unsqueeze(0) < row.unsqueeze(1)
    )
    beaten = (same & (better | earlier)).any(dim=1)
    return doomed & (survivor | beaten)
