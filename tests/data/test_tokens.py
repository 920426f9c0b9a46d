"""Tokens: what the tokenizer gives, held flat, padded only as far as a batch needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tiny import make_tokenizer
from protofit.data import tokens as module
from protofit.data.tokens import Tokens, tokenise

CPU = torch.device("cpu")
WORDS = ["the", "my", "password", "invoice", "zzz"]


def tokenizer_of(*names: str) -> Any:
    tokenizer = make_tokenizer()
    tokenizer.model_input_names = list(names)
    return tokenizer


TOKENIZER = tokenizer_of("input_ids", "token_type_ids", "attention_mask")
UNTYPED = tokenizer_of("input_ids", "attention_mask")


def text_of(count: int) -> str:
    return " ".join(WORDS[i % len(WORDS)] for i in range(count))


def rows_of(tokens: Tokens) -> list[list[int]]:
    return [part.tolist() for part in np.split(tokens.ids, tokens.offsets[1:-1])]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=9), st.data())
def test_batches_are_what_the_tokenizer_pads(counts: list[int], data: st.DataObject) -> None:
    texts = [text_of(count) for count in counts]
    tokens = tokenise(texts, TOKENIZER, 8)
    rows = data.draw(st.lists(st.sampled_from(range(len(texts))), min_size=1, max_size=6))
    batch = tokens.batch(rows, CPU)
    wanted = TOKENIZER(
        [texts[row] for row in rows],
        truncation=True,
        max_length=8,
        padding=True,
        return_tensors="pt",
    )
    assert set(batch) == set(wanted)
    assert all(torch.equal(batch[name], wanted[name]) for name in batch)
    assert tokens.lengths.tolist() == [min(count + 2, 8) for count in counts]
    assert tokens.truncated == sum(count + 2 > 8 for count in counts)


@pytest.mark.parametrize("names", [TOKENIZER.model_input_names, UNTYPED.model_input_names])
def test_a_text_without_tokens_is_one_of_padding(names: list[str]) -> None:
    """A batch of such texts alone would have the width zero, which no encoder takes."""
    bare = tokenizer_of(*names)
    bare.backend_tokenizer.post_processor = None
    tokens = tokenise(["", "my invoice", ""], bare, 8)
    assert rows_of(tokens) == [[0], bare("my invoice")["input_ids"], [0]]
    assert tokens.batch([0, 2], CPU)["attention_mask"].tolist() == [[1], [1]]
    assert tokens.truncated == 0


def test_pairs_have_segments_and_lose_words_from_the_longer_side() -> None:
    pairs = [(text_of(2), text_of(9)), (text_of(1), text_of(1))]
    tokens = tokenise(pairs, TOKENIZER, 8)
    batch = tokens.batch([0, 1], CPU)
    # [CLS] first [SEP] second [SEP]: three marks, so five words of the eleven stay
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0, 0]]
    assert batch["attention_mask"].sum(dim=1).tolist() == [8, 5]
    assert tokens.truncated == 1
    kept = TOKENIZER(text_of(2), text_of(3))["input_ids"]
    assert rows_of(tokens)[0] == kept


def test_the_prefix_stands_before_the_first_text_only() -> None:
    assert rows_of(tokenise(["my invoice"], TOKENIZER, 16, "the ")) == rows_of(
        tokenise(["the my invoice"], TOKENIZER, 16)
    )
    assert rows_of(tokenise([("my", "invoice")], TOKENIZER, 16, "the ")) == rows_of(
        tokenise([("the my", "invoice")], TOKENIZER, 16)
    )


def test_a_text_of_exactly_the_limit_is_not_cut() -> None:
    tokens = tokenise([text_of(6), text_of(7)], TOKENIZER, 8)
    assert tokens.lengths.tolist() == [8, 8]
    assert tokens.truncated == 1


def test_segments_only_where_the_encoder_wants_them() -> None:
    plain = tokenise([("the", "my")], UNTYPED, 8)
    assert plain.types is None
    assert set(plain.batch([0], CPU)) == {"input_ids", "attention_mask"}
    assert rows_of(plain) == rows_of(tokenise([("the", "my")], TOKENIZER, 8))


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text_of(count % 11) for count in range(20)]
    whole = tokenise(texts, TOKENIZER, 8)
    monkeypatch.setattr(module, "CHUNK", 7)
    parts = tokenise(texts, TOKENIZER, 8)
    assert rows_of(parts) == rows_of(whole)
    assert parts.truncated == whole.truncated > 0
    np.testing.assert_array_equal(parts.types, whole.types)


def test_no_texts() -> None:
    tokens = tokenise([], TOKENIZER, 8)
    assert len(tokens) == 0
    assert tokens.lengths.tolist() == []
    assert tokens.truncated == 0


def test_memory_grows_with_the_tokens() -> None:
    tokens = tokenise([text_of(1)] * 50 + [text_of(300)], TOKENIZER, 400)
    assert len(tokens) == 51
    assert tokens.ids.dtype == np.int32
    assert tokens.ids.size == 50 * 3 + 302


@pytest.mark.parametrize("rows", [[2, 0], (2, 0), np.array([2, 0]), range(2, -1, -2)])
def test_rows_may_be_any_sequence(rows: Any) -> None:
    tokens = tokenise([text_of(1), text_of(2), text_of(3)], TOKENIZER, 8)
    batch = tokens.batch(rows, CPU)
    assert batch["attention_mask"].sum(dim=1).tolist() == [5, 3]
    assert batch["input_ids"].dtype == batch["attention_mask"].dtype == torch.int64
    assert batch["input_ids"][1, 3:].tolist() == [tokens.pad_id] * 2
