"""BSS: a linear head, and a penalty on the smallest singular values of the batch of features.

Batch Spectral Shrinkage (Chen et al., NeurIPS-19) rests on the observation that the directions of
small singular values carry what does not transfer, and shrinks them while it fine-tunes.

    F = features of the batch (B, D), with singular values s_1 ≥ s_2 ≥ … ≥ s_min(B, D)
    L = L0 + η Σ_{i=1..k} s_{−i}²          s_{−i}: the i-th smallest;  k = 1, η = 0.001

L0 is the cross-entropy of a linear head with dropout; F is taken before dropout. The gradient of
s_{−i}² is 2 u u^T F, with u the left singular vector.

Deviations:
- u is the limit of squaring I − F F^T / tr(F F^T) in float64, a fixed number of times. It needs no
  decomposition that waits for the device, and repeated singular values give a finite gradient.
  The penalty itself is ‖F^T u‖².
- There is no penalty where the batch has no more than k examples: it would be on their norms.
- Examples of weight 0 are not in the batch. Data-parallel processes have a spectrum each.
- Features are pooled token states; there is no pooler layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from protofit.config.checks import at_least
from protofit.methods.raw import Raw, RawConfig

SQUARINGS = 45  # of a matrix with largest eigenvalue ≤ 1: tells apart what float64 can


@dataclass(frozen=True)
class BSSConfig(RawConfig):
    """Settings of the linear head and of the penalty."""

    weight: float = 1e-3  # η
    count: int = 1  # k, smallest singular values that are penalised

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("head.weight", self.weight, 0)
        at_least("head.count", self.count, 1)


class BSS(Raw):
    """L = L0 + η Σ s_{−i}²."""

    config_class = BSSConfig
    config: BSSConfig

    def extra_terms(
        self, features: Tensor, labels: Tensor, weights: Tensor | None
    ) -> dict[str, Tensor]:
        """The penalty, where the batch is large enough."""
        terms = super().extra_terms(features, labels, weights)
        if self.config.weight and len(features) > self.config.count:
            present = None if weights is None else weights > 0
            value = smallest_singular_squares(features, self.config.count, present)
            terms["spectrum"] = self.config.weight * value.to(features.dtype)
        return terms


def smallest_singular_squares(
    features: Tensor, count: int, present: Tensor | None = None
) -> Tensor:
    """Σ of the `count` smallest squared singular values of the rows `present` of (B, D) → ().

    Nothing where no more than `count` rows are present.
    """
    wide = features if features.device.type == "mps" else features.double()
    if present is None:
        present = torch.ones(len(wide), dtype=torch.bool, device=wide.device)
    wide = wide * present.unsqueeze(1)
    tall = wide.shape[0] > wide.shape[1]
    sides = wide.T if tall else wide  # (n, m) with n ≤ m: every eigenvalue of the Gram counts
    absent = torch.zeros_like(sides[:, 0]) if tall else (~present).to(wide.dtype)
    gram = sides.detach() @ sides.detach().T
    bound = gram.trace().clamp_min(torch.finfo(wide.dtype).tiny)
    gram = gram + torch.diag(absent * bound)
    total = wide.new_zeros(())
    for _ in range(min(count, len(sides))):
        vector = smallest_eigenvector(gram, bound)
        total = total + (vector @ sides).square().sum()
        gram = gram + bound * torch.outer(vector, vector)
    return total * (present.sum() > count)


def smallest_eigenvector(gram: Tensor, bound: Tensor) -> Tensor:
    """Unit vector u (n,) with least u^T G u, of a symmetric G with eigenvalues ≥ 0.

    (I − G/2b)^(2^s) tends to the projection onto the eigenspace; its longest column lies in it.
    `bound` is at least half of the largest eigenvalue.
    """
    power = torch.eye(len(gram), dtype=gram.dtype, device=gram.device) - gram / (2 * bound)
    for _ in range(SQUARINGS):
        power = power @ power
        power = power / power.diagonal().max()
    longest = power.diagonal().argmax().unsqueeze(0)
    return normalize(power.index_select(1, longest).squeeze(1), dim=0)
