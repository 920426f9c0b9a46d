"""The class order: sorted, the same for every order of rows, and lossless both ways."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.data.labels import ClassOrder, Label
from protofit.errors import InputError

WHOLE = st.integers(-(2**63), 2**63 - 1)
LABELS = st.one_of(
    st.lists(st.text(max_size=6), min_size=2, max_size=12),
    st.lists(WHOLE | st.integers(-3, 3), min_size=2, max_size=12),
    st.lists(st.booleans(), min_size=2, max_size=12),
).filter(lambda labels: len(set(labels)) > 1)


def problem(action: Callable[..., object], *args: object) -> str:
    with pytest.raises(InputError) as caught:
        action(*args)
    assert caught.value.fix
    return str(caught.value)


def line(i: int) -> str:
    return f"t.csv, line {i + 2}"


@settings(max_examples=200, deadline=None)
@given(LABELS)
def test_encode_and_decode_are_inverse(labels: list[Label]) -> None:
    order = ClassOrder.of(labels)
    encoded = order.encode(labels)
    decoded = order.decode(encoded)
    assert encoded.dtype == np.int64
    assert decoded.tolist() == labels
    assert [type(label) for label in decoded.tolist()] == [type(label) for label in labels]


@settings(max_examples=100, deadline=None)
@given(LABELS)
def test_classes_are_sorted_and_distinct(labels: list[Label]) -> None:
    classes = ClassOrder.of(labels).classes
    assert set(classes) == set(labels)
    assert list(classes) == sorted(set(labels))  # type: ignore[type-var]


@settings(max_examples=100, deadline=None)
@given(LABELS.flatmap(lambda labels: st.tuples(st.just(labels), st.permutations(labels))))
def test_the_order_of_rows_does_not_matter(both: tuple[list[Label], list[Label]]) -> None:
    assert ClassOrder.of(both[0]) == ClassOrder.of(both[1])


@settings(max_examples=100, deadline=None)
@given(LABELS)
def test_json_round_trip_keeps_types(labels: list[Label]) -> None:
    order = ClassOrder.of(labels)
    back = ClassOrder.from_json(json.loads(json.dumps(order.to_json())))
    assert back == order
    assert [type(label) for label in back.classes] == [type(label) for label in order.classes]


@settings(max_examples=100, deadline=None)
@given(LABELS)
def test_counts(labels: list[Label]) -> None:
    order = ClassOrder.of(labels)
    expected = [labels.count(label) for label in order.classes]
    assert order.counts(order.encode(labels)).tolist() == expected
    assert order.counts([]).tolist() == [0] * len(order)


def test_sorted_by_value_or_code_point() -> None:
    assert ClassOrder.of([10, 9, -1]).classes == (-1, 9, 10)
    assert ClassOrder.of(["10", "9", "é", "a", "Z"]).classes == ("10", "9", "Z", "a", "é")
    assert ClassOrder.of([True, False]).classes == (False, True)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array([2, 1], np.int8), int),
        (np.array(["b", "a"]), str),
        (np.array([True, False]), bool),
    ],
)
def test_numpy_scalars_become_plain(labels: np.ndarray, kind: type) -> None:
    order = ClassOrder.of(labels)
    assert {type(label) for label in order.classes} == {kind}
    assert ClassOrder(tuple(np.sort(labels))).classes == order.classes
    assert order.encode(labels).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("order", "labels", "expected"),
    [
        (ClassOrder(("-1", "7")), [7, -1], [1, 0]),
        (ClassOrder(("False", "True")), [True, np.False_], [1, 0]),
        (ClassOrder((-1, 7)), ["7", "-1", 7], [1, 0, 1]),
        (ClassOrder((False, True)), ["True", False], [1, 0]),
    ],
)
def test_labels_match_by_written_form(
    order: ClassOrder, labels: list[object], expected: list[int]
) -> None:
    assert order.encode(labels).tolist() == expected


@pytest.mark.parametrize(
    ("order", "label"),
    [
        (ClassOrder((1, 7)), "07"),
        (ClassOrder((1, 7)), "+7"),
        (ClassOrder((1, 7)), " 7"),
        (ClassOrder((1, 7)), "7.0"),
        (ClassOrder((1, 7)), "７"),
        (ClassOrder((0, 1)), True),
        (ClassOrder((False, True)), 1),
        (ClassOrder(("01", "1")), 2),
        (ClassOrder(("a", "b")), "A"),
    ],
)
def test_unknown_label(order: ClassOrder, label: object) -> None:
    message = problem(order.encode, [order.classes[0], label], line)
    shown = " ".join(repr(label).split())
    assert message.startswith(f"t.csv, line 3: the label {shown} is none of the 2 known classes: ")


def test_unknown_label_shows_at_most_ten_classes() -> None:
    order = ClassOrder(tuple(f"c{i:02}" for i in range(13)))
    message = problem(order.encode, ["x"])
    assert message.startswith("labels[0]: the label 'x' is none of the 13 known classes: 'c00', ")
    assert "'c09' and 3 more." in message
    assert "c10" not in message


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None], "t.csv, line 3: the label is missing."),
        ([1, math.nan], "t.csv, line 3: the label is missing."),
        ([1, np.float32("nan")], "t.csv, line 3: the label is missing."),
        ([1, 0.5], "t.csv, line 3: the label 0.5 is a decimal number. Use --task regression"),
        ([1, np.float64(2)], "t.csv, line 3: the label 2.0 is a decimal number."),
        ([1, "a"], "t.csv, line 3: the label 'a' is text, but the label 1 (t.csv, line 2) is a w"),
        ([1, True], "t.csv, line 3: the label True is true or false, but the label 1 (t.csv, li"),
        (["x", "x"], "all rows have the label 'x' (the first: t.csv, line 2)."),
        ([], "there are no labels."),
    ],
)
def test_labels_that_make_no_order(labels: list[object], message: str) -> None:
    assert problem(ClassOrder.of, labels, line).startswith(message)


def test_missing_values_of_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    for missing in (pandas.NA, pandas.NaT):
        assert problem(ClassOrder.of, ["a", missing]).startswith("labels[1]: the label is missing")
    assert ClassOrder.of(pandas.Series([1, 0], index=[5, 9])).classes == (0, 1)


def test_encode_refuses_missing_and_decimal_labels() -> None:
    order = ClassOrder((0, 1))
    assert problem(order.encode, [0, None], line).startswith("t.csv, line 3: the label is missing.")
    assert "1.0 is a decimal number" in problem(order.encode, [1.0])


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("ab", "the classes are text, not a list."),
        (None, "the classes are missing, not a list."),
        ([], "there are fewer than two classes: none."),
        (["a"], "there are fewer than two classes: 'a'."),
        (["a", "b", "a"], "a class appears twice: 'a', 'b', 'a'."),
        (["a", 1], "classes[1]: the label 1 is a whole number, but the label 'a' (classes[0])"),
        ([0, True], "classes[1]: the label True is true or false"),
        ([0, None], "classes[1]: the label is missing."),
        ([0, 1.5], "classes[1]: the label 1.5 is a decimal number."),
        ([0, 2**64], "classes[1]: the label 18446744073709551616 does not fit in 64 bits."),
        (["a", ["b"]], "classes[1]: the label ['b'] is a list."),
    ],
)
def test_saved_classes_are_checked(value: object, found: str) -> None:
    assert problem(ClassOrder.from_json, value).startswith(found)


def test_decode_gives_natural_types_in_the_shape_of_the_indices() -> None:
    assert ClassOrder((3, 9)).decode([[1], [0]]).tolist() == [[9], [3]]
    assert ClassOrder((3, 9)).decode([]).dtype == np.int64
    assert ClassOrder((False, True)).decode([0]).dtype == np.bool_
    assert ClassOrder(("a", "bc")).decode(np.array([1], np.int32)).dtype == np.dtype("<U2")
    assert ClassOrder(("a", "a\0")).decode([1]).tolist() == ["a\0"]


@pytest.mark.parametrize("indices", [[-1], [2]])
def test_indices_outside_the_classes(indices: list[int]) -> None:
    order = ClassOrder(("a", "b"))
    with pytest.raises(IndexError, match="between 0 and 1"):
        order.decode(indices)
    with pytest.raises(IndexError, match="between 0 and 1"):
        order.counts(indices)


def test_indices_that_are_no_integers() -> None:
    with pytest.raises(TypeError, match="float64"):
        ClassOrder(("a", "b")).decode([0.5])
