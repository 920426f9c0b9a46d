"""A bank of fixed capacity: rows are switched on and off, shapes never change.

Rows are preallocated, so that the optimiser, data-parallel replicas, compiled code and the saved
file always see the same tensors. Nothing here synchronises with the host.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

PARTS = 20  # of a run, for each of which the mean importance is remembered


class PrototypeBank(nn.Module):
    """P rows of: a vector (D), outputs (C class logits, or one value), label, age and use.

    Use comes twice: step by step in a window, for pruning; in equal parts of the run, for reading.
    """

    active: Tensor
    labels: Tensor
    born: Tensor
    window: Tensor
    window_count: Tensor
    span: Tensor
    past: Tensor
    past_count: Tensor

    def __init__(self, capacity: int, dimension: int, outputs: int, window: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.zeros(capacity, dimension))
        self.outputs = nn.Parameter(torch.zeros(capacity, outputs))
        self.register_buffer("active", torch.zeros(capacity, dtype=torch.bool))
        self.register_buffer("labels", torch.zeros(capacity, dtype=torch.long))
        self.register_buffer("born", torch.zeros(capacity, dtype=torch.long))
        self.register_buffer("window", torch.zeros(window, capacity))
        self.register_buffer("window_count", torch.zeros(window))
        self.register_buffer("span", torch.ones((), dtype=torch.long))  # steps of the run
        self.register_buffer("past", torch.zeros(PARTS, capacity))
        self.register_buffer("past_count", torch.zeros(PARTS))

    @property
    def capacity(self) -> int:
        """Rows, active or not."""
        return self.vectors.shape[0]

    @property
    def size(self) -> Tensor:
        """K, the number of active rows, as a tensor ()."""
        return self.active.sum()

    def resize_window(self, length: int) -> None:
        """Forget the statistics and keep `length` steps from now on."""
        self.window = self.window.new_zeros(length, self.capacity)
        self.window_count = self.window_count.new_zeros(length)

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Take the window length of a saved state."""
        saved = state_dict.get(f"{prefix}window")
        if saved is not None and saved.shape != self.window.shape:
            self.resize_window(saved.shape[0])
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    @torch.no_grad()
    def add(
        self, vectors: Tensor, outputs: Tensor, labels: Tensor, chosen: Tensor, step: Tensor
    ) -> Tensor:
        """Put the `chosen` (B,) examples into the lowest free rows, in order → new rows (P,).

        Choices beyond the free rows are dropped.
        """
        free_rank = torch.cumsum(~self.active, 0)
        chosen_rank = torch.cumsum(chosen, 0)
        meets = free_rank.unsqueeze(1) == chosen_rank.unsqueeze(0)
        meets = meets & ~self.active.unsqueeze(1) & chosen.unsqueeze(0)
        new = meets.any(dim=1)
        source = meets.to(torch.uint8).argmax(dim=1)
        rows = new.unsqueeze(1)
        self.vectors.copy_(torch.where(rows, vectors[source].to(self.vectors.dtype), self.vectors))
        self.outputs.copy_(torch.where(rows, outputs[source].to(self.outputs.dtype), self.outputs))
        self.labels.copy_(torch.where(new, labels[source], self.labels))
        self.born.copy_(torch.where(new, step, self.born))
        self.window.masked_fill_(new.unsqueeze(0), 0)
        self.past.masked_fill_(new.unsqueeze(0), 0)
        self.active.logical_or_(new)
        return new

    @torch.no_grad()
    def remove(self, rows: Tensor) -> None:
        """Switch off the rows (P,) of a mask and clear what they held."""
        column = rows.unsqueeze(1)
        self.vectors.masked_fill_(column, 0)
        self.outputs.masked_fill_(column, 0)
        self.labels.masked_fill_(rows, 0)
        self.born.masked_fill_(rows, 0)
        self.window.masked_fill_(rows.unsqueeze(0), 0)
        self.past.masked_fill_(rows.unsqueeze(0), 0)
        self.active.logical_and_(~rows)

    @torch.no_grad()
    def record(self, importance: Tensor, step: Tensor) -> None:
        """Add a batch-mean importance (P,) to the window slot and the part of the run of `step`."""
        slot = torch.remainder(step, self.window.shape[0]).view(1)
        part = ((step - 1) * PARTS).div(self.span, rounding_mode="floor").clamp(0, PARTS - 1)
        one, row = self.window_count.new_ones(1), importance.to(self.window.dtype).unsqueeze(0)
        self.window.index_add_(0, slot, row)
        self.window_count.index_add_(0, slot, one)
        self.past.index_add_(0, part.view(1), row)
        self.past_count.index_add_(0, part.view(1), one)

    @torch.no_grad()
    def open_slot(self, step: Tensor) -> None:
        """Empty the window slot that `step` is going to fill."""
        slot = torch.remainder(step, self.window.shape[0]).view(1)
        self.window.index_fill_(0, slot, 0)
        self.window_count.index_fill_(0, slot, 0)
