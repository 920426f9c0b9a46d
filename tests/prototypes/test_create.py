"""Creation: which examples become prototypes, against the slow reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from helpers.problems import Problem, problems, tensor
from protofit.errors import InputError
from protofit.prototypes.bank import PrototypeBank
from protofit.prototypes.create import CreationConfig, farthest, nearest_own, sequential
from protofit.prototypes.functional import sqdist
from reference import functions as fn

some = settings(max_examples=80, deadline=None)


def nearest_of(problem: Problem) -> Tensor:
    distances = sqdist(tensor(problem.features), tensor(problem.vectors))
    labels, rows = tensor(problem.labels), tensor(problem.rows)
    return nearest_own(distances, labels, tensor(problem.active), rows)


def chosen_by(rule: str, problem: Problem) -> Tensor:
    labels, nearest = tensor(problem.labels), nearest_of(problem)
    level = torch.tensor(problem.level, dtype=torch.float64)
    if rule == "sequential":
        return sequential(tensor(problem.features), labels, nearest, level)
    return farthest(labels, nearest, level)


@some
@given(problems())
def test_nearest_prototype_of_the_own_class(problem: Problem) -> None:
    live, _, rows = problem.live
    expected = [
        fn.nearest_in_class(x, int(y), list(live), rows.tolist())
        for x, y in zip(problem.features, problem.labels, strict=True)
    ]
    np.testing.assert_allclose(nearest_of(problem), expected, rtol=1e-9, atol=1e-9)


def test_a_class_without_prototypes_is_infinitely_far() -> None:
    distance, label = torch.zeros(1, 1), torch.tensor([0])
    one = torch.ones(1, dtype=torch.bool)
    assert nearest_own(distance, label, one, label).item() == 0
    assert nearest_own(distance, label, one, torch.tensor([1])).item() == math.inf
    assert nearest_own(distance, label, ~one, label).item() == math.inf


@pytest.mark.parametrize("level", [0.0, 4.0])
def test_a_distance_of_exactly_the_threshold_is_not_beyond_it(level: float) -> None:
    features = torch.tensor([[level**0.5, 0.0], [level**0.5, 0.0]])
    nearest, labels = torch.full((2,), level), torch.zeros(2, dtype=torch.long)
    assert not sequential(features, labels, nearest, torch.tensor(level)).any()
    assert not farthest(labels, nearest, torch.tensor(level)).any()


def test_an_example_exactly_the_threshold_from_a_new_prototype_is_its_own() -> None:
    features = torch.tensor([[9.0, 0.0], [9.0, 2.0], [9.0, 4.5]])
    nearest, labels = features.square().sum(dim=1), torch.zeros(3, dtype=torch.long)
    chosen = sequential(features, labels, nearest, torch.tensor(4.0))
    assert chosen.tolist() == [True, False, True]


@pytest.mark.parametrize("rule", ["sequential", "farthest"])
@some
@given(problem=problems(), free=st.integers(0, 5))
def test_rules_create_what_the_reference_creates(rule: str, problem: Problem, free: int) -> None:
    live, _, rows = problem.live
    reference = {"sequential": fn.sequential_creation, "farthest": fn.farthest_creation}[rule]
    expected = reference(problem.features, problem.labels, live, rows, problem.level, free)
    bank = PrototypeBank(len(live) + free, problem.features.shape[1], 1, window=1).double()
    zeros = torch.zeros(len(live), 1)
    everyone = torch.ones(len(live), dtype=torch.bool)
    bank.add(tensor(live), zeros, tensor(rows), everyone, torch.tensor(0))
    zeros = torch.zeros(len(problem.labels), 1)
    new = bank.add(
        tensor(problem.features),
        zeros,
        tensor(problem.labels),
        chosen_by(rule, problem),
        torch.tensor(1),
    )
    np.testing.assert_array_equal(bank.vectors[new].detach(), problem.features[expected])
    np.testing.assert_array_equal(bank.labels[new], problem.labels[expected])


@some
@given(problems())
def test_sequential_is_maximal_and_free_of_conflict(problem: Problem) -> None:
    chosen = chosen_by("sequential", problem)
    candidate = nearest_of(problem) > problem.level
    features, labels = tensor(problem.features), tensor(problem.labels)
    conflict = (sqdist(features, features) <= problem.level) & (labels[:, None] == labels[None])
    conflict.fill_diagonal_(fill_value=False)
    assert not (chosen & ~candidate).any()
    assert not (conflict & chosen[:, None] & chosen[None]).any()
    assert bool((chosen | ~candidate | (conflict & chosen[None]).any(dim=1)).all())


@some
@given(problems())
def test_farthest_takes_one_of_each_class_that_has_a_candidate(problem: Problem) -> None:
    chosen = chosen_by("farthest", problem).numpy()
    nearest = nearest_of(problem).numpy()
    for label in np.unique(problem.labels):
        own = problem.labels == label
        assert chosen[own].sum() == (nearest[own] > problem.level).any()
        if chosen[own].any():
            assert nearest[own & chosen].item() == nearest[own].max()


@pytest.mark.parametrize("rule", ["sequential", "farthest"])
def test_equal_examples_create_once_and_the_first_wins(rule: str) -> None:
    problem = Problem(
        features=np.ones((3, 2)),
        labels=np.zeros(3, dtype=np.int64),
        vectors=np.zeros((1, 2)),
        logits=np.zeros((1, 2)),
        rows=np.array([0]),
        active=np.array([True]),
        variance=1.0,
        level=0.5,
    )
    assert chosen_by(rule, problem).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("capacity", "classes", "rows"),
    [(None, 2, 100), (None, 50, 100), (None, 77, 154), (30, 4, 30), (3, 7, 7)],
)
def test_rows_of_the_bank(capacity: int | None, classes: int, rows: int) -> None:
    assert CreationConfig(capacity=capacity).rows(classes) == rows


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rule", "random"),
        ("alpha", 0.0),
        ("alpha", math.nan),
        ("start_share", -0.1),
        ("stop_share", 1.1),
        ("capacity", 0),
    ],
)
def test_a_setting_out_of_range_is_named(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"head.creation.{name} is") as caught:
        CreationConfig(**{name: value})  # type: ignore[arg-type]
    assert caught.value.fix.startswith(("Give", "Choose"))


def test_creation_cannot_stop_before_it_starts() -> None:
    with pytest.raises(InputError, match=r"head\.creation\.stop_share is"):
        CreationConfig(start_share=0.3, stop_share=0.2)
    assert CreationConfig(start_share=0.3, stop_share=0.3).rule == "sequential"
