"""The forward pass of R stacked BERT encoders over packed tokens: products over (R, L, D)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn.functional import dropout, embedding, gelu, layer_norm

from protofit.bench.fleet.attention import packed_attention
from protofit.bench.fleet.texts import Packed
from protofit.bench.fleet.weights import EncoderShape

Norm = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, float, float], Tensor]


def add_norm(
    update: Tensor, bias: Tensor, residual: Tensor, scale: Tensor, shift: Tensor,
    rate: float, eps: float,
) -> Tensor:  # fmt: skip
    """LayerNorm(residual + dropout(update + bias)) in float32: (R, L, D) and four (R, D)."""
    moved = update.float() + bias.unsqueeze(1)
    if rate > 0:
        moved = moved * (torch.rand_like(moved) >= rate) / (1 - rate)  # fuses, unlike dropout()
    normed = layer_norm(moved + residual.float(), moved.shape[-1:], eps=eps)
    return (normed * scale.unsqueeze(1) + shift.unsqueeze(1)).to(update.dtype)


class StackedEncoder:
    """Tokens of every run → mean-pooled features (R, B, D) in float32."""

    def __init__(self, shape: EncoderShape, *, fast: bool = False) -> None:
        self.shape = shape
        self.fast = fast
        self.add_norm: Norm = torch.compile(add_norm) if fast else add_norm

    def __call__(
        self, weights: Mapping[str, Tensor], batch: Packed, skip: Tensor, *, training: bool
    ) -> Tensor:
        """Packed texts → (R, B, D); where `skip` (R,) is 1, plus mean word embeddings."""
        words = stacked_embedding(weights["words"], batch.ids)
        states = self._embed(weights, words, batch, training=training)
        for layer in range(self.shape.layers):
            states = self._layer(weights, str(layer), states, batch, training=training)
        averaging = batch.averaging()
        pooled = torch.bmm(averaging, states.float())
        return pooled + skip.view(-1, 1, 1) * torch.bmm(averaging, words.float())

    def _embed(
        self, weights: Mapping[str, Tensor], words: Tensor, batch: Packed, *, training: bool
    ) -> Tensor:
        total = words.float() + stacked_embedding(weights["types"], batch.types).float()
        total = total + stacked_embedding(weights["positions"], batch.positions).float()
        normed = layer_norm(total, total.shape[-1:], eps=self.shape.norm_eps)
        normed = normed * weights["norm.weight"].unsqueeze(1) + weights["norm.bias"].unsqueeze(1)
        return dropout(normed, self.shape.hidden_dropout, training=training).to(words.dtype)

    def _layer(
        self,
        weights: Mapping[str, Tensor],
        layer: str,
        states: Tensor,
        batch: Packed,
        *,
        training: bool,
    ) -> Tensor:
        def part(name: str) -> Tensor:
            return weights[f"{layer}.{name}"]

        shape = self.shape
        joint = linear(states, part("qkv.weight"), part("qkv.bias"))
        rate = shape.attention_dropout if training else 0.0
        context = packed_attention(joint, batch, shape.heads, rate, fast=self.fast)
        rate = shape.hidden_dropout if training else 0.0
        states = self.add_norm(
            torch.bmm(context, part("out.weight")), part("out.bias"), states,
            part("attention_norm.weight"), part("attention_norm.bias"), rate, shape.norm_eps,
        )  # fmt: skip
        inner = gelu(linear(states, part("up.weight"), part("up.bias")))
        return self.add_norm(
            torch.bmm(inner, part("down.weight")), part("down.bias"), states,
            part("output_norm.weight"), part("output_norm.bias"), rate, shape.norm_eps,
        )  # fmt: skip


def linear(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Each run's own linear map: (R, L, I), (R, I, O), (R, O) → (R, L, O)."""
    return torch.baddbmm(bias.unsqueeze(1).to(states.dtype), states, weight)


def stacked_embedding(table: Tensor, ids: Tensor) -> Tensor:
    """Rows of each run's own table: (R, V, D), (R, L) → (R, L, D)."""
    copies, rows, dimension = table.shape
    first = torch.arange(copies, device=ids.device).unsqueeze(1) * rows
    return embedding(ids + first, table.view(copies * rows, dimension))
