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


def cohesion(log_z: Tensor, own: Tensor) -> Tensor:
    """−log(max_k z_ik / Σ_k z_ik) over the rows k of the example's class: (B, K), (B, K) → (B,).

    0 where the class has one row: the smaller, the more a text belongs to one prototype.
    """
    mine = log_z.masked_fill(~own, torch.finfo(log_z.dtype).min)
    return torch.where(own.any(dim=1), torch.logsumexp(mine, dim=1) - mine.amax(dim=1), 0)
