"""How many steps a run has, and the learning rate of each."""

from __future__ import annotations

import math
from dataclasses import dataclass

from protofit.config.train import TrainConfig


@dataclass(frozen=True)
class Plan:
    """The steps of a run."""

    batches_per_epoch: int  # global batches
    steps_per_epoch: int  # optimiser steps
    total_steps: int

    @property
    def epochs(self) -> int:
        """Epochs begun."""
        return math.ceil(self.total_steps / self.steps_per_epoch)


def make_plan(examples: int, config: TrainConfig) -> Plan:
    """`epochs` passes, or as many as `min_steps` asks for, at most `max_steps`."""
    batches = math.ceil(examples / config.batch_size)
    steps = math.ceil(batches / config.accumulate)
    total = max(config.epochs * steps, config.min_steps)
    if config.max_steps is not None:
        total = min(total, config.max_steps)
    return Plan(batches, steps, total)


def rate_factor(step: int, total: int, config: TrainConfig) -> float:
    """Share of the peak learning rate at `step` (0-based): warm-up, then linear or constant."""
    warmup = round(config.warmup_share * total)
    if step < warmup:
        return (step + 1) / warmup
    if config.schedule == "constant":
        return 1.0
    return (total - step) / max(1, total - warmup)
