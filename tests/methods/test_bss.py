"""BSS: the penalty against a slow decomposition, its gradient, and that it shrinks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.steps import blobs, started
from protofit.errors import InputError
from protofit.methods.bss import BSSConfig, smallest_singular_squares
from reference.bss import penalty, singular_values


def matrix(rows: int, columns: int, seed: int, kind: str = "plain") -> np.ndarray:
    draw = np.random.default_rng(seed)
    values = draw.normal(0, 0.3, (rows, columns)) + draw.normal(0, 0.5, columns)
    if kind == "low rank":
        values = draw.normal(size=(rows, 2)) @ draw.normal(size=(2, columns)) + 1e-3 * values
    if kind == "twins":
        values[-1] = values[0]
    return values


def test_the_reference_agrees_with_lapack() -> None:
    for rows, columns in ((5, 9), (9, 5), (4, 4)):
        values = matrix(rows, columns, rows)
        np.testing.assert_allclose(
            singular_values(values), np.linalg.svd(values, compute_uv=False), rtol=1e-10
        )


@settings(deadline=None, max_examples=40)
@given(
    st.integers(2, 9),
    st.integers(1, 12),
    st.integers(1, 3),
    st.sampled_from(["plain", "low rank", "twins"]),
    st.integers(0, 10**6),
)
def test_sum_of_the_smallest_squares(
    rows: int, columns: int, count: int, kind: str, seed: int
) -> None:
    values = matrix(rows, columns, seed, kind)
    got = smallest_singular_squares(torch.from_numpy(values), count).item()
    expected = penalty(values, count) if rows > count else 0.0
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-10 * float(np.square(values).sum()))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("shape", [(16, 64), (20, 6)])
def test_gradient_is_that_of_the_decomposition(shape: tuple[int, int], count: int) -> None:
    features = torch.from_numpy(matrix(*shape, seed=3)).requires_grad_()
    smallest_singular_squares(features, count).backward()
    u, s, vt = np.linalg.svd(features.detach().numpy(), full_matrices=False)
    expected = 2 * (u[:, -count:] * s[-count:]) @ vt[-count:]
    assert features.grad is not None
    np.testing.assert_allclose(features.grad.numpy(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("values", [np.zeros((4, 6)), np.eye(4, 6), np.ones((4, 6))])
def test_repeated_values_give_finite_gradients(values: np.ndarray) -> None:
    features = torch.from_numpy(values).requires_grad_()
    result = smallest_singular_squares(features, 2)
    result.backward()
    assert result.item() == pytest.approx(penalty(values, 2), abs=1e-12)
    assert features.grad is not None
    assert features.grad.isfinite().all()


def test_rows_without_weight_are_not_there() -> None:
    values = torch.from_numpy(matrix(8, 12, seed=1))
    present = torch.tensor([True] * 5 + [False] * 3)
    got = smallest_singular_squares(values, 2, present)
    torch.testing.assert_close(got, smallest_singular_squares(values[:5], 2))
    few = torch.tensor([True] * 2 + [False] * 6)
    assert smallest_singular_squares(values, 2, few).item() == 0.0


def test_examples_of_weight_zero_are_not_penalised() -> None:
    features, labels = blobs(8, 12)
    head = started("bss", features, labels, dropout=0.0, weight=0.5)
    weights = torch.tensor([1.0, 2, 1, 1, 1, 0, 0, 0])
    got = head.loss(torch.from_numpy(features), torch.from_numpy(labels), weights)
    expected = 0.5 * penalty(features[:5].astype(np.float64), 1)
    assert got.parts["spectrum"].item() == pytest.approx(expected, rel=1e-5)


def test_the_loss_is_raw_plus_the_penalty() -> None:
    features, labels = blobs(16)
    batch, known = torch.from_numpy(features), torch.from_numpy(labels)
    plain = started("raw", features, labels, dropout=0.0).loss(batch, known)
    result = started("bss", features, labels, dropout=0.0, weight=0.5, count=2).loss(batch, known)
    expected = 0.5 * penalty(features.astype(np.float64), 2)
    assert result.parts["spectrum"].item() == pytest.approx(expected, rel=1e-5)
    assert (result.loss - plain.loss).item() == pytest.approx(expected, rel=1e-4)
    assert torch.equal(result.prediction, plain.prediction)
    assert result.loss.dtype == torch.float32


def test_dropout_does_not_reach_the_penalty() -> None:
    features, labels = blobs(16)
    head = started("bss", features, labels, dropout=0.5)
    batch, known = torch.from_numpy(features), torch.from_numpy(labels)
    one, other = (head.loss(batch, known).parts for _ in range(2))
    assert torch.equal(one["spectrum"], other["spectrum"])
    assert not torch.equal(one["fit"], other["fit"])


@pytest.mark.parametrize("size", [1, 2])
def test_batches_of_at_most_k_have_no_penalty(size: int) -> None:
    features, labels = blobs(16)
    head = started("bss", features, labels, count=2)
    batch, known = torch.from_numpy(features[:size]), torch.from_numpy(labels[:size])
    assert head.loss(batch, known).parts == {}


def test_the_penalty_shrinks_the_smallest_singular_value() -> None:
    features, labels = blobs(5, 6)
    known = torch.from_numpy(labels)
    last: dict[float, list[float]] = {}
    for weight in (0.0, 0.1):
        head = started("bss", features, labels, dropout=0.0, weight=weight)
        moving = torch.nn.Parameter(torch.from_numpy(features.copy()))
        optimiser = torch.optim.SGD([moving], lr=0.1)
        for _ in range(60):
            optimiser.zero_grad()
            head.loss(moving, known).loss.backward()
            optimiser.step()
        last[weight] = singular_values(moving.detach().numpy())
    before = singular_values(features)
    assert last[0.1][-1] < 0.5 * before[-1]
    assert last[0.1][-1] < 0.5 * last[0.0][-1]
    assert last[0.1][0] > 0.9 * before[0]


@pytest.mark.parametrize(("name", "value"), [("weight", -1.0), ("count", 0), ("dropout", 1.0)])
def test_a_setting_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"head.{name} is {value}"):
        BSSConfig(**{name: value})
