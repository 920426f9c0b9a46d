"""Every equation against the slow reference, to 1e-9 in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.problems import Problem, problems, tensor
from protofit.prototypes import functional as f
from reference import functions as fn

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
some = settings(max_examples=60, deadline=None)


def logged(problem: Problem) -> torch.Tensor:
    distances = f.sqdist(tensor(problem.features), tensor(problem.vectors))
    variance = torch.tensor(problem.variance, dtype=torch.float64)
    return f.log_importance(distances, variance, tensor(problem.active))


@some
@given(problems())
def test_squared_distances(problem: Problem) -> None:
    expected = [[fn.sqdist(x, p) for p in problem.vectors] for x in problem.features]
    got = f.sqdist(tensor(problem.features), tensor(problem.vectors))
    np.testing.assert_allclose(got, expected, **CLOSE)


def test_squared_distances_do_not_cancel_far_from_the_origin() -> None:
    offset = torch.full((1, 3), 4096.0)
    got = f.sqdist(offset + 0.25, offset)
    assert got.item() == pytest.approx(3 * 0.0625, rel=1e-6)


def test_squared_distances_are_never_negative() -> None:
    """Rounding alone puts some of these below zero, and a root of that is not a number."""
    x = 1000 * torch.randn(40, 64, generator=torch.Generator().manual_seed(0)).double()
    norms = x.square().sum(dim=1)
    assert bool((norms[:, None] + norms[None, :] - 2 * x @ x.T < 0).any())
    assert bool((f.sqdist(x, x.clone()) >= 0).all())


def test_squared_distance_of_equal_points_has_a_zero_gradient() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    f.sqdist(x, torch.ones(1, 3)).sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.zeros(2, 3))


@some
@given(problems())
def test_importance(problem: Problem) -> None:
    live, _, _ = problem.live
    got = logged(problem)
    assert bool((got[:, ~tensor(problem.active)] == -math.inf).all())
    for i, x in enumerate(problem.features):
        expected = fn.log_importance(x, live, problem.variance)
        np.testing.assert_allclose(got[i, tensor(problem.active)], expected, **CLOSE)


@some
@given(problems())
def test_mixture_probability(problem: Problem) -> None:
    live, logits, _ = problem.live
    got = f.mixture_log_prob(logged(problem), tensor(problem.logits)).exp()
    for i, x in enumerate(problem.features):
        expected = fn.mixture_prob(x, live, logits, problem.variance)
        np.testing.assert_allclose(got[i], expected, **CLOSE)


@some
@given(problems())
def test_mixture_value(problem: Problem) -> None:
    live, logits, _ = problem.live
    got = f.mixture_mean(logged(problem), tensor(problem.logits[:, 0]))
    expected = [fn.mixture_value(x, live, logits[:, 0], problem.variance) for x in problem.features]
    np.testing.assert_allclose(got, expected, **CLOSE)


@some
@given(problems())
def test_base_variance(problem: Problem) -> None:
    live, _, _ = problem.live
    got = f.base_variance(tensor(problem.vectors), tensor(problem.active))
    assert got.item() == pytest.approx(fn.base_variance(live), rel=1e-9, abs=1e-12)


def test_base_variance_of_one_row_or_none_is_zero() -> None:
    vectors = torch.randn(3, 2)
    assert f.base_variance(vectors, torch.tensor([False, True, False])).item() == 0
    assert f.base_variance(vectors, torch.zeros(3, dtype=torch.bool)).item() == 0


@some
@given(
    st.floats(1e-6, 1e3),
    st.floats(0, 1e3),
    st.floats(1e-4, 20),
    st.integers(1, 4096),
)
def test_creation_threshold(variance: float, rho: float, alpha: float, dimension: int) -> None:
    def number(value: float) -> torch.Tensor:
        return torch.tensor(value, dtype=torch.float64)

    got = f.creation_sqdist(number(variance), number(rho), alpha, dimension).item()
    expected = fn.creation_threshold(variance, rho, alpha, dimension)
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-9 * max(1.0, dimension * variance))
    assert got >= 0


@some
@given(problems(), st.sampled_from(["all", "same_class"]), st.sampled_from(["sum", "mean"]))
def test_diversity(problem: Problem, pairs: fn.Pairs, reduction: fn.Reduction) -> None:
    live, _, rows = problem.live
    vectors = tensor(problem.vectors).requires_grad_()
    reach = torch.tensor(problem.level, dtype=torch.float64)
    arguments = (tensor(problem.active), tensor(problem.rows))
    got = f.diversity_hinge(vectors, *arguments, reach, pairs=pairs, reduction=reduction)
    expected = fn.diversity_literal(live, problem.level, rows, pairs, reduction)
    assert got.item() == pytest.approx(expected, rel=1e-9, abs=1e-9)
    rooted = f.diversity_hinge(vectors, *arguments, reach.sqrt(), pairs=pairs, reduction=reduction)
    consistent = fn.diversity_consistent(live, problem.level, rows, pairs, reduction)
    assert rooted.item() == pytest.approx(consistent, rel=1e-9, abs=1e-9)
    (gradient,) = torch.autograd.grad(got, vectors)
    expected_gradient = fn.diversity_gradient(live, problem.level, rows, pairs, reduction)
    np.testing.assert_allclose(gradient[tensor(problem.active)], expected_gradient, **CLOSE)
    assert bool((gradient[~tensor(problem.active)] == 0).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_coincident_prototypes_feel_no_push(dtype: torch.dtype) -> None:
    one = 3 * torch.randn(1, 300, generator=torch.Generator().manual_seed(0), dtype=dtype)
    vectors = one.repeat(3, 1).requires_grad_()
    labels = torch.zeros(3, dtype=torch.long)
    hinge = f.diversity_hinge(vectors, labels == 0, labels, torch.tensor(5.0, dtype=dtype))
    assert hinge.item() == pytest.approx(3 * 25, rel=1e-5)
    (gradient,) = torch.autograd.grad(hinge, vectors)
    assert gradient.abs().max().item() < 1e-3


@some
@given(problems(), st.booleans())
def test_soft_nearest_neighbour(problem: Problem, weighted: bool) -> None:
    weights = np.linspace(0.5, 2, len(problem.labels)) if weighted else None
    got = f.soft_nearest_neighbour(
        tensor(problem.features),
        tensor(problem.labels),
        torch.tensor(problem.variance, dtype=torch.float64),
        None if weights is None else tensor(weights),
    )
    expected = fn.soft_nearest_neighbour(
        problem.features, problem.labels, problem.variance, weights
    )
    assert got.item() == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_neighbours_of_weight_zero_are_not_there() -> None:
    features = torch.randn(6, 3, dtype=torch.float64)
    labels = torch.tensor([0, 1, 0, 1, 0, 0])
    weights = torch.tensor([1.0, 2, 0.5, 1, 0, 0])
    got = f.soft_nearest_neighbour(features, labels, torch.tensor(0.5), weights)
    some_of_them = (features[:4], labels[:4], torch.tensor(0.5), weights[:4])
    torch.testing.assert_close(got, f.soft_nearest_neighbour(*some_of_them))


@pytest.mark.parametrize("labels", [[0], [0, 1, 2], [0, 0, 1]])
@pytest.mark.parametrize("spread", [0.0, 1.0, 1e4])
def test_neighbour_loss_is_finite_with_its_gradient(labels: list[int], spread: float) -> None:
    features = (spread * torch.randn(len(labels), 4)).requires_grad_()
    loss = f.soft_nearest_neighbour(features, torch.tensor(labels), torch.tensor(0.5))
    loss.backward()
    assert features.grad is not None
    assert bool(loss.isfinite())
    assert bool(features.grad.isfinite().all())
    if len(set(labels)) == len(labels):  # no anchors: nothing to learn from
        assert loss.item() == 0
        assert not features.grad.any()


@pytest.mark.parametrize("length", [1, 2, 5])
def test_window_weights_follow_the_ring(length: int) -> None:
    for newest in range(length):
        got = f.window_weights(length, torch.tensor(newest))
        for back in range(length):
            assert got[(newest - back) % length].item() == pytest.approx((length - back) / length)


@pytest.mark.parametrize("given_type", [torch.bfloat16, torch.float16, torch.float32])
def test_features_are_widened_to_float32(given_type: torch.dtype) -> None:
    assert f.widened(torch.ones(2, dtype=given_type)).dtype == torch.float32


def test_float64_features_stay_float64() -> None:
    assert f.widened(torch.ones(2, dtype=torch.float64)).dtype == torch.float64
