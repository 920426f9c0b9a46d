"""Infinite mixture creation: which examples of a batch become prototypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from protofit.config.checks import above, at_least, one_of, within
from protofit.prototypes.functional import sqdist

Rule = Literal["sequential", "farthest", "off"]


@dataclass(frozen=True)
class CreationConfig:
    """When and from which examples new prototypes are made."""

    rule: Rule = "sequential"  # in batch order as in Algorithm 1; farthest of each class; or off
    alpha: float = 0.1  # α, concentration of the Chinese restaurant process
    start_share: float = 0.1  # share of all steps before the first creation
    stop_share: float = 1.0  # share of all steps after which nothing is created
    capacity: int | None = None  # P_max; None: 100, or 2 per class if that is more

    def __post_init__(self) -> None:
        one_of("head.creation.rule", self.rule, ("sequential", "farthest", "off"))
        above("head.creation.alpha", self.alpha, 0)
        within("head.creation.start_share", self.start_share, 0, 1)
        within("head.creation.stop_share", self.stop_share, 0, 1)
        at_least("head.creation.stop_share", self.stop_share, self.start_share)
        at_least("head.creation.capacity", self.capacity, 1)

    def rows(self, classes: int) -> int:
        """P_max for this number of classes (or bins), or of first prototypes if that is more."""
        if self.capacity is not None:
            return max(self.capacity, classes)
        return max(2 * classes, 100)


def nearest_own(distances: Tensor, labels: Tensor, active: Tensor, row_labels: Tensor) -> Tensor:
    """Smallest of the squared distances (B, P) to active rows of the own class, else +∞: (B,)."""
    own = active.unsqueeze(0) & (labels.unsqueeze(1) == row_labels.unsqueeze(0))
    return distances.masked_fill(~own, torch.inf).amin(dim=1)


def sequential(features: Tensor, labels: Tensor, nearest: Tensor, threshold: Tensor) -> Tensor:
    """Algorithm 1: in batch order, every example still farther than λ from its class (B,) mask.

    A prototype created by an earlier example of the batch counts for the later ones, so the
    result is the first maximal set in batch order without a conflicting pair.
    """
    candidate = nearest > threshold
    close = (sqdist(features, features) <= threshold) & (labels.unsqueeze(0) == labels.unsqueeze(1))
    chosen = torch.zeros_like(candidate)
    for i in range(len(features)):
        chosen[i] = candidate[i] & ~(close[i] & chosen).any()
    return chosen


def farthest(labels: Tensor, nearest: Tensor, threshold: Tensor) -> Tensor:
    """At most one example of each class: its farthest one, if farther than λ: (B,) mask."""
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    rival = same & (nearest.unsqueeze(0) > nearest.unsqueeze(1))
    position = torch.arange(len(labels), device=labels.device)
    tie = same & (nearest.unsqueeze(0) == nearest.unsqueeze(1))
    earlier = tie & (position.unsqueeze(0) < position.unsqueeze(1))
    return (nearest > threshold) & ~(rival | earlier).any(dim=1)
