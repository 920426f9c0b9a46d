"""Attention inside packed short texts as Triton kernels: a text and a head fit one program.

A text of up to 128 tokens needs no tiling over keys: scores, softmax and dropout stay on the chip,
and the gradients go straight into the packed gradient of queries, keys and values. Texts are
served by the kernel whose block just holds them; the others leave at once.
"""

# mypy: ignore-errors
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCKS = ((16, 1), (32, 2), (64, 4), (128, 8))  # block, warps
LONGEST = BLOCKS[-1][0]


@triton.jit
def _tile(joint, first, count, head, part, width, size: tl.constexpr, block: tl.constexpr):
    """Rows of queries (part 0), keys (1) or values (2) of one text and head: (block, size)."""
    row = tl.arange(0, block)
    column = tl.arange(0, size)
    place = (first + row)[:, None] * (3 * width) + part * width + head * size + column[None, :]
    return tl.load(joint + place, mask=(row < count)[:, None], other=0.0)


@triton.jit
def _kept(seed, first, head, heads, rate, block: tl.constexpr, longest: tl.constexpr):
    """1/(1 − rate) where a score is kept, else 0: (block, block)."""
    row = tl.arange(0, block)
    place = ((first + row)[:, None] * heads + head) * longest + row[None, :]
    drawn = tl.rand(tl.load(seed), place)
    return tl.where(drawn >= rate, 1.0 / (1.0 - rate), 0.0)


@triton.jit
def _probabilities(query, key, count, scale, block: tl.constexpr):
    """softmax(q kᵀ scale) over the tokens of the text: (block, block)."""
    row = tl.arange(0, block)
    scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
    scores = tl.where((row < count)[None, :], scores, -1e30)
    scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    return scores / tl.sum(scores, axis=1)[:, None]


@triton.jit
def _forward(
    joint, bounds, out, seed, heads, width, scale, rate,
    size: tl.constexpr, block: tl.constexpr, least: tl.constexpr,
    dropping: tl.constexpr, longest: tl.constexpr,
):  # fmt: skip
    text, head = tl.program_id(0), tl.program_id(1)
    first = tl.load(bounds + text)
    count = tl.load(bounds + text + 1) - first
    if (count <= block) & (count > least):
        query = _tile(joint, first, count, head, 0, width, size, block)
        key = _tile(joint, first, count, head, 1, width, size, block)
        value = _tile(joint, first, count, head, 2, width, size, block)
        share = _probabilities(query, key, count, scale, block)
        if dropping:
            share = share * _kept(seed, first, head, heads, rate, block, longest)
        context = tl.dot(share.to(value.dtype), value, input_precision="ieee")
        row = tl.arange(0, block)
        place = (first + row)[:, None] * width + head * size + tl.arange(0, size)[None, :]
        tl.store(out + place, context.to(out.dtype.element_ty), mask=(row < count)[:, None])


@triton.jit
def _backward(
    joint, bounds, grad_out, grad, seed, heads, width, scale, rate,
    size: tl.constexpr, block: tl.constexpr, least: tl.constexpr,
    dropping: tl.constexpr, longest: tl.constexpr,
):  # fmt: skip
    text, head = tl.program_id(0), tl.program_id(1)
    first = tl.load(bounds + text)
    count = tl.load(bounds + text + 1) - first
    if (count <= block) & (count > least):
        query = _tile(joint, first, count, head, 0, width, size, block)
        key = _tile(joint, first, count, head, 1, width, size, block)
        value = _tile(joint, first, count, head, 2, width, size, block)
        row = tl.arange(0, block)
        column = tl.arange(0, size)
        inside = (row < count)[:, None]
        place = (first + row)[:, None] * width + head * size + column[None, :]
        pull = tl.load(grad_out + place, mask=inside, other=0.0)
        share = _probabilities(query, key, count, scale, block)
        share = tl.where(inside, share, 0.0)
        towards = tl.dot(pull, tl.trans(value), input_precision="ieee")
        seen = share
        if dropping:
            kept = _kept(seed, first, head, heads, rate, block, longest)
            towards = towards * kept
            seen = share * kept
        scores = share * (towards - tl.sum(share * towards, axis=1)[:, None])
        scores = (scores * scale).to(query.dtype)
        to = (first + row)[:, None] * (3 * width) + head * size + column[None, :]
        kind = grad.dtype.element_ty
        grad_value = tl.dot(tl.trans(seen.to(pull.dtype)), pull, input_precision="ieee")
        tl.store(grad + to + 2 * width, grad_value.to(kind), mask=inside)
        grad_query = tl.dot(scores, key, input_precision="ieee")
        tl.store(grad + to, grad_query.to(kind), mask=inside)
        grad_key = tl.dot(tl.trans(scores), query, input_precision="ieee")
        tl.store(grad + to + width, grad_key.to(kind), mask=inside)


class ShortAttention(torch.autograd.Function):
    """(T, 3D) queries, keys and values, (S + 1,) int32 bounds of texts → context (T, D)."""

    @staticmethod
    def forward(ctx, joint: Tensor, bounds: Tensor, heads: int, rate: float) -> Tensor:
        """softmax(q kᵀ / √size) with dropout, times v, inside every text."""
        joint = joint.contiguous()
        tokens, width = joint.shape[0], joint.shape[1] // 3
        out = joint.new_empty(tokens, width)
        seed = torch.randint(0, 2**31 - 1, (1,), dtype=torch.int32, device=joint.device)
        ctx.save_for_backward(joint, bounds, seed)
        ctx.heads, ctx.rate = heads, rate
        _launch(_forward, (joint, bounds, out, seed), heads, width, rate, len(bounds) - 1)
        return out

    @staticmethod
    def backward(ctx, grad_out: Tensor):
        """Gradients of queries, keys and values, packed alike."""
        joint, bounds, seed = ctx.saved_tensors
        grad = torch.empty_like(joint)
        tensors = (joint, bounds, grad_out.contiguous(), grad, seed)
        width = joint.shape[1] // 3
        _launch(_backward, tensors, ctx.heads, width, ctx.rate, len(bounds) - 1)
        return grad, None, None, None


def _launch(kernel, tensors, heads: int, width: int, rate: float, texts: int) -> None:
    size = width // heads
    least = 0
    for block, warps in BLOCKS:
        kernel[(texts, heads)](
            *tensors, heads, width, size**-0.5, rate,
            size=size, block=block, least=least, dropping=rate > 0, longest=LONGEST,
            num_warps=warps,
        )  # fmt: skip
        least = block
