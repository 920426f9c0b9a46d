"""Texts as rows of tokens and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.tiny import make_tokenizer
from protofit.decoder.spelling import (
    BORDER,
    END,
    FIRST,
    NEXT,
    PAD,
    START,
    STOP,
    UNKNOWN,
    Vocabulary,
    padded,
    shifted,
    spell,
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer()


def ids(tokenizer: Any, text: str) -> list[int]:
    return [int(tokenizer.convert_tokens_to_ids(word)) for word in text.split()]


def test_a_text_is_its_tokens_and_an_end(tokenizer: Any) -> None:
    assert spell(tokenizer, ["my order is late"], 10) == [
        [*ids(tokenizer, "my order is late"), STOP]
    ]


def test_a_text_that_is_cut_has_no_end(tokenizer: Any) -> None:
    """Else the decoder would learn to stop in the middle."""
    words = ids(tokenizer, "my order is late")
    assert spell(tokenizer, ["my order is late"], 4) == [[*words, STOP]]
    assert spell(tokenizer, ["my order is late"], 3) == [words[:3]]


def test_a_pair_has_a_border_and_each_side_half_the_length(tokenizer: Any) -> None:
    found = spell(tokenizer, [("my order is late", "my order")], 6)
    assert found == [[*ids(tokenizer, "my order is"), BORDER, *ids(tokenizer, "my order"), STOP]]


def test_the_vocabulary_keeps_the_most_frequent_tokens_but_never_the_unknown() -> None:
    spellings = [[7, 7, 9, 1, STOP], [7, 9, 8, BORDER, 1, STOP]]
    assert Vocabulary.of(spellings, 2, 1).ids == (7, 9)
    assert Vocabulary.of(spellings, 3, 1).ids == (7, 8, 9)
    assert Vocabulary.of(spellings, 3, None).ids == (1, 7, 9)


def test_rows_name_what_is_not_in_the_vocabulary() -> None:
    vocabulary = Vocabulary((7, 9))
    row = vocabulary.rows([[7, BORDER, 9, 1234, STOP]])[0]
    assert row.tolist() == [FIRST, NEXT, FIRST + 1, UNKNOWN, END]


@pytest.mark.parametrize("given", ["my order is late", ("my order", "is late"), ("my order", "")])
def test_reading_a_row_gives_the_text_back(tokenizer: Any, given: Any) -> None:
    spellings = spell(tokenizer, [given], 20)
    vocabulary = Vocabulary.of(spellings, 100, tokenizer.unk_token_id)
    row = vocabulary.rows(spellings)[0].tolist()
    paired = not isinstance(given, str)
    assert vocabulary.read(tokenizer, [*row, FIRST, FIRST], paired=paired) == given


def test_a_pair_without_a_border_has_an_empty_second_text(tokenizer: Any) -> None:
    spellings = spell(tokenizer, ["my order"], 20)
    vocabulary = Vocabulary.of(spellings, 100, None)
    row = vocabulary.rows(spellings)[0].tolist()
    assert vocabulary.read(tokenizer, row, paired=True) == ("my order", "")


def test_padding_and_what_is_read() -> None:
    table = padded([np.array([6, 7, END]), np.array([8])])
    assert table.tolist() == [[6, 7, END], [8, PAD, PAD]]
    assert shifted(table).tolist() == [[START, 6, 7], [START, 8, PAD]]
