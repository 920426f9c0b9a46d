"""Several prototypes in a class: where they start, and what keeps a text with one of them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

TEXTS_PER_GROUP = 4  # a class is not cut finer than into groups of so many texts on average
TRIES = 4  # k-means is begun so often; the best is kept


def class_groups(
    features: Tensor, labels: Tensor, classes: int, most: int, generator: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """k-means inside each class: (n, D), (n,) → group of each example (n,), class of each group.

    At most `most` groups in a class. One thread, so that the same digits come out again.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    points, own = features.double().cpu().numpy(), labels.cpu().numpy()
    groups = np.zeros(len(own), np.int64)
    owners: list[int] = []
    for label in range(classes):
        rows = np.flatnonzero(own == label)
        seed = int(generator.integers(2**31))
        if not len(rows):
            continue
        room = min(most, max(1, len(rows) // TEXTS_PER_GROUP))
        count = min(room, len(np.unique(points[rows], axis=0)))
        with threadpool_limits(1):
            found = KMeans(count, n_init=TRIES, random_state=seed).fit_predict(points[rows])
        groups[rows] = len(owners) + found
        owners += [label] * count
    device = labels.device
    return torch.from_numpy(groups).to(device), torch.tensor(owners, device=device)


def nearest_of_class(distances: Tensor, owners: Tensor, classes: int) -> Tensor:
    """Distance to the nearest row of each class, +∞ where it has none: (n, K), (K,) → (n, C)."""
    none = distances.new_full((len(distances), classes), torch.inf)
    return none.scatter_reduce(1, owners.expand_as(distances), distances, "amin")


def cohesion(distances: Tensor, own: Tensor, variance: Tensor) -> Tensor:
    """−log( max_k e^{−d_ik/2σ} / Σ_k e^{−d_ik/2σ} ) over the `own` rows k: (B, K), (B, K) → (B,).

    Near 0 where a text lies much closer to one row of its class than to the others.
    """
    energy = -distances / (2 * variance)
    mine = energy.masked_fill(~own, torch.finfo(energy.dtype).min)
    return torch.where(own.any(dim=1), torch.logsumexp(mine, dim=1) - mine.amax(dim=1), 0)


def group_variance(distances: Tensor, own: Tensor, gap: float) -> float | None:
    """σ at which the energies of the two nearest `own` rows differ by `gap` on average: (n, K).

    None where no example has two.
    """
    nearest = distances.masked_fill(~own, torch.inf).topk(min(2, distances.shape[1]), largest=False)
    first, second = nearest.values[:, 0], nearest.values[:, -1]
    several = second.isfinite() & (own.sum(dim=1) > 1)
    return float((second - first)[several].mean()) / (2 * gap) if bool(several.any()) else None
