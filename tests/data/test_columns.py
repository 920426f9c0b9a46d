"""Columns turned into texts, pairs, labels and targets, and every refusal with its place."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.data.columns import class_labels, drop_bad_rows, targets, text_inputs, texts
from protofit.data.table import Table
from protofit.errors import InputError


def table(**columns: list[object]) -> Table:
    """Rows on the lines 2, 4, 6 ... of tickets.csv."""
    count = len(next(iter(columns.values())))
    return Table("tickets.csv", columns, [2 * i + 2 for i in range(count)], "line")


def problem(check: Callable[..., object], *args: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        check(*args, **options)
    assert caught.value.fix
    return str(caught.value)


def test_texts_are_returned_as_they_are() -> None:
    values: list[object] = [" a\n", "NA", "\u200b", "שלום\u202e"]
    assert texts(table(text=values), "text") == values


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, "the text is missing."),
        (math.nan, "the text is missing."),
        ("", "the text is empty."),
        (" \n\u3000", "the text is empty."),
        (7, "found 7, which is a whole number, not text."),
        (0.5, "found 0.5, which is a decimal number, not text."),
        (True, "found True, which is true or false, not text."),
        (["a"], "found ['a'], which is a list, not text."),
        (b"a", "found b'a', which is raw bytes, not text."),
        ("a\ud800", "the text holds half of a surrogate pair"),
    ],
)
def test_bad_text(value: object, found: str) -> None:
    message = problem(texts, table(text=["a", "b", value]), "text")
    assert message.startswith(f"tickets.csv, line 6, column 'text': {found}")


@pytest.mark.parametrize(
    ("header", "words"),
    [("text;label", "semicolons"), ("text\tlabel", "tabs"), ("text,label", "commas")],
)
def test_the_only_column_seems_to_be_several(header: str, words: str) -> None:
    """As Excel writes a csv file where the comma is the decimal point."""
    message = problem(texts, table(**{header: ["a;b"]}), "text")
    assert f"there is no column 'text'. Its cells seem to be separated by {words}: " in message
    assert message.endswith(f"The columns are {header!r}.")
    assert texts(table(**{header: ["a;b"]}), header) == ["a;b"]


def test_empty_texts_can_be_allowed_but_not_missing_ones() -> None:
    assert texts(table(text=["", " "]), "text", allow_empty=True) == ["", " "]
    message = problem(texts, table(text=["", None]), "text", allow_empty=True)
    assert message.startswith("tickets.csv, line 4, column 'text': the text is missing.")


@pytest.mark.parametrize("name", ["lable", "LABEL", " label "])
def test_missing_column_names_the_closest(name: str) -> None:
    message = problem(texts, table(text=["a"], label=["b"]), name)
    expected = f"tickets.csv: there is no column {name!r}."
    assert message.startswith(" ".join(expected.split()))
    assert message.endswith("Did you mean 'label'? The columns are 'text', 'label'.")


def test_missing_column_without_a_close_name() -> None:
    message = problem(targets, table(text=["a"], label=["b"]), "xyz")
    assert message == "tickets.csv: there is no column 'xyz'. The columns are 'text', 'label'."


def test_many_columns_are_not_all_listed() -> None:
    columns: dict[str, list[object]] = {f"c{i}": ["a"] for i in range(30)}
    many = table(**columns)
    assert problem(texts, many, "zzz").endswith("'c18', 'c19' and 10 more.")


def test_empty_column_name() -> None:
    message = problem(texts, table(text=["a"]), "")
    assert message == "tickets.csv: the column name is empty. The columns are 'text'."


def test_text_inputs() -> None:
    both = table(a=["x", "y"], b=["z", ""])
    assert text_inputs(both, "a") == ["x", "y"]
    assert text_inputs(both, "a", "b", allow_empty=True) == [("x", "z"), ("y", "")]
    message = problem(text_inputs, both, "a", "b")
    assert message.startswith("tickets.csv, line 4, column 'b': the text is empty.")


@pytest.mark.parametrize(
    "values", [["b", "a", " a"], ["1", "07"], [3, 1, -2], [True, False], [np.int64(3), 1]]
)
def test_class_labels(values: list[object]) -> None:
    labels = class_labels(table(label=values), "label")
    assert labels == values
    assert {type(label) for label in labels} <= {str, int, bool}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["a", None], "the label is missing."),
        ([1, math.nan], "the label is missing."),
        (["a", ""], "the label is empty."),
        (["a", "  "], "the label is empty."),
        ([1, 2.0], "the label 2.0 is a decimal number. Use --task regression, or write"),
        ([1, Decimal("0.5")], "the label Decimal('0.5') is a decimal number."),
        (["a", ["b"]], "the label ['b'] is a list."),
        (["a", b"b"], "the label b'b' is raw bytes."),
        ([1, 2**63], f"the label {2**63} does not fit in 64 bits."),
        (
            ["spam", 3],
            "the label 3 is a whole number, but the label 'spam' "
            "(tickets.csv, line 2, column 'label') is text.",
        ),
        (
            [1, True],
            "the label True is true or false, but the label 1 "
            "(tickets.csv, line 2, column 'label') is a whole number.",
        ),
    ],
)
def test_bad_label(values: list[object], found: str) -> None:
    message = problem(class_labels, table(label=values), "label")
    assert message.startswith(f"tickets.csv, line 4, column 'label': {found}")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e18, 1e18), max_size=8))
def test_targets_as_numbers_and_as_text(numbers: list[float]) -> None:
    both = table(number=list(numbers), text=[repr(number) for number in numbers])
    assert targets(both, "number") == targets(both, "text") == numbers


@pytest.mark.parametrize("value", [1.1e18, -1e300, "2e18"])
def test_targets_whose_square_would_not_fit(value: object) -> None:
    message = problem(targets, table(y=[1.0, value]), "y")
    assert message.startswith("tickets.csv, line 4, column 'y': the target")
    assert "too large" in message


def test_targets_of_other_kinds() -> None:
    values: list[object] = [1, " 2.5 ", Decimal("3.5"), np.float32(0.5), "1e3", "+.5", "-7"]
    numbers = targets(table(y=values), "y")
    assert numbers == [1.0, 2.5, 3.5, 0.5, 1000.0, 0.5, -7.0]
    assert {type(number) for number in numbers} == {float}


@pytest.mark.parametrize("value", [None, math.nan, "", " ", Decimal("nan")])
def test_missing_target(value: object) -> None:
    message = problem(targets, table(y=[1.0, value]), "y")
    assert message.startswith("tickets.csv, line 4, column 'y': the target is missing.")


@pytest.mark.parametrize(
    "value",
    [math.inf, -math.inf, "nan", "inf", "1e999", 10**400, True, np.True_, "3,5", "1_000", "abc",
     "0x1f", "١٢", [1.0], "1 2"],
)  # fmt: skip
def test_bad_target(value: object) -> None:
    message = problem(targets, table(y=[1.0, value]), "y")
    assert message.startswith("tickets.csv, line 4, column 'y': the target ")
    assert "is not a finite number" in message
    assert len(message) < 300


def test_drop_bad_rows() -> None:
    mixed = table(text=["a", None, " ", "d", "e", "f"], label=[1, 1, 1, math.nan, 0, None])
    kept, dropped = drop_bad_rows(mixed, ["text", "label"])
    assert kept.columns == {"text": ["a", "e"], "label": [1, 0]}
    assert (kept.rows, dropped) == ([2, 10], 4)
    assert drop_bad_rows(mixed, ["text"])[1] == 2
    assert drop_bad_rows(kept, ["text", "label"]) == (kept, 0)


def test_drop_bad_rows_refuses_to_leave_nothing() -> None:
    message = problem(drop_bad_rows, table(text=["a", "b"], label=["", None]), ["text", "label"])
    assert message.startswith("tickets.csv: every row lacks a value in one of the columns 'text',")
    assert "no column 'y'" in problem(drop_bad_rows, table(text=["a"]), ["y"])
