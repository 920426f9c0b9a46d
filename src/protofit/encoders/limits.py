"""How many tokens an encoder can take."""

from __future__ import annotations

from typing import Any


def token_limit(asked: int, tokenizer: Any, config: Any) -> int:
    """The smallest of: what was asked, the tokenizer's limit, the position table's."""
    limits = [asked]
    known = getattr(tokenizer, "model_max_length", None)
    if known and known < 10**6:
        limits.append(int(known))
    positions = getattr(config, "max_position_embeddings", None)
    if positions:
        offset = 2 if config.model_type in _OFFSET_POSITIONS else 0
        limits.append(int(positions) - offset)
    return min(limits)


_OFFSET_POSITIONS = {  # positions counted from the padding index, as RoBERTa does
    "camembert",
    "data2vec-text",
    "ibert",
    "longformer",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
}
