"""The Adam update of stacked parameters as one Triton kernel: every value is touched once."""

# mypy: ignore-errors
from __future__ import annotations

import math

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _adam(
    master, low, gradient, mean, square, rates, count, size,
    beta1: tl.constexpr, beta2: tl.constexpr, eps: tl.constexpr,
    log_beta1: tl.constexpr, log_beta2: tl.constexpr,
    has_low: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    copy = tl.program_id(1).to(tl.int64)
    inside = tl.program_id(0) * block + tl.arange(0, block)
    keep = inside < size
    place = copy * size + inside
    steps = tl.load(count)
    rate = tl.load(rates + copy)
    g = tl.load(gradient + place, mask=keep, other=0).to(tl.float32)
    m = tl.load(mean + place, mask=keep, other=0)
    v = tl.load(square + place, mask=keep, other=0)
    p = tl.load(master + place, mask=keep, other=0)
    m = m + (1 - beta1) * (g - m)
    v = beta2 * v + (1 - beta2) * g * g
    first = 1 - tl.exp2(steps * log_beta1)
    second = 1 - tl.exp2(steps * log_beta2)
    p = p - rate / first * m / (tl.sqrt(v / second) + eps)
    tl.store(mean + place, m, mask=keep)
    tl.store(square + place, v, mask=keep)
    tl.store(master + place, p, mask=keep)
    if has_low:
        tl.store(low + place, p.to(low.dtype.element_ty), mask=keep)


def launch(
    master: Tensor, low: Tensor | None, gradient: Tensor, mean: Tensor, square: Tensor,
    rates: Tensor, count: Tensor,
) -> None:  # fmt: skip
    """Update one stacked parameter (R, …) in place."""
    from protofit.bench.fleet.adam import BETA1, BETA2, EPS

    size = master[0].numel()
    grid = (triton.cdiv(size, BLOCK), master.shape[0])
    _adam[grid](
        master, master if low is None else low, gradient, mean, square, rates, count, size,
        beta1=BETA1, beta2=BETA2, eps=EPS, log_beta1=math.log2(BETA1), log_beta2=math.log2(BETA2),
        has_low=low is not None, block=BLOCK,
    )  # fmt: skip
