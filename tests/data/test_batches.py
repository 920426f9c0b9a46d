"""The order of an epoch, the share of a rank, the slice held back: pure functions of the seed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.config.train import TrainConfig
from protofit.data.batches import batches_of_bucket, epoch_batches, rank_share, split_slice
from protofit.training.plan import make_plan

some = settings(max_examples=100, deadline=None)
seeds = st.integers(0, 2**32)


def lengths_of(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(3, 100, count)


@some
@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 60), seeds, st.integers(0, 9))
def test_every_row_exactly_once_per_epoch(
    count: int, size: int, bucket: int, seed: int, epoch: int
) -> None:
    batches = epoch_batches(lengths_of(count, seed), size, seed, epoch, bucket)
    assert sorted(np.concatenate(batches).tolist()) == list(range(count))
    assert len(batches) == make_plan(count, TrainConfig(batch_size=size)).batches_per_epoch
    assert sorted({len(batch) for batch in batches} - {size}) == [count % size] * (count % size > 0)


@some
@given(st.integers(20, 200), st.integers(1, 8), st.integers(1, 60), seeds, st.integers(0, 9))
def test_seed_and_epoch_decide_the_order(
    count: int, size: int, bucket: int, seed: int, epoch: int
) -> None:
    def order(seed: int, epoch: int) -> list[int]:
        lengths = lengths_of(count, 0)
        return np.concatenate(epoch_batches(lengths, size, seed, epoch, bucket)).tolist()

    assert order(seed, epoch) == order(seed, epoch)
    assert order(seed, epoch) != order(seed, epoch + 1)
    assert order(seed, epoch) != order(seed + 1, epoch)


def padding(batches: list[np.ndarray], lengths: np.ndarray) -> int:
    return sum(int(lengths[b].max()) * len(b) - int(lengths[b].sum()) for b in batches)


def test_buckets_save_padding_and_keep_mixing() -> None:
    lengths = lengths_of(2000, 1)
    plain = epoch_batches(lengths, 8, 0, 0, 1)
    sorted_inside = epoch_batches(lengths, 8, 0, 0, 16)
    assert padding(sorted_inside, lengths) < 0.3 * padding(plain, lengths)
    partners = [
        next(set(b.tolist()) for b in epoch_batches(lengths, 8, 0, epoch, 16) if 7 in b)
        for epoch in range(5)
    ]
    assert len(set.union(*partners)) > 20


def test_small_data_is_mixed_in_spite_of_buckets() -> None:
    lengths = np.arange(40)
    partners = [
        next(set(b.tolist()) for b in epoch_batches(lengths, 8, 0, epoch, 50) if 0 in b)
        for epoch in range(8)
    ]
    assert len(set.union(*partners)) > 25


@pytest.mark.parametrize(
    ("examples", "batches"), [(1, 1), (255, 1), (256, 2), (1023, 7), (2048, 16), (10**6, 16)]
)
def test_a_bucket_is_at_most_a_quarter_of_the_data(examples: int, batches: int) -> None:
    assert batches_of_bucket(examples, 32, 16) == batches


def test_batches_come_in_no_order_of_length() -> None:
    lengths = lengths_of(800, 2)
    means = [lengths[batch].mean() for batch in epoch_batches(lengths, 8, 0, 0, 25)]
    assert 0.3 < (np.diff(means) > 0).mean() < 0.7


@some
@given(st.integers(1, 50), st.sampled_from([1, 2, 3, 4, 8]), seeds)
def test_ranks_share_a_batch_evenly_and_flag_what_repeats(
    count: int, world: int, seed: int
) -> None:
    rows = np.random.default_rng(seed).permutation(1000)[:count]
    shares = [rank_share(rows, rank, world) for rank in range(world)]
    assert {len(mine) for mine, _ in shares} == {math.ceil(count / world)}
    assert all(len(mine) == len(real) for mine, real in shares)
    kept = np.concatenate([mine[real] for mine, real in shares])
    np.testing.assert_array_equal(kept, rows)
    repeats = np.concatenate([mine[~real] for mine, real in shares])
    assert set(repeats) <= set(rows)
    assert len(repeats) == -count % world


def test_one_rank_has_everything() -> None:
    mine, real = rank_share(np.array([3, 1, 2]), 0, 1)
    assert mine.tolist() == [3, 1, 2]
    assert real.all()


labels = st.lists(st.integers(0, 4), min_size=1, max_size=80)
shares = st.sampled_from([0.0, 0.1, 0.25, 0.5])


@some
@given(labels, shares | st.just(0.9), seeds)
def test_a_slice_is_stratified_and_empties_no_class(
    values: list[int], share: float, seed: int
) -> None:
    strata = np.array(values)
    kept, held = split_slice(strata, len(strata), share, seed)
    assert sorted([*kept.tolist(), *held.tolist()]) == list(range(len(strata)))
    assert set(strata[kept]) == set(values)
    for label in set(values):
        members = int((strata == label).sum())
        taken = int((strata[held] == label).sum())
        assert taken == min(round(share * members), members - 1)
    again = split_slice(strata, len(strata), share, seed)
    assert all((a == b).all() for a, b in zip((kept, held), again, strict=True))


@some
@given(st.integers(1, 100), shares, seeds)
def test_a_slice_without_classes(count: int, share: float, seed: int) -> None:
    kept, held = split_slice(None, count, share, seed)
    assert sorted([*kept.tolist(), *held.tolist()]) == list(range(count))
    assert len(held) == round(share * count)
    assert len(kept) > 0


@pytest.mark.parametrize("strata", [None, np.arange(60) % 3])
def test_the_seed_decides_the_slice(strata: np.ndarray | None) -> None:
    first, other = (split_slice(strata, 60, 0.25, seed)[1].tolist() for seed in (0, 1))
    assert first != other
    assert len(first) == len(other)
