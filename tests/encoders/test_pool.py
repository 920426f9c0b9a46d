"""Pooling against a loop; padding on either side never matters."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.encoders.pool import cls_pool, mean_pool, pool

BOTH = pytest.mark.parametrize("pooling", ["mean", "cls"])


def by_loop(states: np.ndarray, mask: np.ndarray, pooling: str) -> np.ndarray:
    """The same with one text and one token at a time."""
    rows = []
    for tokens, real in zip(states, mask, strict=True):
        kept = [token for token, there in zip(tokens, real, strict=True) if there]
        rows.append(kept[0] if pooling == "cls" else sum(kept) / len(kept))
    return np.stack(rows)


@st.composite
def batches(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """States (B, T, D) and masks with at least one real token anywhere."""
    count, width, size = (draw(st.integers(1, limit)) for limit in (5, 9, 6))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = random.random((count, width)) < draw(st.floats(0.1, 0.9))
    mask[np.arange(count), random.integers(0, width, count)] = True
    states = random.normal(0, 10, (count, width, size))
    return torch.from_numpy(states), torch.from_numpy(mask.astype(np.int64))


@BOTH
@settings(max_examples=60, deadline=None)
@given(batch=batches())
def test_against_a_loop(pooling: str, batch: tuple[torch.Tensor, torch.Tensor]) -> None:
    states, mask = batch
    found = pool(states, mask, pooling)
    expected = by_loop(states.numpy(), mask.numpy(), pooling)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-10)


@BOTH
@pytest.mark.parametrize("left", [0, 1, 4])
@pytest.mark.parametrize("right", [0, 3])
def test_padding_never_matters(pooling: str, left: int, right: int) -> None:
    states = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(2, 5, dtype=torch.long)
    rubbish = torch.full((2, left, 3), 1e6), torch.full((2, right, 3), -1e6)
    longer = torch.cat([rubbish[0], states, rubbish[1]], dim=1)
    wide = torch.nn.functional.pad(mask, (left, right))
    plain = pool(states, mask, pooling)
    torch.testing.assert_close(pool(longer, wide, pooling), plain, rtol=1e-6, atol=1e-6)


def test_cls_is_the_first_real_token_of_each_row() -> None:
    states = torch.arange(24.0).view(2, 4, 3)
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]])
    assert cls_pool(states, mask).tolist() == [[6, 7, 8], [12, 13, 14]]


@BOTH
def test_half_precision_states_are_pooled_in_float32(pooling: str) -> None:
    states = torch.full((1, 300, 2), 1.0078125, dtype=torch.bfloat16)
    found = pool(states, torch.ones(1, 300, dtype=torch.long), pooling)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, torch.full((1, 2), 1.0078125))
    assert pool(states.double(), torch.ones(1, 300), pooling).dtype == torch.float64


def test_a_row_of_padding_gives_zero_and_not_nan() -> None:
    states = torch.ones(1, 3, 2)
    assert mean_pool(states, torch.zeros(1, 3, dtype=torch.long)).tolist() == [[0, 0]]


@BOTH
def test_padding_gets_no_gradient(pooling: str) -> None:
    states = torch.randn(1, 4, 2, requires_grad=True)
    pool(states, torch.tensor([[0, 1, 1, 0]]), pooling).sum().backward()
    assert states.grad is not None
    assert states.grad[0, [0, 3]].abs().max() == 0
    assert states.grad[0, 1].abs().min() > 0


@BOTH
@pytest.mark.parametrize("kind", [torch.bool, torch.int32, torch.float32])
def test_masks_of_any_type(pooling: str, kind: torch.dtype) -> None:
    states = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[0, 1, 1], [1, 0, 0]])
    assert torch.equal(pool(states, mask.to(kind), pooling), pool(states, mask, pooling))
