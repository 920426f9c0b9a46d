"""How a prediction divides among prototypes, and what it would be without each of them.

Letters in the shapes: B examples, K active prototypes, D features, C classes (1 in regression).
Everything is computed in float64: shares sum to the prediction to its last float32 digit.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot, softmax

from protofit.prototypes.clusters import class_logits


@dataclass(frozen=True)
class PrototypeSet:
    """The active prototypes of a head."""

    rows: Tensor  # (K,) where each stands in the head
    vectors: Tensor  # (K, D)
    outputs: Tensor  # (K, C) P(y|p_k), or (K, 1) values
    labels: Tensor  # (K,) class, or bin of the targets
    born: Tensor | None = None  # (K,) step of creation, where there is one
    mixture: bool = True  # the prediction is a mean of the outputs; False: a sum of contributions


@dataclass(frozen=True)
class Shares:
    """A prediction P (B, C) divided: share.sum(1) + base = P."""

    importance: Tensor  # (B, K); sums to 1 in a mixture
    share: Tensor  # (B, K, C)
    without: Tensor  # (B, K, C) the prediction of the head without prototype k; NaN if K = 1
    base: Tensor  # (B, C) what belongs to no prototype


def mixture_shares(energies: Tensor, outputs: Tensor) -> Shares:
    """P = Σ_k z_k o_k, z = softmax(energies): (B, K), (K, C).

    share_k = z_k o_k and without_k = (P − z_k o_k) / (1 − z_k); where z_k is the largest, and the
    difference could lose its digits, the softmax of the others is taken instead.
    """
    energies, outputs = energies.double(), outputs.double()
    z = softmax(energies, dim=1)
    share = z.unsqueeze(2) * outputs
    rest = (1 - z).clamp_min(torch.finfo(z.dtype).tiny).unsqueeze(2)
    without = (share.sum(dim=1, keepdim=True) - share) / rest
    top = energies.argmax(dim=1, keepdim=True)
    others = softmax(energies.scatter(1, top, -torch.inf), dim=1) @ outputs
    rows = torch.arange(len(energies), device=energies.device)
    without[rows, top.squeeze(1)] = others
    return Shares(z, share, without, torch.zeros_like(others))


def closest_shares(
    scores: Tensor, labels: Tensor, classes: int, values: Tensor | None = None
) -> Shares:
    """P = softmax over classes of the best score of each: (B, K), (K,).

    The best prototype of class c has the share P_c of it, all others none. With `values` (C,) of
    bins, P becomes ŷ = Σ_c P_c v_c, and a share P_c v_c.
    """
    scores = scores.double()
    count = scores.shape[1]
    every = torch.ones(count, dtype=torch.bool, device=scores.device)
    best = class_logits(scores, labels, every, classes)
    winner = _first_best(scores, best, labels, classes)
    nothing = torch.finfo(scores.dtype).min
    second = class_logits(scores.masked_fill(winner, nothing), labels, every, classes)
    diagonal = torch.eye(classes, dtype=torch.bool, device=scores.device)
    fallen = torch.where(diagonal, second.unsqueeze(1), best.unsqueeze(1))  # (B, fallen class, C)
    probability, changed = softmax(best, dim=1), softmax(fallen, dim=2)
    importance = probability[:, labels] * winner
    share = importance.unsqueeze(2) * one_hot(labels, classes)
    without = torch.where(winner.unsqueeze(2), changed[:, labels], probability.unsqueeze(1))
    if count == 1:
        without = torch.full_like(without, torch.nan)
    if values is not None:
        column = values.double().unsqueeze(1)
        share, without = share @ column, without @ column
    return Shares(importance, share, without, torch.zeros_like(share[:, 0]))


def _first_best(scores: Tensor, best: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The first prototype of each class that attains the best score of it: mask (B, K)."""
    count = scores.shape[1]
    place = torch.arange(count, device=scores.device).expand_as(scores)
    attains = scores == best[:, labels]
    first = place.new_full((len(scores), classes), count)
    first = first.scatter_reduce(
        1, labels.expand_as(place), torch.where(attains, place, count), "amin"
    )
    return place == first[:, labels]


def additive_shares(contributions: Tensor, importance: Tensor, *, probabilities: bool) -> Shares:
    """logits (or the value) = Σ_k contributions_k: (B, K, C), importance (B, K).

    Of a probability, which is not additive, the share is P_c contribution_kc / Σ_k contribution_kc:
    contributions are not negative there. A class to which none contributes has P_c as base.
    """
    contributions, importance = contributions.double(), importance.double()
    total = contributions.sum(dim=1)
    without = total.unsqueeze(1) - contributions
    if contributions.shape[1] == 1:
        without = torch.full_like(without, torch.nan)
    if not probabilities:
        return Shares(importance, contributions, without, torch.zeros_like(total))
    probability = softmax(total, dim=1)
    some = total > 0
    parts = contributions / torch.where(some, total, 1).unsqueeze(1)
    share = probability.unsqueeze(1) * parts * some.unsqueeze(1)
    base = probability.masked_fill(some, 0)
    return Shares(importance, share, softmax(without, dim=2), base)
