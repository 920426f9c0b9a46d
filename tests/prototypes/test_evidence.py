"""Shares of a prediction against loops over one text at a time."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from protofit.prototypes.evidence import additive_shares, closest_shares, mixture_shares
from reference import evidence as reference

SIZES = st.tuples(st.integers(1, 4), st.integers(2, 6), st.integers(2, 4))
SEEDS = st.integers(0, 2**32 - 1)


def close(got: torch.Tensor, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-9, atol=1e-12)


@given(SIZES, SEEDS, st.sampled_from([1.0, 10.0, 100.0]))
def test_mixture(sizes: tuple[int, int, int], seed: int, scale: float) -> None:
    size, count, classes = sizes
    draw = np.random.default_rng(seed)
    energies, outputs = draw.normal(0, scale, (size, count)), draw.random((count, classes))
    got = mixture_shares(torch.from_numpy(energies), torch.from_numpy(outputs))
    for i in range(size):
        share, without = reference.mixture(energies[i], outputs)
        close(got.share[i], share)
        close(got.without[i], without)
    close(got.importance.sum(dim=1), np.ones(size))


def test_the_largest_prototype_is_removed_without_losing_digits() -> None:
    energies = torch.tensor([[0.0, -60.0, -61.0]], dtype=torch.float64)
    outputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    got = mixture_shares(energies, outputs).without[0, 0]
    close(got, np.array([1 / (1 + np.e), np.e / (1 + np.e)]))


def test_without_the_only_prototype_nothing_is_said() -> None:
    got = mixture_shares(torch.zeros(1, 1), torch.ones(1, 2))
    assert got.without.isnan().all()
    assert closest_shares(torch.zeros(1, 1), torch.tensor([0]), 2).without.isnan().all()
    one = torch.ones(1, 1, 2)
    assert additive_shares(one, one[:, :, 0], probabilities=True).without.isnan().all()


@given(SIZES, SEEDS, st.booleans())
def test_closest(sizes: tuple[int, int, int], seed: int, ties: bool) -> None:
    size, count, classes = sizes
    draw = np.random.default_rng(seed)
    scores, labels = draw.normal(0, 2, (size, count)), draw.integers(0, classes, count)
    if ties:
        scores = scores.round()
    got = closest_shares(torch.from_numpy(scores), torch.from_numpy(labels), classes)
    values = draw.normal(0, 1, classes)
    told = closest_shares(
        torch.from_numpy(scores), torch.from_numpy(labels), classes, torch.from_numpy(values)
    )
    for i in range(size):
        share, without = reference.closest(scores[i], labels, classes)
        close(got.share[i], share)
        close(got.without[i], without)
        close(told.share[i, :, 0], share @ values)
        close(told.without[i, :, 0], without @ values)


@given(SIZES, SEEDS)
def test_additive(sizes: tuple[int, int, int], seed: int) -> None:
    size, count, classes = sizes
    draw = np.random.default_rng(seed)
    parts = draw.random((size, count, classes)) * draw.integers(0, 2, classes)
    got = additive_shares(torch.from_numpy(parts), torch.ones(size, count), probabilities=True)
    for i in range(size):
        share, without, base = reference.additive(parts[i])
        close(got.share[i], share)
        close(got.without[i], without)
        close(got.base[i], base)
