"""Class means of an encoder that moves: remembered over the batches, or computed exactly."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from protofit.prototypes.clusters import membership, weighted_means


class ClassMemory(nn.Module):
    """An exponential moving average per class, counted in examples of the class.

    m_c ← γ^n m_c + (1 − γ^n) · mean of its n new examples: how far back it reaches does not
    depend on the batch size or on how many classes share a batch. `look` only notes the examples
    of a step, `fold` moves the means after it, so that no example is compared with itself.
    """

    means: Tensor
    known: Tensor
    sums: Tensor
    counts: Tensor

    def __init__(self, classes: int, dimension: int) -> None:
        super().__init__()
        self.register_buffer("means", torch.zeros(classes, dimension))
        self.register_buffer("known", torch.zeros(classes, dtype=torch.bool))
        self.register_buffer("sums", torch.zeros(classes, dimension))
        self.register_buffer("counts", torch.zeros(classes))

    @torch.no_grad()
    def set(self, features: Tensor, groups: Tensor) -> None:
        """Exact means of (N, D), (N,); classes without an example keep theirs."""
        means, sizes = weighted_means(self._members(features, groups), features)
        self._replace(means, sizes > 0)
        self.forget()

    @torch.no_grad()
    def look(self, features: Tensor, groups: Tensor, real: Tensor) -> None:
        """Note the real examples of a batch."""
        member = self._members(features, groups) * real.unsqueeze(1)
        means, sizes = weighted_means(member, features)
        self.sums.add_(means * sizes.unsqueeze(1))
        self.counts.add_(sizes)

    @torch.no_grad()
    def fold(self, momentum: float) -> None:
        """Move the means towards what was noted since the last call."""
        fresh = self.sums / self.counts.clamp_min(1).unsqueeze(1)
        kept = (self.known * momentum**self.counts).unsqueeze(1)
        self._replace(torch.lerp(fresh, self.means, kept), self.counts > 0)
        self.forget()

    def forget(self) -> None:
        """Drop what was noted."""
        self.sums.zero_()
        self.counts.zero_()

    def _replace(self, means: Tensor, rows: Tensor) -> None:
        self.means.copy_(torch.where(rows.unsqueeze(1), means, self.means))
        self.known.logical_or_(rows)

    def _members(self, features: Tensor, groups: Tensor) -> Tensor:
        return membership(groups, len(self.known)).to(features.dtype)
