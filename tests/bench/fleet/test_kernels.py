"""The Triton kernels give what torch gives, run by Triton's interpreter on a processor."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

SIZES = (32, 64)  # of a head
LENGTHS = [1, 5, 15, 16, 17, 31, 0, 32, 33, 63, 64, 65, 127, 128]  # about every block's edge
HEADS = 3


@pytest.fixture(scope="module")
def interpreted() -> Iterator[None]:
    """Kernels are interpreted if the variable is set when Triton is first imported."""
    if "triton" in sys.modules or torch.cuda.is_available():
        pytest.skip("Triton has been imported for a GPU")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        pytest.importorskip("triton", reason="needs triton, which torch brings for GPUs")
        yield


@pytest.fixture
def attention(interpreted: None) -> Any:
    return importlib.import_module("protofit.bench.fleet.attention_kernel").ShortAttention.apply


def reference(joint: Tensor, bounds: Tensor) -> Tensor:
    """Text by text, in float32."""
    width, found = joint.shape[1] // 3, []
    for first, last in itertools.pairwise(bounds.tolist()):
        parts = (
            joint[first:last]
            .float()
            .view(last - first, 3, HEADS, width // HEADS)
            .permute(1, 2, 0, 3)
        )
        query, key, value = parts.unbind(0)
        share = (query @ key.mT / query.shape[-1] ** 0.5).softmax(dim=-1)
        found.append((share @ value).transpose(0, 1).reshape(last - first, width))
    return torch.cat(found)


@pytest.mark.parametrize(("kind", "close"), [(torch.float32, 1e-5), (torch.float16, 5e-3)])
@pytest.mark.parametrize("size", SIZES)
def test_attention(attention: Any, size: int, kind: torch.dtype, close: float) -> None:
    """Context and gradients; the interpreter's products of bfloat16 are wrong, so float16."""
    torch.manual_seed(0)
    bounds = torch.tensor([0, *LENGTHS]).cumsum(0).to(torch.int32)
    joint = torch.randn(int(bounds[-1]), 3 * HEADS * size).to(kind)
    mine, theirs = (joint.clone().requires_grad_() for _ in range(2))
    found, wanted = attention(mine, bounds, HEADS, 0.0), reference(theirs, bounds)
    torch.testing.assert_close(found.float(), wanted, atol=close, rtol=close)
    pull = torch.randn_like(wanted)
    found.backward(pull.to(kind))
    wanted.backward(pull.to(kind).float())
    torch.testing.assert_close(mine.grad, theirs.grad, atol=close, rtol=close)


def test_dropout_is_the_same_backwards(attention: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient is that of the dropped scores, and dropping does not move the mean."""
    torch.manual_seed(0)
    bounds = torch.tensor([0, 7, 40, 60], dtype=torch.int32)
    joint = torch.randn(60, 3 * HEADS * 32)
    ones = joint.clone()
    ones[:, 2 * HEADS * 32 :] = 1
    means = [attention(ones, bounds, HEADS, 0.3).mean() for _ in range(8)]
    assert float(torch.stack(means).mean()) == pytest.approx(1, abs=0.02)
    seed = torch.tensor([12345], dtype=torch.int32)
    monkeypatch.setattr(torch, "randint", lambda *_, **__: seed)
    leaf = joint.clone().requires_grad_()
    found = attention(leaf, bounds, HEADS, 0.3)
    pull, way = torch.randn_like(found), torch.randn_like(joint)
    found.backward(pull)
    ends = [attention(joint + by * way, bounds, HEADS, 0.3) * pull for by in (0.005, -0.005)]
    slope = float((ends[0] - ends[1]).sum() / 0.01)
    assert float((leaf.grad * way).sum()) == pytest.approx(slope, rel=2e-3)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("shape", [(5, 7), (1500,), (40, 33)])
def test_adam(shape: tuple[int, ...]) -> None:
    from protofit.bench.fleet.adam_kernel import launch

    torch.manual_seed(0)
    rates, count = torch.tensor([1e-3, 2e-3, 5e-4]), torch.zeros(())
    master = torch.randn(3, *shape)
    low, mean, square = master.half(), torch.zeros_like(master), torch.zeros_like(master)
    alone = [torch.nn.Parameter(copy.clone()) for copy in master]
    optimisers = [torch.optim.Adam([p], lr=float(r)) for p, r in zip(alone, rates, strict=True)]
    for _ in range(4):
        gradient = torch.randn(3, *shape)
        count += 1
        launch(master, low, gradient, mean, square, rates, count)
        for parameter, own, optimiser in zip(alone, gradient, optimisers, strict=True):
            parameter.grad = own.clone()
            optimiser.step()
    torch.testing.assert_close(master, torch.stack([p.detach() for p in alone]))
    torch.testing.assert_close(low, master.half())
