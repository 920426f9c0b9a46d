"""Stacked weights, their optimiser and the captured encoder step of every packed length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit.bench.fleet.adam import StackedAdam
from protofit.bench.fleet.encoder import StackedEncoder
from protofit.bench.fleet.graphs import Captured, make_pool
from protofit.bench.fleet.texts import DeviceTexts, packed_length
from protofit.bench.fleet.weights import EncoderShape, StackedWeights

EVALUATION = 128  # texts a member and pass where no gradient is needed


class Fleet:
    """What R runs share: the stacked encoder on the texts of one task."""

    def __init__(
        self,
        shape: EncoderShape,
        base: dict[str, Tensor],
        texts: DeviceTexts,
        copies: int,
        batch: int,
        low: torch.dtype,
        *,
        fast: bool = False,
    ) -> None:
        """`fast`: with compiled and own kernels, and captured in graphs; for GPUs."""
        self.texts = texts
        self.device = texts.ids.device
        self.fast = fast
        self.encoder = StackedEncoder(shape, fast=fast)
        self.weights = StackedWeights(base, copies, low)
        self.adam = StackedAdam(self.weights, torch.zeros(copies, device=self.device), fast=fast)
        self.skip = torch.zeros(copies, device=self.device)
        self.rows = torch.zeros(copies, batch, dtype=torch.long, device=self.device)
        self.features = torch.zeros(copies, batch, shape.dimension, device=self.device)
        self.gradient = torch.zeros_like(self.features)
        self._pool = self.make_pool()
        self._forwards: dict[int, Captured] = {}
        self._backwards: dict[int, Captured] = {}
        self._live: Tensor | None = None

    @property
    def copies(self) -> int:
        """R, the number of runs side by side."""
        return self.weights.copies

    def make_pool(self) -> Any:
        """Memory for what is captured; None where nothing is."""
        return make_pool(self.device) if self.fast else None

    def reset(self, rates: Sequence[float], skip: Sequence[bool]) -> None:
        """Pretrained weights, a fresh optimiser, these learning rates."""
        self.weights.reset()
        self.adam.reset(torch.tensor(rates, device=self.device))
        self.skip.copy_(torch.tensor(skip, dtype=torch.float32))

    def forward(self, length: int) -> None:
        """`rows` → `features`, in training mode."""
        self._forwards.setdefault(length, Captured(self._pool)).run(lambda: self._encode(length))

    def backward(self, length: int) -> None:
        """`gradient` of the features → one optimiser step."""
        self._backwards.setdefault(length, Captured(self._pool)).run(self._update)

    def _encode(self, length: int) -> None:
        batch = self.texts.pack(self.rows, length)
        self._live = self.encoder(self.weights.leaves, batch, self.skip, training=True)
        self.features.copy_(self._live.detach())

    def _update(self) -> None:
        for leaf in self.weights.leaves.values():
            leaf.grad = None
        if self._live is None:
            raise RuntimeError("backward without forward")
        self._live.backward(self.gradient)  # type: ignore[no-untyped-call]
        self._live = None
        self.adam.step()

    @torch.no_grad()
    def embed(self, rows: Sequence[np.ndarray]) -> list[Tensor]:
        """Evaluation-mode features of each run's own rows (n_r,), in their order: (n_r, D)."""
        longest = max(len(part) for part in rows)
        filled = np.stack([_fill(part, longest) for part in rows])
        order = np.argsort(self.texts.widths[filled], axis=1, kind="stable")
        ranked = np.take_along_axis(filled, order, axis=1)
        found = torch.zeros(*filled.shape, self.features.shape[2], device=self.device)
        weights = self.weights.detached(self.copies)  # as in the other evaluation: one compilation
        for start in range(0, longest, EVALUATION):
            part = ranked[:, start : start + EVALUATION]
            length = packed_length(int(self.texts.widths[part].sum(axis=1).max()))
            batch = self.texts.pack(torch.from_numpy(part).to(self.device), length)
            features = self.encoder(weights, batch, self.skip, training=False)
            place = torch.from_numpy(order[:, start : start + EVALUATION]).to(self.device)
            found.scatter_(1, place.unsqueeze(2).expand_as(features), features.float())
        return [found[r, : len(part)] for r, part in enumerate(rows)]


def _fill(rows: np.ndarray, length: int) -> np.ndarray:
    return np.resize(rows, length) if len(rows) else np.zeros(length, np.int64)
