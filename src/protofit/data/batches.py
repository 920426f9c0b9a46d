"""The order of a training epoch: a pure function of (lengths, seed, epoch)."""

from __future__ import annotations

import numpy as np

from protofit.randomness import generator

MIN_BUCKETS = 4


def epoch_batches(
    lengths: np.ndarray, batch_size: int, seed: int, epoch: int, bucket_batches: int
) -> list[np.ndarray]:
    """Every row once, in shuffled batches of similar length.

    Rows are shuffled, cut into buckets of `bucket_batches` batches, sorted by length inside a
    bucket, cut into batches, and the batches are shuffled. An epoch has at least
    `MIN_BUCKETS` buckets: in fewer, the same texts would meet in every epoch.
    """
    draw = generator(seed, "order", epoch)
    rows = draw.permutation(len(lengths))
    bucket_batches = batches_of_bucket(len(rows), batch_size, bucket_batches)
    bucket = batch_size * bucket_batches
    batches: list[np.ndarray] = []
    for start in range(0, len(rows), bucket):
        part = rows[start : start + bucket]
        if bucket_batches > 1:
            part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + batch_size] for i in range(0, len(part), batch_size)]
    if bucket_batches == 1:
        return batches
    return [batches[i] for i in draw.permutation(len(batches))]


def batches_of_bucket(examples: int, batch_size: int, most: int) -> int:
    """Batches that are sorted by length together; 1: none are sorted."""
    return max(1, min(most, examples // (batch_size * MIN_BUCKETS)))


def rank_share(rows: np.ndarray, rank: int, world: int) -> tuple[np.ndarray, np.ndarray]:
    """This rank's rows of a global batch, with a mask of the real ones.

    Every rank gets the same number of rows: the last ones are filled up with repeats that are
    not real.
    """
    each = -(-len(rows) // world)
    filled = np.resize(rows, each * world)
    real = np.arange(each * world) < len(rows)
    mine = slice(rank * each, (rank + 1) * each)
    return filled[mine], real[mine]


def split_slice(
    strata: np.ndarray | None, count: int, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Indices (kept, held back): a stratified slice of `share`; no class loses its last example."""
    draw = generator(seed, "slice")
    order = draw.permutation(count)
    if strata is None:
        held = order[: round(share * count)]
    else:
        parts = []
        for label in np.unique(strata):
            members = order[strata[order] == label]
            parts.append(members[: min(round(share * len(members)), len(members) - 1)])
        held = np.concatenate(parts)
    mask = np.zeros(count, dtype=bool)
    mask[held] = True
    return np.flatnonzero(~mask), np.flatnonzero(mask)
