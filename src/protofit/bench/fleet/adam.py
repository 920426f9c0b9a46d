"""Adam over stacked parameters, each copy with its own learning rate.

One pass over memory on a GPU (a Triton kernel), plain tensor operations elsewhere; both are
compared with `torch.optim.Adam` in the tests. No weight decay: the protocols have none.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from protofit.bench.fleet.weights import StackedWeights

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8


class StackedAdam:
    """m, v and the step count of all copies."""

    def __init__(self, weights: StackedWeights, rates: Tensor, *, fast: bool = False) -> None:
        self.weights = weights
        self.rates = rates  # (R,)
        self.count = torch.zeros((), device=rates.device)  # steps taken
        self.mean = {name: torch.zeros_like(value) for name, value in weights.master.items()}
        self.square = {name: torch.zeros_like(value) for name, value in weights.master.items()}
        self._kernel = _triton_kernel() if fast else None

    @torch.no_grad()
    def reset(self, rates: Tensor) -> None:
        """Forget everything, in place."""
        self.rates.copy_(rates)
        self.count.zero_()
        for store in (self.mean, self.square):
            for value in store.values():
                value.zero_()

    @torch.no_grad()
    def step(self) -> None:
        """Take one step with the gradients of the leaves."""
        self.count.add_(1)
        for name, leaf in self.weights.leaves.items():
            if leaf.grad is None:
                raise RuntimeError(f"{name} has no gradient")
            self._update(name, leaf.grad)

    def _update(self, name: str, gradient: Tensor) -> None:
        master, low = self.weights.master[name], self.weights.twin(name)
        mean, square = self.mean[name], self.square[name]
        if self._kernel is not None:
            self._kernel(master, low, gradient.contiguous(), mean, square, self.rates, self.count)
            return
        gradient = gradient.float()
        mean.lerp_(gradient, 1 - BETA1)
        square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        first = 1 - BETA1**self.count
        second = 1 - BETA2**self.count
        rate = self.rates.view(-1, *[1] * (master.ndim - 1)) / first
        master.sub_(rate * mean / ((square / second).sqrt() + EPS))
        if low is not None:
            low.copy_(master)


def _triton_kernel() -> Any:
    from protofit.bench.fleet.adam_kernel import launch

    return launch
