"""Settings of the encoder: which one, how texts enter it and how its features leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from protofit.config.checks import at_least, one_of, within

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True)
class EncoderConfig:
    """The text encoder f_φ and the way from tokens to one vector."""

    pooling: Pooling = "mean"  # mean over real tokens, or the first token's last hidden state
    max_length: int = 128  # tokens kept of a text or pair; the rest is cut and counted
    skip_connection: bool = False  # add mean non-contextual token embeddings (PFit-SC)
    dropout: float | None = None  # replaces the encoder's own dropout; None keeps it
    prefix: str = ""  # put before every (first) text, e.g. "query: "

    def __post_init__(self) -> None:
        one_of("encoder.pooling", self.pooling, ("mean", "cls"))
        at_least("encoder.max_length", self.max_length, 4)
        within("encoder.dropout", self.dropout, 0, 0.9)
