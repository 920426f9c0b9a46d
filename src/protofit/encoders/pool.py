"""From token states to one vector per text."""

from __future__ import annotations

from torch import Tensor

from protofit.prototypes.functional import widened


def mean_pool(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over real tokens, in float32: (B, T, D), (B, T) → (B, D)."""
    weight = mask.unsqueeze(2).to(widened(states).dtype)
    return (widened(states) * weight).sum(dim=1) / weight.sum(dim=1).clamp_min(1)


def cls_pool(states: Tensor, mask: Tensor) -> Tensor:
    """State of the first real token, in float32: (B, T, D), (B, T) → (B, D)."""
    first = mask.to(states.device).int().argmax(dim=1)
    index = first.view(-1, 1, 1).expand(-1, 1, states.shape[2])
    return widened(states).gather(1, index).squeeze(1)


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """Pool by name."""
    return cls_pool(states, mask) if pooling == "cls" else mean_pool(states, mask)
