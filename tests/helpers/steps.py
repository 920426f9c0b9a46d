"""Any method on a batch of its own: a few steps of it and of the features it is given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.heads import view_of
from protofit.config.fields import to_dict
from protofit.methods.base import HeadShape, LossOutput, Method
from protofit.methods.registry import build_method, method_config


def blobs(
    size: int = 60, dimension: int = 6, classes: int = 3, *, seed: int = 0, apart: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clusters, in float32 as encoders give them."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, classes, size)
    features = apart * np.eye(dimension)[labels] + draw.normal(0, 1, (size, dimension))
    return features.astype(np.float32), labels


def started(
    name: str, features: np.ndarray, labels: np.ndarray, *, seed: int = 0, **settings: Any
) -> Method:
    """A method after `start`; labels of a floating type are targets."""
    regression = labels.dtype.kind == "f"
    outputs = 1 if regression else int(labels.max()) + 1
    shape = HeadShape(features.shape[1], outputs, "regression" if regression else "classification")
    config = replace(method_config(name, "default"), **settings)
    head = build_method(name, to_dict(config), shape)
    view = view_of(features, labels, seed=seed, steps=4, total=40)
    head.attach(view)
    head.start(view)
    return head


def train(
    head: Method, features: Tensor, labels: Tensor, steps: int, rate: float = 0.01
) -> list[LossOutput]:
    """Steps on one batch that move head and features (a parameter) alike."""
    optimiser = torch.optim.Adam([features, *head.parameters()], lr=rate)
    results = []
    for _ in range(steps):
        head.observe(features, labels)
        results.append(head.loss(features, labels))
        optimiser.zero_grad()
        results[-1].loss.backward()
        optimiser.step()
        head.settle()
    return results
