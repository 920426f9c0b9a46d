"""Attention inside texts that lie one after the other."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from protofit.bench.fleet.texts import Packed

SHORT = 128  # tokens that our own kernel holds


def packed_attention(
    joint: Tensor, batch: Packed, heads: int, rate: float, *, fast: bool = False
) -> Tensor:
    """Queries, keys and values (R, L, 3D) → context (R, L, D); no text sees another.

    `fast`: by kernels that only GPUs have.
    """
    copies, length, width = joint.shape
    parts = joint.view(copies * length, 3, heads, width // (3 * heads))
    if fast and batch.longest <= SHORT:
        from protofit.bench.fleet.attention_kernel import ShortAttention

        tokens = joint.view(copies * length, width)
        short: Tensor = ShortAttention.apply(  # type: ignore[no-untyped-call]
            tokens, batch.bounds, heads, rate
        )
        return short.view(copies, length, width // 3)
    if fast and joint.dtype == torch.bfloat16:
        query, key, value = parts.unbind(1)
        flash = torch.ops.aten._flash_attention_forward  # noqa: SLF001 - nothing public packs
        packed: Tensor = flash(
            query, key, value, batch.bounds, batch.bounds, batch.longest, batch.longest,
            rate, False, False,  # not causal, no debug mask
        )[0]  # fmt: skip
        return packed.reshape(copies, length, width // 3)
    query, key, value = parts.view(copies, length, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
    same = (batch.owner.unsqueeze(2) == batch.owner.unsqueeze(1)).unsqueeze(1)
    context = scaled_dot_product_attention(query, key, value, attn_mask=same, dropout_p=rate)
    return context.transpose(1, 2).reshape(copies, length, width // 3)
