"""Settings of the one training loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from protofit.config.checks import above, at_least, one_of, within

Schedule = Literal["linear", "constant"]
Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True)
class TrainConfig:
    """How the encoder and the head are fitted; the values here are the `default` preset."""

    batch_size: int = 32  # examples per forward pass over all processes
    accumulate: int = 1  # forward passes per optimiser step
    epochs: int = 5  # passes over the training data, unless min_steps asks for more
    min_steps: int = 300  # floor on optimiser steps: tiny data sets are repeated to reach it
    max_steps: int | None = None  # ceiling on optimiser steps; None: no ceiling
    learning_rate: float = 1e-4  # peak, for the encoder
    head_learning_rate: float | None = None  # peak, for the head; None: the encoder's
    schedule: Schedule = "linear"  # after warm-up: linear decay to 0, or constant
    warmup_share: float = 0.1  # share of all steps with a rising learning rate
    weight_decay: float = 0.01  # decoupled (AdamW), encoder matrices only; 0 gives Adam
    clip_norm: float | None = 1.0  # largest gradient norm; None: no clipping
    validation_share: float = 0.0  # slice of the training data held back for early stopping
    patience: int = 2  # epochs without improvement on the slice before stopping
    precision: Precision = "auto"  # auto: bfloat16 where the device has it, else fast float32
    checkpoint_every: int = 100  # optimiser steps between checkpoints, where a run keeps them
    trace_every: int = 10  # steps between reads of the trace from the device
    bucket_batches: int = 16  # at most so many batches sorted by length together; 1: none

    def __post_init__(self) -> None:
        for name in ("batch_size", "accumulate", "epochs", "checkpoint_every", "trace_every"):
            at_least(f"train.{name}", getattr(self, name), 1)
        for name in ("min_steps", "weight_decay"):
            at_least(f"train.{name}", getattr(self, name), 0)
        at_least("train.max_steps", self.max_steps, 1)
        at_least("train.bucket_batches", self.bucket_batches, 1)
        at_least("train.patience", self.patience, 1)
        above("train.learning_rate", self.learning_rate, 0)
        above("train.head_learning_rate", self.head_learning_rate, 0)
        above("train.clip_norm", self.clip_norm, 0)
        within("train.warmup_share", self.warmup_share, 0, 1)
        within("train.validation_share", self.validation_share, 0, 0.5)
        one_of("train.schedule", self.schedule, ("linear", "constant"))
        one_of("train.precision", self.precision, ("auto", "float32", "bfloat16"))

    @classmethod
    def preset(cls, name: str) -> TrainConfig:
        """`paper`: Adam, five epochs at most, early stopping on a slice; `default`: best known."""
        if name == "paper":
            return cls(
                min_steps=0, schedule="constant", warmup_share=0.0, weight_decay=0.0,
                clip_norm=None, validation_share=0.1,
            )  # fmt: skip
        return cls()
