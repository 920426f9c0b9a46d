"""One run of a fleet: its head, its rows, its order of batches, its stopping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit.config.train import TrainConfig
from protofit.data.batches import batches_of_bucket, epoch_batches
from protofit.methods.base import Method
from protofit.training.plan import Plan
from protofit.training.stopping import Stopping


@dataclass
class Member:
    """A run that shares the device with others."""

    head: Method
    rows: np.ndarray  # (n,) rows of the task's texts to train on
    held: np.ndarray  # (h,) rows held back to choose by; may be empty
    config: TrainConfig
    plan: Plan
    seed: int
    skip: bool = False  # add non-contextual word embeddings to the features
    stopping: Stopping = field(default_factory=lambda: Stopping(patience=2))
    best_step: int | None = None
    head_state: dict[str, Tensor] = field(default_factory=dict)
    trace: list[dict[str, float]] = field(default_factory=list)  # now and then
    current: Tensor | None = None  # features of `rows` as the view of the head sees them
    mean: float = 0.0  # regression: of the subset's targets
    scale: float = 1.0  # regression: their standard deviation
    seen: int = 0  # steps taken while it ran
    finished: bool = False

    @property
    def total(self) -> int:
        """Planned optimiser steps."""
        return self.plan.total_steps

    def look(self, picked: np.ndarray) -> Tensor:
        """Features (n, D) of some of its training texts, as last embedded."""
        if self.current is None:
            raise RuntimeError("the training texts have not been embedded")
        return self.current[torch.from_numpy(np.asarray(picked)).to(self.current.device)]

    def units(self, prediction: np.ndarray) -> np.ndarray:
        """Predictions in the unit of the targets; log-probabilities as they are."""
        if self.head.shape.task != "regression":
            return prediction
        return np.asarray(prediction * self.scale + self.mean)

    def epoch_ends(self, step: int) -> bool:
        """Whether `step` steps complete an epoch."""
        return step % self.plan.steps_per_epoch == 0

    def refresh_due(self, step: int) -> bool:
        """Whether the head wants to look at its training data again before this step."""
        every = self.head.refresh_every
        return bool(every) and step % every == 0

    def batches(self, widths: np.ndarray, epoch: int) -> list[np.ndarray]:
        """The batches of an epoch, as in `training/loop.py`, as rows of the task."""
        order = epoch_batches(
            widths[self.rows], self.config.batch_size, self.seed, epoch, self.config.bucket_batches
        )
        return [self.rows[batch] for batch in order]


@dataclass(frozen=True)
class Schedule:
    """Rows and weights of every step of every member, and the size of each step."""

    rows: np.ndarray  # (S, R, B)
    weights: np.ndarray  # (S, R, B): 0 for fillers, averaging to 1 over a batch
    tokens: np.ndarray  # (S,) tokens of the largest batch of any member


def make_schedule(members: Sequence[Member], widths: np.ndarray) -> Schedule:
    """Lay the batches of all members beside each other.

    Where batches are sorted by length, those of equal rank meet, so that a step holds few
    fillers; their common order is shuffled per epoch.
    """
    steps = max(member.total for member in members)
    if not steps:
        none = np.zeros((0, len(members), 0))
        return Schedule(none.astype(np.int64), none.astype(np.float32), np.zeros(0, np.int64))
    size = members[0].config.batch_size
    rows = np.zeros((steps, len(members), size), np.int64)
    weights = np.zeros((steps, len(members), size), np.float32)
    for r, member in enumerate(members):
        step = epoch = 0
        while step < steps:
            for batch in _aligned(member, widths, epoch)[: steps - step]:
                rows[step, r] = np.resize(batch, size)
                weights[step, r, : len(batch)] = size / len(batch)
                step += 1
            epoch += 1
    return Schedule(rows, weights, widths[rows].sum(axis=2).max(axis=1))


def _aligned(member: Member, widths: np.ndarray, epoch: int) -> list[np.ndarray]:
    batches = member.batches(widths, epoch)
    spans = np.array([widths[batch].sum() for batch in batches])
    config = member.config
    if batches_of_bucket(len(member.rows), config.batch_size, config.bucket_batches) == 1:
        return batches
    ranked = np.argsort(spans, kind="stable")
    common = np.random.default_rng([len(batches), epoch]).permutation(len(batches))
    return [batches[i] for i in ranked[common]]


def state_of(head: Any) -> dict[str, Tensor]:
    """A copy of a head's state."""
    return {name: value.detach().clone() for name, value in head.state_dict().items()}
