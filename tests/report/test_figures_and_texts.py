"""Values as the page writes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protofit.report import wording


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(None, "–"), (True, "True"), ("a", "a"), (12345, "12,345"), (0.123456, "0.123"),
     (12345.6, "12,346"), (-2.0, "-2"), (0, "0")],
)  # fmt: skip
def test_figures(value: Any, wanted: str) -> None:
    assert wording.figure(value) == wanted


@pytest.mark.parametrize(
    ("number", "noun", "wanted"),
    [(1, "text", "1 text"), (2, "class", "2 classes"), (0, "bin", "0 bins"),
     (1_000, "prototype", "1,000 prototypes")],
)  # fmt: skip
def test_counts(number: int, noun: str, wanted: str) -> None:
    assert wording.counted(number, noun) == wanted


def test_shares_distances_and_lists() -> None:
    assert (wording.percent(0.12345), wording.percent(None)) == ("12.3 %", "–")
    assert (wording.fixed(1.5), wording.fixed(2_345.6)) == ("1.50", "2,346")
    assert wording.listed(["a"]) == "a"
    assert wording.listed(["a", "b", "c"]) == "a, b and c"


def test_a_pair_is_one_line() -> None:
    assert wording.said(("one", "other")) == "one ‖ other"
    assert wording.said(None) is None


@given(st.text(max_size=80), st.integers(1, 60))
def test_a_shortened_text_fits_and_is_a_beginning(text: str, limit: int) -> None:
    cut = wording.shortened(text, limit)
    assert cut is not None
    assert len(cut) <= max(limit, 2)
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


def test_it_is_cut_at_a_word_where_one_ends_nearby() -> None:
    assert wording.shortened("the parcel never arrived here", 20) == "the parcel never…"
    assert wording.shortened("a" * 30, 20) == "a" * 19 + "…"
