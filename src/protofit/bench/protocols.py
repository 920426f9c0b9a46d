"""How long every arm trains and on what its learning rate and its stopping epoch are chosen.

Where the subset is too small for a slice to choose by (`SMALL`), every arm runs at one fixed rate
(`FIXED_RATE`), takes all its steps and keeps its last weights. That is decided once, here, for all
methods alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protofit.config.train import TrainConfig

SMALL = 200  # examples up to which no slice is held back
FIXED_RATE = 5e-5  # the learning rate there
BATCH = 32
EPOCHS = 5
SHARE = 0.1  # of the subset, held back to choose the rate and the stopping epoch


@dataclass(frozen=True)
class Protocol:
    """What differs between protocols; the rest is the same for all."""

    name: str
    min_steps: int  # floor on optimiser steps
    patience_steps: int  # steps that patience must span, at least two epochs

    def rates(self, size: int, rates: tuple[float, ...]) -> tuple[float, ...]:
        """The learning rates to run at this size: one where there is no slice to choose by."""
        return (FIXED_RATE,) if size <= SMALL else rates

    def train_config(self, size: int, rate: float) -> TrainConfig:
        """Settings of the loop for a subset of this size: the same for every arm."""
        from protofit.config.train import TrainConfig

        share = 0.0 if size <= SMALL else SHARE
        epoch = math.ceil((size - round(share * size)) / BATCH)
        return replace(
            TrainConfig.preset("paper"),  # Adam, constant rate, no clipping
            batch_size=BATCH,
            epochs=EPOCHS,
            min_steps=self.min_steps,
            learning_rate=rate,
            validation_share=share,
            patience=max(2, math.ceil(self.patience_steps / epoch)),
        )

    def planned_steps(self, size: int) -> int:
        """Optimiser steps of a run that does not stop early."""
        from protofit.training.plan import make_plan

        config = self.train_config(size, FIXED_RATE)
        return make_plan(size - round(config.validation_share * size), config).total_steps


PROTOCOLS = {
    "paper": Protocol("paper", min_steps=0, patience_steps=0),
    "fair": Protocol("fair", min_steps=300, patience_steps=60),
}
