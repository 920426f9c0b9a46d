"""An episode: a batch of which one half makes the prototypes and the other half is classified."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from protofit.prototypes.clusters import (
    SMALLEST_WEIGHT,
    Rule,
    far_from_class,
    membership,
    responsibilities,
    weighted_means,
)
from protofit.prototypes.create import sequential
from protofit.prototypes.functional import base_variance, creation_sqdist, sqdist


@dataclass(frozen=True)
class Clusters:
    """Clusters of every class, and how they came about."""

    vectors: Tensor  # (K, D)
    labels: Tensor  # (K,)
    active: Tensor  # (K,)
    threshold: Tensor  # λ
    rho: Tensor  # ρ
    created: Tensor  # () number made of an example
    deleted: Tensor  # () number left with (almost) no example


def query_mask(groups: Tensor, real: Tensor) -> Tensor:
    """Real examples that are queries (B,): within a class the 1st, 3rd, 5th … of the batch.

    The others are support. The only example of its class is a query, so that it is learned from
    even where most classes have at most one example in a batch.
    """
    position = torch.arange(len(groups), device=groups.device)
    before = (position.unsqueeze(1) > position.unsqueeze(0)) & real.unsqueeze(0)
    same = groups.unsqueeze(1) == groups.unsqueeze(0)
    return real & (torch.remainder((before & same).sum(dim=1), 2) == 0)


def query_weights(query: Tensor, real: Tensor, weights: Tensor | None) -> Tensor:
    """Weights (B,) that turn the mean over a batch into the mean over its queries."""
    share = real.sum() / query.sum().clamp_min(1)
    return query * share if weights is None else query * share * weights


def episode_clusters(
    features: Tensor,
    groups: Tensor,
    support: Tensor,
    remembered: tuple[Tensor, Tensor],
    variance: Tensor,
    rule: Rule,
) -> Clusters:
    """Cluster the support examples of a batch within their classes, in fixed shapes (K = C + B).

    Rows 0..C−1 begin as class means, row C+i belongs to example i. A class without support keeps
    its `remembered` mean (vectors (C, D), known (C,)). Gradients flow through the features alone.
    """
    vectors, known = remembered
    classes = len(known)
    x, variance = features.detach(), variance.detach()
    means, sizes = weighted_means(membership(groups, classes) & support.unsqueeze(1), x)
    present = sizes > 0
    first = torch.where(present.unsqueeze(1), means, vectors)
    rho = base_variance(first, present | known)
    threshold = creation_sqdist(variance, rho, rule.alpha, x.shape[1])
    chosen = _chosen(x, groups, support, first, threshold, first_only=rule.first_only)

    labels = torch.cat([torch.arange(classes, device=groups.device), groups])
    active = torch.cat([present, chosen])
    own = support.unsqueeze(1) & active & (groups.unsqueeze(1) == labels)
    distances = sqdist(x, torch.cat([first, x]))
    shares = responsibilities(distances, own, variance, hard=rule.hard)
    moved, totals = weighted_means(shares, features)
    kept = active & (totals > SMALLEST_WEIGHT)
    absent = known & ~present
    rows = torch.cat([torch.where(absent.unsqueeze(1), vectors, moved[:classes]), moved[classes:]])
    live = kept | torch.cat([absent, torch.zeros_like(chosen)])
    return Clusters(rows, labels, live, threshold, rho, chosen.sum(), (active & ~kept).sum())


def _chosen(
    x: Tensor,
    groups: Tensor,
    support: Tensor,
    first: Tensor,
    threshold: Tensor,
    *,
    first_only: bool,
) -> Tensor:
    """Support examples that become clusters (B,): in batch order, farther than λ from theirs."""
    nearest = sqdist(x, first).gather(1, groups.unsqueeze(1)).squeeze(1)
    nearest = nearest.masked_fill(~support, -1)
    far = nearest > threshold
    if first_only or (x.device.type == "cpu" and not bool(far.any())):
        return far
    return sequential(x, groups, nearest, threshold)


@torch.no_grad()
def cluster_all(
    features: Tensor, groups: Tensor, classes: int, variance: Tensor, rule: Rule, room: int
) -> Clusters:
    """The same on whole training data (N, D), (N,): at most `room` clusters of a class.

    Waits for the device. K is the number of clusters, all of them active.
    """
    means, sizes = weighted_means(membership(groups, classes), features)
    present = (sizes > 0).nonzero().flatten()
    rho = base_variance(means, sizes > 0)
    threshold = creation_sqdist(variance, rho, rule.alpha, features.shape[1])
    vectors, labels = [means[present]], [present]
    for label in present.tolist():
        members = features[groups == label]
        new = far_from_class(members, means[label], threshold, room - 1, first_only=rule.first_only)
        vectors.append(members[new])
        labels.append(torch.full_like(new, label))
    rows, own_class = torch.cat(vectors), torch.cat(labels)
    own = groups.unsqueeze(1) == own_class
    shares = responsibilities(sqdist(features, rows), own, variance, hard=rule.hard)
    moved, totals = weighted_means(shares, features)
    kept = totals > SMALLEST_WEIGHT
    created, deleted = len(rows) - len(present), (~kept).sum()
    return Clusters(
        moved[kept], own_class[kept], kept[kept], threshold, rho,
        torch.full_like(deleted, created), deleted,
    )  # fmt: skip
