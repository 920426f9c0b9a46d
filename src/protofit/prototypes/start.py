"""Mixture prototype initialisation: class means of frozen features, and what they tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from protofit.config.checks import at_least, one_of
from protofit.errors import InputError
from protofit.prototypes.functional import sqdist


@dataclass(frozen=True)
class StartConfig:
    """How many prototypes a class starts with, and of which examples they are the mean."""

    examples: int | Literal["all"] = 8  # n per class
    vectors: Literal["means", "random"] = "means"  # random: PF-I, without initialisation
    per_class: int = 1  # most first prototypes of a class; above 1: k-means inside the class

    def __post_init__(self) -> None:
        if self.examples != "all" and self.examples < 1:
            raise InputError(
                f"head.start.examples is {self.examples}",
                where="settings",
                fix="Give a number of examples per class, or 'all'.",
            )
        one_of("head.start.vectors", self.vectors, ("means", "random"))
        at_least("head.start.per_class", self.per_class, 1)


def pick_examples(
    labels: np.ndarray, classes: int, examples: int | str, generator: np.random.Generator
) -> np.ndarray:
    """Indices of at most n examples of every class, drawn without replacement, in order."""
    picked: list[np.ndarray] = []
    for label in range(classes):
        members = np.flatnonzero(labels == label)
        if examples != "all" and len(members) > int(examples):
            members = generator.choice(members, size=int(examples), replace=False)
        picked.append(members)
    return np.sort(np.concatenate(picked))


def class_means(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """p_c = mean of f(x_i) with y_i = c: (N, D), (N,) → (C, D); zero for a class with none."""
    sums = features.new_zeros(classes, features.shape[1]).index_add_(0, labels, features)
    counts = torch.bincount(labels, minlength=classes).unsqueeze(1)
    return sums / counts.clamp_min(1)


def separability(features: Tensor, labels: Tensor, classes: int) -> float:
    """How visible the classes are before training, from 0 (chance) to 1.

    Balanced leave-one-out accuracy of the nearest class mean, rescaled by chance. Classes with
    one example cannot be left out and are not counted.
    """
    counts = torch.bincount(labels, minlength=classes)
    means = class_means(features, labels, classes)
    distances = sqdist(features, means)
    own = counts[labels].clamp_min(2)
    without_self = (own / (own - 1)).square()  # ‖x − mean without x‖² = (n/(n−1))² ‖x − mean‖²
    rows = torch.arange(len(labels), device=labels.device)
    distances[rows, labels] = distances[rows, labels] * without_self
    distances = distances.masked_fill((counts == 0).unsqueeze(0), torch.inf)
    hit = (distances.argmin(dim=1) == labels).to(features.dtype)
    counted = counts >= 2
    if not bool(counted.any()):
        return 0.0
    recall = torch.zeros(classes, dtype=features.dtype, device=features.device)
    recall = recall.index_add_(0, labels, hit) / counts.clamp_min(1)
    chance = 1 / int((counts > 0).sum())
    if chance >= 1:
        return 0.0
    accuracy = float(recall[counted].mean())
    return min(1.0, max(0.0, (accuracy - chance) / (1 - chance)))
