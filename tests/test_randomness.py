"""Named streams: the same name gives the same numbers, another name gives others."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.randomness import generator, stream_seed

Name = tuple[int, str, int]
names = st.tuples(
    st.integers(0, 2**32 - 1), st.sampled_from(["order", "start", "slice"]), st.integers(0, 99)
)


def first(name: Name) -> list[int]:
    return generator(*name).integers(0, 2**62, 4).tolist()


@settings(max_examples=60, deadline=None)
@given(names, names)
def test_streams_are_equal_exactly_if_their_names_are(one: Name, other: Name) -> None:
    assert first(one) == first(one)
    assert stream_seed(*one) == stream_seed(*one)
    assert (first(one) == first(other)) == (one == other)
    assert (stream_seed(*one) == stream_seed(*other)) == (one == other)


def test_steps_forward_passes_and_ranks_have_their_own_seeds() -> None:
    seeds = {
        stream_seed(0, "dropout", step, micro, rank)
        for step in range(20)
        for micro in range(4)
        for rank in range(4)
    }
    assert len(seeds) == 20 * 4 * 4


@settings(max_examples=60, deadline=None)
@given(st.integers(-(2**63), 2**64 - 1))
def test_any_seed_gives_a_seed_that_torch_takes(seed: int) -> None:
    value = stream_seed(seed, "start")
    assert 0 <= value < 2**63
    torch.Generator().manual_seed(value)
    assert 0 <= generator(seed, "start").random() < 1


@pytest.mark.parametrize(
    ("seed", "drawn", "number"),
    [(0, 0.8282439115167137, 7995681063689437413), (1, 0.29258448812026094, 2415393479751361416)],
)
def test_the_numbers_are_those_of_earlier_versions(seed: int, drawn: float, number: int) -> None:
    assert generator(seed, "order", 3).random() == drawn
    assert stream_seed(seed, "order", 3) == number


def numpy_state() -> list[int]:
    return np.random.get_state()[1].tolist()  # type: ignore[index]


def test_nothing_global_is_touched() -> None:
    before = random.getstate(), numpy_state(), torch.get_rng_state()
    generator(5, "order", 1).permutation(10)
    stream_seed(5, "dropout", 1)
    assert random.getstate() == before[0]
    assert numpy_state() == before[1]
    assert torch.equal(torch.get_rng_state(), before[2])
