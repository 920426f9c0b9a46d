"""The optimiser: Adam or AdamW, two learning rates, rows that can be recycled, flat state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from protofit.config.train import TrainConfig


def build_optimiser(model: Any, config: TrainConfig) -> torch.optim.Optimizer:
    """Fused Adam over encoder matrices (decayed), encoder vectors and the head (never decayed)."""
    encoder = [p for p in model.encoder.parameters() if p.requires_grad]
    head = [p for p in model.head.parameters() if p.requires_grad]
    head_rate = config.head_learning_rate or config.learning_rate
    rates = (config.learning_rate, config.learning_rate, head_rate)
    decays = (config.weight_decay, 0.0, 0.0)
    parts = ([p for p in encoder if p.ndim > 1], [p for p in encoder if p.ndim <= 1], head)
    groups = [
        {"params": params, "lr": rate, "peak": rate, "weight_decay": decay}
        for params, rate, decay in zip(parts, rates, decays, strict=True)
        if params
    ]
    kind = torch.optim.AdamW if config.weight_decay else torch.optim.Adam
    fused = all(p.device.type in ("cpu", "cuda") for p in encoder + head)
    return kind(groups, fused=fused or None)


def set_rates(optimiser: torch.optim.Optimizer, factor: float) -> None:
    """Learning rate of every group: `factor` of its peak."""
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * factor


@torch.no_grad()
def zero_rows(optimiser: torch.optim.Optimizer, parameter: nn.Parameter, rows: Tensor) -> None:
    """Forget the moments of the rows (P,) of a mask."""
    for value in optimiser.state.get(parameter, {}).values():
        if isinstance(value, Tensor) and value.shape == parameter.shape:
            value.masked_fill_(rows.view(-1, *[1] * (parameter.ndim - 1)), 0)


def flat_state(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Optimiser state as one plain tensor dictionary: `<index>.<name>` → tensor."""
    state = optimiser.state_dict()["state"]
    return {
        f"{index}.{name}": torch.as_tensor(value)
        for index, values in state.items()
        for name, value in values.items()
    }


def load_flat_state(optimiser: torch.optim.Optimizer, flat: dict[str, Tensor]) -> None:
    """Put back what `flat_state` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in flat.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
