"""The parameters of R copies of one BERT encoder, stacked: name → (R, …)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from protofit.errors import InputError

PER_LAYER = {  # our name: their names, joined along the output dimension
    "qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "out": ("attention.output.dense",),
    "up": ("intermediate.dense",),
    "down": ("output.dense",),
}
NORMS = {"attention_norm": "attention.output.LayerNorm", "output_norm": "output.LayerNorm"}
EMBEDDINGS = {
    "words": "embeddings.word_embeddings.weight",
    "positions": "embeddings.position_embeddings.weight",
    "types": "embeddings.token_type_embeddings.weight",
    "norm.weight": "embeddings.LayerNorm.weight",
    "norm.bias": "embeddings.LayerNorm.bias",
}


@dataclass(frozen=True)
class EncoderShape:
    """What the stacked forward pass must know of the encoder's configuration."""

    layers: int
    heads: int
    dimension: int
    norm_eps: float
    hidden_dropout: float
    attention_dropout: float

    @classmethod
    def of(cls, config: Any) -> EncoderShape:
        """From a Hugging Face configuration, if it is of the family that can be stacked."""
        if config.model_type != "bert" or config.hidden_act != "gelu":
            raise InputError(
                f"encoders of the type {config.model_type} cannot be stacked",
                where="--engine fleet",
                fix="Use --engine loop.",
            )
        return cls(
            config.num_hidden_layers,
            config.num_attention_heads,
            config.hidden_size,
            config.layer_norm_eps,
            config.hidden_dropout_prob,
            config.attention_probs_dropout_prob,
        )


def base_weights(state: Mapping[str, Tensor], layers: int) -> dict[str, Tensor]:
    """One encoder's state dictionary under our names; matrices (in, out), float32."""
    weights = {ours: state[theirs].float() for ours, theirs in EMBEDDINGS.items()}
    for layer in range(layers):
        prefix = f"encoder.layer.{layer}."
        for ours, parts in PER_LAYER.items():
            matrix = torch.cat([state[f"{prefix}{part}.weight"].float() for part in parts])
            weights[f"{layer}.{ours}.weight"] = matrix.T.contiguous()
            biases = [state[f"{prefix}{part}.bias"].float() for part in parts]
            weights[f"{layer}.{ours}.bias"] = torch.cat(biases)
        for ours, theirs in NORMS.items():
            for kind in ("weight", "bias"):
                weights[f"{layer}.{ours}.{kind}"] = state[f"{prefix}{theirs}.{kind}"].float()
    return weights


class StackedWeights:
    """R copies as float32 masters; matrices also in the precision the products run in."""

    def __init__(self, base: Mapping[str, Tensor], copies: int, low: torch.dtype) -> None:
        self.base = dict(base)
        self.copies = copies
        self.low = low
        self.master = {
            name: value.unsqueeze(0).repeat(copies, *[1] * value.ndim)
            for name, value in self.base.items()
        }
        self.leaves: dict[str, Tensor] = {}
        for name, value in self.master.items():
            leaf = value if self._full(value) else value.to(low)
            self.leaves[name] = leaf.detach().requires_grad_()

    def _full(self, value: Tensor) -> bool:
        """Vectors stay float32; so does everything where products run in float32."""
        return self.low == torch.float32 or value.ndim <= 2

    def twin(self, name: str) -> Tensor | None:
        """The lower-precision copy of a master, where there is one."""
        leaf = self.leaves[name]
        return None if leaf.dtype == self.master[name].dtype else leaf.detach()

    def detached(self, used: int) -> dict[str, Tensor]:
        """What the first copies compute with, outside of any gradient."""
        return {name: leaf.detach()[:used] for name, leaf in self.leaves.items()}

    @torch.no_grad()
    def reset(self) -> None:
        """All copies back to the pretrained values."""
        for name, value in self.base.items():
            self.write(name, slice(None), value)

    @torch.no_grad()
    def write(self, name: str, rows: slice | int, value: Tensor) -> None:
        """Set copies of one parameter, in both precisions."""
        self.master[name][rows] = value
        low = self.twin(name)
        if low is not None:
            low[rows] = value.to(low.dtype)

    @torch.no_grad()
    def keep(self, into: dict[str, Tensor], row: int) -> None:
        """Copy one copy's masters into a buffer of the same shape."""
        for name, value in self.master.items():
            into[name][row].copy_(value[row])

    def spare(self) -> dict[str, Tensor]:
        """A buffer for `keep`, holding the present values."""
        return {name: value.detach().clone() for name, value in self.master.items()}

    @torch.no_grad()
    def restore(self, kept: Mapping[str, Tensor]) -> None:
        """Put back what was kept."""
        for name, value in kept.items():
            self.write(name, slice(None), value)
