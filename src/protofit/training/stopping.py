"""Early stopping on a slice of the training data: keep the best, stop when it stays the best."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class Stopping:
    """Best score so far and the weights that reached it."""

    patience: int
    best: list[float] | None = None  # compared in order: accuracy, then −log-loss; or −MSE
    bad_epochs: int = 0
    stopped: bool = False
    weights: dict[str, Tensor] = field(default_factory=dict)

    def see(self, score: list[float], model: torch.nn.Module) -> None:
        """Judge the end of an epoch; keep the weights if it is the best so far."""
        if self.improves(score):
            self.weights = {
                name: t.detach().cpu().clone() for name, t in model.state_dict().items()
            }

    def improves(self, score: list[float]) -> bool:
        """Count an epoch; whether it is the best so far. NaN is worse than anything."""
        score = [-math.inf if math.isnan(value) else value for value in score]
        if self.best is None or score > self.best:
            self.best, self.bad_epochs = score, 0
            return True
        self.bad_epochs += 1
        self.stopped = self.bad_epochs >= self.patience
        return False
