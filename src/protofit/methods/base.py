"""The interface of every method: verbs around one optimiser step.

attach   before the first step of every process: keep the view of the training data
start    once, before the first step of a run: look at frozen features of the training data
observe  per batch, without gradient: create, count, forget
loss     per batch, with gradient
settle   after the optimiser step: project, prune, anneal, advance the clock
refresh  every `refresh_every` steps: re-estimate from the whole training data
ready    before predicting: bring the head up to date with the whole training data
forward  features → log P(y|x), or the predicted value: all that predicting needs

A method with prototypes also says what each of them adds to a prediction, and lets a person edit
them; the verbs for that are those of `methods/editable.py`.

`observe`, `loss` and `settle` never wait for a device, and state is changed in place: a step can
be captured once and replayed (docs/decisions/0002-fixed-capacity-bank.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from protofit.prototypes.evidence import PrototypeSet

Task = Literal["classification", "regression"]


class MethodConfig(Protocol):
    """A frozen dataclass of settings that knows its presets."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True)
class HeadShape:
    """What a head stands between."""

    dimension: int  # D, size of a feature vector
    outputs: int  # C classes; 1 for regression
    task: Task = "classification"


@dataclass(frozen=True)
class StartView:
    """What a method may see of the training data before the first step."""

    labels: np.ndarray  # (N,) class indices, or standardised targets; none of weight 0
    features: Callable[[np.ndarray], Tensor]  # rows → frozen eval-mode features (n, D) float32
    generator: Callable[[str], np.random.Generator]  # purpose → its own seeded generator
    steps_per_epoch: int
    total_steps: int


@dataclass
class LossOutput:
    """Result of one training forward pass."""

    loss: Tensor  # ()
    prediction: Tensor  # (B, C) log-probabilities, or (B, 1) values
    parts: dict[str, Tensor] = field(default_factory=dict)  # named terms of the loss, detached


class Method(nn.Module):
    """Base class: a linear clock, no state, nothing to observe."""

    config_class: ClassVar[type]
    trains: ClassVar[bool] = True  # False: fitted by `start` alone, no optimiser step
    clock: Tensor
    view: StartView | None = None  # of the training data, while there is a run

    def __init__(self, config: Any, shape: HeadShape) -> None:
        super().__init__()
        self.config = config
        self.shape = shape
        self.register_buffer("clock", torch.zeros((), dtype=torch.long))

    @property
    def refresh_every(self) -> int:
        """Optimiser steps between calls of `refresh`; 0: never."""
        return 0

    def attach(self, view: StartView | None) -> None:
        """Keep the view for `refresh` and `ready`; None lets go of it after the run."""
        self.view = view

    def start(self, view: StartView) -> None:
        """Resolve what depends on the data and set the first values."""

    def observe(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> None:
        """Look at a batch (B, D), (B,) without gradient."""

    def loss(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> LossOutput:
        """Training loss of a batch; `weights` (B,) average to 1 over the training data."""
        raise NotImplementedError

    def settle(self) -> None:
        """Finish the optimiser step."""
        self.clock.add_(1)

    def refresh(self) -> None:
        """Re-estimate from the training data in `self.view`, with the encoder as it is now."""

    def ready(self) -> None:
        """Bring what `forward` needs up to date with the training data, where it can lag."""

    def trace(self) -> dict[str, Tensor]:
        """Scalars () worth a column in the trace of the run."""
        return {}

    def recycled(self) -> Iterator[tuple[nn.Parameter, Tensor]]:
        """Parameters with a mask of the rows (P,) whose optimiser state must be zeroed now."""
        return iter(())

    def prototypes(self) -> PrototypeSet | None:
        """The prototypes as they are now; None for a method that has none."""
        return None


def weighted_mean(losses: Tensor, weights: Tensor | None) -> Tensor:
    """Mean over the batch (B,) of losses times weights that average to 1 over the data."""
    return losses.mean() if weights is None else (losses * weights).mean()


def fit_loss(prediction: Tensor, labels: Tensor, weights: Tensor | None, task: Task) -> Tensor:
    """L0: cross-entropy of log-probabilities (B, C), or mean squared error of values (B, 1)."""
    if task == "regression":
        return weighted_mean((prediction.squeeze(1) - labels).square(), weights)
    return weighted_mean(-prediction.gather(1, labels.unsqueeze(1)).squeeze(1), weights)
