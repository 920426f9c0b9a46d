"""Heads of every prototype method with random prototypes, for explanations and edits."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.steps import blobs, started

METHODS = ("pfit", "protonet", "imp", "imp-exact", "dpmeans", "prosenet")
SIZES: dict[str, dict[str, Any]] = {
    "imp": {"variance": 0.5, "alpha": 0.9, "capacity": 12},
    "imp-exact": {"variance": 0.5, "alpha": 0.9, "capacity": 12},
    "dpmeans": {"variance": 0.5, "alpha": 0.9, "capacity": 12},
    "prosenet": {"prototypes": 7},
}


def random_head(name: str, task: str, seed: int, dtype: torch.dtype = torch.float32) -> Any:
    """A started head whose prototypes say and lie at something random."""
    features, labels = blobs(40, seed=seed, apart=1.0)
    if task == "regression":
        draw = np.random.default_rng(seed)
        labels = (labels + draw.normal(0, 0.3, len(labels))).astype(np.float32)
    head: Any = started(name, features, labels, seed=seed, **SIZES.get(name, {}))
    head.attach(None)
    draw_t = torch.Generator().manual_seed(seed)
    if name == "pfit":
        _scatter(head, draw_t)
    if name == "prosenet" and task == "classification":
        with torch.no_grad():
            head.weight.add_(torch.rand(head.weight.shape, generator=draw_t))
            head.weight[:, 0] = 0  # one that says nothing
    return head.to(dtype).eval()


def _scatter(head: Any, draw: torch.Generator) -> None:
    """More rows, with random outputs."""
    count, regression = 6, head.shape.task == "regression"
    vectors = torch.randn(count, head.shape.dimension, generator=draw)
    labels = torch.randint(0, 1 if regression else head.shape.outputs, (count,), generator=draw)
    outputs = torch.randn(count, head.shape.outputs, generator=draw)
    chosen = torch.ones(count, dtype=torch.bool)
    head.bank.add(vectors, outputs, labels, chosen, head.clock)


def batch(size: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Features near and far from the prototypes."""
    draw = np.random.default_rng(seed)
    return torch.from_numpy(draw.normal(0, draw.choice([0.5, 2.0]), (size, 6))).to(dtype)


def prediction(head: Any, features: Tensor) -> Tensor:
    """P(y|x) (B, C), or values (B, 1), in float64."""
    with torch.no_grad():
        found: Tensor = head(features).double()
    return found if head.shape.task == "regression" else found.exp()
