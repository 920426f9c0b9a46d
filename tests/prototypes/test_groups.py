"""Groups inside classes, the nearest row of a class, and the cohesion term."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.problems import Problem, problems, tensor
from protofit.prototypes.functional import sqdist
from protofit.prototypes.groups import (
    TEXTS_PER_GROUP,
    class_groups,
    cohesion,
    group_variance,
    nearest_of_class,
)
from reference.functions import sqdist as slow_sqdist


def found(features: np.ndarray, labels: list[int], most: int, seed: int = 0) -> tuple:
    groups, owners = class_groups(
        torch.from_numpy(features), torch.tensor(labels), max(labels) + 1, most,
        np.random.default_rng(seed),
    )  # fmt: skip
    return groups.tolist(), owners.tolist()


def test_planted_groups_are_found_inside_each_class() -> None:
    centres = np.array([[0.0, 0], [9, 0], [0, 9], [9, 9]])
    draw = np.random.default_rng(0)
    planted = np.repeat([0, 1, 2, 3], 10)
    features = centres[planted] + draw.normal(0, 0.1, (40, 2))
    labels = [0 if group < 2 else 1 for group in planted]
    groups, owners = found(features, labels, 2)
    assert owners == [0, 0, 1, 1]
    for members in np.split(np.asarray(groups), 4):
        assert len(set(members)) == 1
    assert len(set(groups)) == 4


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 6), st.integers(0, 9))
def test_groups_lie_in_one_class_are_few_and_never_empty(
    labels: list[int], most: int, seed: int
) -> None:
    features = np.random.default_rng(seed).normal(size=(len(labels), 3))
    groups, owners = found(features, labels, most, seed)
    assert (groups, owners) == found(features, labels, most, seed)
    assert set(groups) == set(range(len(owners)))
    assert all(owners[group] == label for group, label in zip(groups, labels, strict=True))
    for label in set(labels):
        size = labels.count(label)
        assert 1 <= owners.count(label) <= min(most, max(1, size // TEXTS_PER_GROUP))


def test_identical_texts_are_one_group() -> None:
    groups, owners = found(np.ones((20, 3)), [0] * 20, 5)
    assert owners == [0]
    assert set(groups) == {0}


@given(problems())
def test_the_nearest_row_of_each_class(problem: Problem) -> None:
    vectors, _, rows = problem.live
    classes = problem.logits.shape[1]
    distances = sqdist(tensor(problem.features), tensor(vectors))
    got = nearest_of_class(distances, tensor(rows), classes)
    for i, x in enumerate(problem.features):
        for c in range(classes):
            own = [slow_sqdist(x, p) for p, row in zip(vectors, rows, strict=True) if row == c]
            np.testing.assert_allclose(got[i, c], min(own, default=math.inf), atol=1e-9)


@given(problems(), st.floats(0.2, 5))
def test_cohesion_is_what_the_equation_says(problem: Problem, variance: float) -> None:
    vectors, _, rows = problem.live
    x = tensor(problem.features)
    labels = torch.arange(len(x)) % problem.logits.shape[1]
    own = labels.unsqueeze(1) == tensor(rows)
    got = cohesion(sqdist(x, tensor(vectors)), own, tensor(variance))
    for i, label in enumerate(labels.tolist()):
        mine = [
            slow_sqdist(problem.features[i], p) / (2 * variance)
            for p, row in zip(vectors, rows, strict=True)
            if row == label
        ]
        expected = math.log(sum(math.exp(min(mine) - e) for e in mine)) if mine else 0
        np.testing.assert_allclose(got[i], expected, atol=1e-9)


def test_cohesion_pulls_a_text_to_its_nearest_row_and_from_the_others() -> None:
    x = torch.tensor([[1.0, 0]], dtype=torch.float64, requires_grad=True)
    rows = torch.tensor([[0.0, 0], [4, 0]], dtype=torch.float64)
    cohesion(sqdist(x, rows), torch.tensor([[True, True]]), torch.tensor(1.0)).sum().backward()
    assert x.grad is not None
    assert x.grad[0, 0] > 0  # downhill is towards the row at 0


@pytest.mark.parametrize("own", [[True, False], [False, False]])
def test_a_class_with_one_row_or_none_asks_nothing(own: list[bool]) -> None:
    distances = torch.tensor([[1.0, 3]], requires_grad=True)
    value = cohesion(distances, torch.tensor([own]), torch.tensor(0.5))
    value.sum().backward()
    assert value.item() == 0
    assert distances.grad is not None
    assert not distances.grad.any()


@given(problems(), st.floats(0.5, 5))
def test_at_the_variance_of_the_groups_the_two_nearest_differ_by_the_gap(
    problem: Problem, gap: float
) -> None:
    vectors, _, rows = problem.live
    labels = torch.arange(len(problem.features)) % problem.logits.shape[1]
    own = labels.unsqueeze(1) == tensor(rows)
    variance = group_variance(sqdist(tensor(problem.features), tensor(vectors)), own, gap)
    differences = []
    for x, mine in zip(problem.features, own.numpy(), strict=True):
        some = sorted(slow_sqdist(x, p) for p in vectors[mine])
        if len(some) > 1:
            differences.append(some[1] - some[0])
    if not differences:
        assert variance is None
    elif np.mean(differences) > 1e-9:
        assert variance is not None
        assert np.mean(differences) / (2 * variance) == pytest.approx(gap)
