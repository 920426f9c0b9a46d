"""Small PFit heads with a filled bank, and one step of training them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from protofit.methods.base import HeadShape, LossOutput, StartView
from protofit.methods.pfit import PFit
from protofit.methods.pfit_config import PFitConfig
from protofit.training.optimiser import zero_rows

DIMENSION, CLASSES = 4, 3


def make_head(
    config: PFitConfig | None = None,
    *,
    task: str = "classification",
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> PFit:
    """Five active rows of random vectors, two of them of class (or bin) 0 and 1."""
    config = config or PFitConfig()
    outputs = CLASSES if task == "classification" else 1
    head = PFit(config, HeadShape(DIMENSION, outputs, task)).to(dtype)
    draw = torch.Generator().manual_seed(seed)
    vectors = torch.randn(5, DIMENSION, generator=draw, dtype=torch.float64)
    labels = torch.tensor([0, 1, 2, 0, 1])
    values = torch.randn(5, generator=draw, dtype=torch.float64).to(dtype)
    first = head.first_outputs(labels if task == "classification" else values)
    if task == "regression":
        head.edges.copy_(torch.linspace(-1, 1, len(head.edges)))
    head.bank.add(vectors, first, labels, torch.ones(5, dtype=torch.bool), head.clock)
    head.due.copy_(torch.tensor([0, 10**6, 3, 2]))
    head.bank.resize_window(config.prune.window or 6)
    return head


def make_batch(
    size: int, *, task: str = "classification", seed: int = 1, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Random features and labels or targets."""
    draw = torch.Generator().manual_seed(seed)
    features = torch.randn(size, DIMENSION, generator=draw, dtype=torch.float64)
    if task == "regression":
        targets = torch.randn(size, generator=draw, dtype=torch.float64)
        return features.to(dtype), targets.to(dtype)
    return features.to(dtype), torch.randint(0, CLASSES, (size,), generator=draw)


def one_step(
    head: PFit, optimiser: torch.optim.Optimizer, features: Tensor, labels: Tensor
) -> LossOutput:
    """One step in the order of the training loop."""
    head.observe(features, labels)
    result = head.loss(features, labels)
    optimiser.zero_grad()
    result.loss.backward()
    for parameter, rows in head.recycled():
        zero_rows(optimiser, parameter, rows)
    optimiser.step()
    head.settle()
    return result


def view_of(
    features: np.ndarray, labels: np.ndarray, *, seed: int = 0, steps: int = 10, total: int = 50
) -> StartView:
    """A start view on features that are already there; `steps` in an epoch, `total` in the run."""
    from protofit.randomness import generator

    held = torch.from_numpy(features)
    look: Callable[[np.ndarray], Tensor] = lambda rows: held[rows]  # noqa: E731
    return StartView(labels, look, lambda purpose: generator(seed, purpose), steps, total)
