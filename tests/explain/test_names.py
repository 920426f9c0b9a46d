"""Distinctive words against the formula in loops."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from protofit.explain.names import LOWEST, PRIOR, Vocabulary, log_odds, suggest, words_of


def slow_score(inside: list[float], outside: list[float], w: int) -> float:
    """Monroe, Colaresi and Quinn, for one word."""
    every = [g + r for g, r in zip(inside, outside, strict=True)]
    a = PRIOR * every[w] / sum(every)
    g, r = inside[w] + a, outside[w] + a
    n_g, n_r = sum(inside) + PRIOR, sum(outside) + PRIOR
    delta = math.log(g / (n_g - g)) - math.log(r / (n_r - r))
    return delta / math.sqrt(1 / g + 1 / r)


counts = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=2, max_size=8)


@given(counts)
def test_log_odds(pairs: list[tuple[int, int]]) -> None:
    inside, outside = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    found = log_odds(np.array(inside), np.array(outside))
    for w in range(len(pairs)):
        assert math.isclose(found[w], slow_score(inside, outside, w), rel_tol=1e-9, abs_tol=1e-9)


def test_words_are_folded_counted_once_and_long_enough() -> None:
    assert words_of("The PARCEL, the parcel! is 42 x9 don’t well-known") == {
        "the", "parcel", "don’t", "well-known",
    }  # fmt: skip
    assert words_of(("Größe", "ГРУЗ груз")) == {"grösse", "груз"}
    assert words_of("1 2 3 …") == set()


def made() -> tuple[list[str], np.ndarray]:
    """Groups with telling words each, a word in all texts, and one spread evenly."""
    telling = ("parcel van", "invoice", "password")
    rows = [f"the {own} {'often' if i % 3 == 0 else ''}" for own in telling for i in range(30)]
    return rows, np.repeat([0, 1, 2], 30)


def test_a_group_is_named_by_what_sets_it_apart() -> None:
    texts, labels = made()
    vocabulary = Vocabulary.of(texts, labels)
    first = vocabulary.distinctive(np.arange(10))
    assert set(first) == {"parcel", "van"}
    assert vocabulary.distinctive(np.arange(30, 40)) == ["invoice"]
    assert len(vocabulary.distinctive(np.arange(10), count=1)) == 1


def test_words_of_every_text_or_of_all_labels_alike_say_nothing() -> None:
    texts, labels = made()
    vocabulary = Vocabulary.of(texts, labels)
    told = dict(zip(vocabulary.words, vocabulary.telling, strict=True))
    assert {word for word, tells in told.items() if not tells} == {"the", "often"}


def test_a_word_that_hardly_stands_out_is_not_named() -> None:
    texts = [f"word{chr(97 + i)} plain" for i in range(20)]
    vocabulary = Vocabulary.of(texts, np.arange(20) % 2)
    assert vocabulary.distinctive(np.arange(10)) == []
    assert LOWEST > 0


def test_no_texts_no_words_no_name() -> None:
    assert Vocabulary.of(["12", ""], np.array([0, 1])).distinctive(np.array([0])) == []
    assert Vocabulary.of(["parcel", "van"], np.array([0, 1])).distinctive(np.array([], int)) == []


def test_the_only_word_there_is_says_nothing() -> None:
    vocabulary = Vocabulary.of([f"hello {i}" for i in range(6)], np.arange(6) % 2)
    assert vocabulary.words == ["hello"]
    with np.errstate(all="raise"):
        assert vocabulary.distinctive(np.array([0, 2])) == []


def test_suggested_names() -> None:
    assert suggest("delivery", ["parcel", "late"], 4) == "delivery: parcel, late"
    assert suggest("delivery", [], 4) == "delivery (prototype 4)"
