"""The whole batch of a step on every data-parallel rank, so that all banks decide alike."""

from __future__ import annotations

import torch
from torch import Tensor, distributed


def gather_batch(
    features: Tensor, labels: Tensor, weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """(B, D), (B,), (B,) → the same over all ranks in rank order, with a mask of real examples.

    Every rank holds the same number of rows; rows of weight 0 fill up and are not real.
    """
    real = torch.ones_like(labels, dtype=torch.bool) if weights is None else weights > 0
    if not (distributed.is_available() and distributed.is_initialized()):
        return features, labels, real
    if distributed.get_world_size() == 1:
        return features, labels, real
    return _all(features), _all(labels), _all(real.to(torch.uint8)).bool()


def _all(tensor: Tensor) -> Tensor:
    parts = [torch.empty_like(tensor) for _ in range(distributed.get_world_size())]
    distributed.all_gather(parts, tensor.contiguous())
    return torch.cat(parts)
