"""Settings of the decoder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DecoderConfig:
    """Size and fitting of the decoder; chosen in docs/decisions/0011-decoder.md."""

    embedding: int = 128  # of a token
    hidden: int = 256  # of the recurrent state
    length: int = 48  # tokens of a text (of a pair together) that are learned and written
    vocabulary: int = 8_000  # different tokens at most, the most frequent
    texts: int = 20_000  # different texts used at most
    batch_size: int = 32
    epochs: int = 30
    least_steps: int = 600
    most_steps: int = 2_000
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    noise: float = 0.3  # standard deviation added to the standardised features
    word_drop: float = 0.2  # share of the words read that are hidden from the decoder
