"""How many tokens an encoder takes: the smallest limit counts, and it really fits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from helpers.tiny import ARCHITECTURES, make_encoder
from protofit.encoders.limits import token_limit
from protofit.encoders.load import load_encoder
from protofit.encoders.resolve import resolve_encoder

UNKNOWN = 10**30  # what transformers says where a tokenizer knows no limit


def limit(asked: int, tokenizer: int | None, positions: int | None, model: str = "bert") -> int:
    return token_limit(
        asked,
        SimpleNamespace(model_max_length=tokenizer),
        SimpleNamespace(max_position_embeddings=positions, model_type=model),
    )


@pytest.mark.parametrize(
    ("asked", "tokenizer", "positions", "expected"),
    [
        (128, 512, 512, 128),
        (1000, 512, 600, 512),
        (1000, 600, 512, 512),
        (1000, UNKNOWN, 512, 512),
        (1000, None, 512, 512),
        (1000, UNKNOWN, None, 1000),
        (1000, UNKNOWN, 0, 1000),
        (8000, 8192, 8192, 8000),
    ],
)
def test_the_smallest_limit_counts(
    asked: int, tokenizer: int | None, positions: int | None, expected: int
) -> None:
    assert limit(asked, tokenizer, positions) == expected


@pytest.mark.parametrize("model", ["roberta", "xlm-roberta", "mpnet", "camembert"])
def test_position_tables_that_start_after_the_padding_lose_two(model: str) -> None:
    assert limit(1000, UNKNOWN, 514, model) == 512


def test_a_configuration_without_positions_asks_nothing() -> None:
    config = SimpleNamespace(model_type="t5")
    assert token_limit(300, SimpleNamespace(), config) == 300


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_text_at_the_limit_fits_the_encoder(tmp_path: Path, architecture: str) -> None:
    encoder: Any = load_encoder(resolve_encoder(make_encoder(architecture, tmp_path / "encoder")))
    longest = token_limit(10**5, SimpleNamespace(model_max_length=UNKNOWN), encoder.config)
    assert 128 <= longest <= 130
    words = torch.full((1, longest), 7)
    with torch.no_grad():
        states = encoder(input_ids=words, attention_mask=torch.ones_like(words))[0]
    assert states.shape == (1, longest, 32)
    assert states.isfinite().all()


ROBERTA_LIKE = ["roberta", "xlm-roberta", "camembert", "mpnet", "data2vec-text", "xmod", "ibert"]


@pytest.mark.parametrize("model", ROBERTA_LIKE)
def test_a_text_at_the_limit_fits_models_that_count_from_the_padding(model: str) -> None:
    """With the padding index 1 of the published models, the table is two rows short."""
    from transformers import AutoConfig, AutoModel

    sizes = {
        "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
        "intermediate_size": 8, "max_position_embeddings": 20, "pad_token_id": 1,
    }  # fmt: skip
    extra = {"languages": ["en_XX"], "default_language": "en_XX"} if model == "xmod" else {}
    config = AutoConfig.for_model(model, **sizes, **extra)
    encoder = AutoModel.from_config(config).eval()
    longest = token_limit(10**5, SimpleNamespace(model_max_length=UNKNOWN), config)
    words = torch.full((1, longest), 7)
    with torch.no_grad():
        states = encoder(input_ids=words, attention_mask=torch.ones_like(words))[0]
    assert states.shape[1] == longest == 18
