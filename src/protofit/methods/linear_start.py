"""First weights of a linear head from frozen features: (W, b) with values W f(x) + b."""

from __future__ import annotations

import torch
from torch import Tensor

from protofit.prototypes.functional import sqdist
from protofit.prototypes.scale import SMALLEST, logit_gap, wanted_gap
from protofit.prototypes.start import class_means, separability


def nearest_mean_map(
    features: Tensor, labels: Tensor, classes: int, floor: float, gap: float
) -> tuple[Tensor, Tensor]:
    """Logits −‖f(x) − p_c‖² / τ' up to a term without c: w_c = 2 p_c / τ', b_c = −‖p_c‖² / τ'.

    τ' gives the first logit gaps the size that the separability of the classes deserves. Means
    over the classes are taken off W and b, which changes no probability; a class without
    examples has the average logit.
    """
    means = class_means(features, labels, classes)
    present = torch.bincount(labels, minlength=classes) > 0
    visible = separability(features, labels, classes)
    target = wanted_gap(visible, floor, gap)
    temperature = max(logit_gap(sqdist(features, means)[:, present]) / target, SMALLEST)
    weight, bias = 2 * means.double(), -means.double().square().sum(dim=1)
    weight = torch.where(present.unsqueeze(1), weight - weight[present].mean(dim=0), 0)
    bias = torch.where(present, bias - bias[present].mean(), 0)
    return weight / temperature, bias / temperature


def covariance_map(features: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """ŷ = s · cov(y, f(x)) · (f(x) − mean): the direction in which targets of (N,) rise.

    With two targets of equal counts it is the direction between the two means. The slope s is
    the least-squares one on scores that leave their own example out, and at least 0.
    """
    centre, level = features.double().mean(dim=0), targets.double().mean()
    x, y = features.double() - centre, targets.double() - level
    direction = x.T @ y / len(y)
    scores = x @ direction - y * x.square().sum(dim=1) / len(y)
    slope = ((y @ scores) / scores.square().sum().clamp_min(SMALLEST**2)).clamp_min(0)
    weight = slope * direction
    return weight.unsqueeze(0), (level - weight @ centre).unsqueeze(0)
