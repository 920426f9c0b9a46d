"""Prototypes that go with their texts: together with their class, and each to its own."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from protofit.config.checks import within
from protofit.prototypes.clusters import responsibilities, weighted_means


@dataclass(frozen=True)
class FollowConfig:
    """How far prototypes go with each text of a batch, beside what the gradient does."""

    together: float = 0.0  # share of the way that all of a class go with each of its texts
    own: float = 0.0  # share of the way that a prototype goes to each text it is the nearest of

    def __post_init__(self) -> None:
        within("head.follow.together", self.together, 0, 1)
        within("head.follow.own", self.own, 0, 1)

    @property
    def on(self) -> bool:
        """Whether anything moves."""
        return self.together > 0 or self.own > 0


def followed(
    vectors: Tensor, features: Tensor, own: Tensor, distances: Tensor, config: FollowConfig
) -> Tensor:  # fmt: skip
    """Where the rows (P, D) are after a batch (B, D); `own` (B, P): active rows of a text's class.

    k_i the nearest own row of text i, N_c and N_k the numbers of texts of a class and of a row:
    p_k ← p_k + (1 − (1 − together)^N_c) · mean over texts i of the class of (x_i − p_{k_i}), then
    p_k ← p_k + (1 − (1 − own)^N_k) · mean over texts i with k_i = k of (x_i − p_k).
    """
    nearest = responsibilities(distances, own, distances.new_ones(()), hard=True)
    away = features - nearest @ vectors
    class_of_text = own.to(features.dtype)  # the rows of a class stand for it
    shift, count = weighted_means(class_of_text, away)
    moved = vectors + _share(config.together, count) * shift
    centre, count = weighted_means(nearest, features)
    return moved + _share(config.own, count) * (centre - moved)


def _share(rate: float, count: Tensor) -> Tensor:
    """1 − (1 − rate)^n: as if the texts came one after the other (K,) → (K, 1)."""
    return (1 - (1 - rate) ** count).unsqueeze(1)
