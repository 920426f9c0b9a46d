"""Pure functions of clustering within classes, at their edges; the whole is tested with IMP."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given

from helpers.problems import Problem, problems, tensor
from protofit.prototypes.clusters import (
    class_logits,
    far_from_class,
    responsibilities,
    weighted_means,
)
from protofit.prototypes.functional import sqdist
from reference.functions import sqdist as slow_sqdist


@given(problems())
def test_class_logits_are_those_of_the_closest_row_of_each_class(problem: Problem) -> None:
    classes = problem.logits.shape[1]
    scores = -sqdist(tensor(problem.features), tensor(problem.vectors))
    got = class_logits(scores, tensor(problem.rows), tensor(problem.active), classes)
    vectors, _, rows = problem.live
    for i, x in enumerate(problem.features):
        for c in range(classes):
            own = [slow_sqdist(x, p) for p, row in zip(vectors, rows, strict=True) if row == c]
            if own:
                np.testing.assert_allclose(got[i, c], -min(own), atol=1e-9)
            else:
                assert got[i, c] == torch.finfo(torch.float64).min


def test_only_the_closest_row_of_a_class_is_learned_from() -> None:
    scores = torch.tensor([[-1.0, -2, -3]], requires_grad=True)
    labels, active = torch.tensor([0, 0, 1]), torch.ones(3, dtype=torch.bool)
    class_logits(scores, labels, active, 3).softmax(dim=1)[0, 0].backward()
    assert scores.grad is not None
    assert scores.grad[0, 1] == 0
    torch.testing.assert_close(scores.grad[0, 0], -scores.grad[0, 2])
    assert scores.grad[0, 0] > 0.1


@given(problems())
def test_responsibilities_stay_within_the_class(problem: Problem) -> None:
    distances = sqdist(tensor(problem.features), tensor(problem.vectors))
    own = tensor(problem.active) & (tensor(problem.labels).unsqueeze(1) == tensor(problem.rows))
    for hard in (False, True):
        shares = responsibilities(distances, own, torch.tensor(problem.variance), hard=hard)
        assert not shares[~own].any()
        np.testing.assert_allclose(shares.sum(dim=1), own.any(dim=1).double())
        nearest = distances.masked_fill(~own, torch.inf).argmin(dim=1)[own.any(dim=1)]
        most = shares[own.any(dim=1)]
        chosen = most.gather(1, nearest.unsqueeze(1)).squeeze(1)
        np.testing.assert_allclose(chosen, most.amax(dim=1))


def test_a_mean_of_nothing_is_zero_and_has_a_clean_gradient() -> None:
    features = torch.ones(2, 3, requires_grad=True)
    means, totals = weighted_means(torch.tensor([[1.0, 0], [3, 0]]), features)
    assert totals.tolist() == [4, 0]
    assert means.tolist() == [[1, 1, 1], [0, 0, 0]]
    means.sum().backward()
    assert features.grad is not None
    torch.testing.assert_close(features.grad, torch.tensor([[0.25] * 3, [0.75] * 3]))


def test_creation_is_in_order_within_the_room() -> None:
    points = torch.tensor([[0.0], [3], [3.5], [-3], [9]])
    mean, level = torch.zeros(1), torch.tensor(4.0)

    def chosen(room: int, *, first_only: bool = False) -> list[int]:
        return far_from_class(points, mean, level, room, first_only=first_only).tolist()

    assert chosen(9) == [1, 3, 4]
    assert chosen(2) == [1, 3]
    assert chosen(0) == []
    assert chosen(9, first_only=True) == [1, 2, 3, 4]
    assert chosen(0, first_only=True) == []


def test_an_example_exactly_as_far_as_the_threshold_is_not_far() -> None:
    """Neither from the mean nor from a cluster made before it."""
    points = torch.tensor([[2.0, 0.0], [9.0, 0.0], [9.0, 2.0], [9.0, -2.5]])
    arguments = (points, torch.zeros(2), torch.tensor(4.0), 9)
    assert far_from_class(*arguments, first_only=False).tolist() == [1, 3]
    assert far_from_class(*arguments, first_only=True).tolist() == [1, 2, 3]
