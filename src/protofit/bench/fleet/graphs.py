"""A piece of a step: run once as it is, then captured in a CUDA graph and replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def make_pool(device: torch.device) -> Any:
    """Memory that captured pieces may share, as long as they never run between one another."""
    return torch.cuda.graph_pool_handle() if device.type == "cuda" else None


class Captured:
    """Runs a piece: the first time eagerly, the second time captured, then by replay.

    The first, eager run lets optimisers and kernels make what they allocate once.
    """

    def __init__(self, pool: Any) -> None:
        self.pool = pool
        self.runs = 0
        self.graph: Any = None

    def run(self, piece: Callable[[], None]) -> None:
        """The effect of `piece()`, which must be the same piece every time."""
        self.runs += 1
        if self.pool is None or self.runs == 1:
            piece()
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, pool=self.pool):
                piece()
        self.graph.replay()
