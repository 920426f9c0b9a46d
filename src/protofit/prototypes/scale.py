"""Scales that are measured once, on frozen features, before the first step."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from protofit.prototypes.functional import sqdist

SAMPLE = 512  # texts whose pair distances are looked at
SMALLEST = 1e-6  # floor of every scale: identical texts have distance 0


def neighbour_variance(features: Tensor, scale: float, draw: np.random.Generator) -> float:
    """σ of the neighbour loss: 2σ = `scale` standard deviations of the pair distances of (n, D)."""
    rows = draw.permutation(len(features))[:SAMPLE]
    some = features[torch.from_numpy(rows).to(features.device)]
    distances = sqdist(some, some)
    pairs = distances[~torch.eye(len(some), dtype=torch.bool, device=some.device)]
    spread = float(pairs.std()) if len(pairs) > 1 else 1.0
    return max(scale * spread / 2, SMALLEST)


def logit_gap(scores: Tensor) -> float:
    """Root-mean-square gap of scores (n, C): 2 standard deviations about the mean of each row.

    With two columns this is the root mean square of their difference.
    """
    return 2 * float((scores - scores.mean(dim=1, keepdim=True)).std(correction=0))


def wanted_gap(separability: float, floor: float, gap: float) -> float:
    """First logit gap: `gap` where the classes are plainly visible, `floor` where they are not."""
    return floor + (gap - floor) * separability
