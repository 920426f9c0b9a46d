"""Texts and labels in the containers that people have them in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from helpers.quick import quick_classifier
from protofit.errors import InputError
from protofit.estimators.inputs import as_inputs, as_values

TEXTS = ["Where is my parcel?", "naïve 日本 🙂", "", "  two  spaces\n"]
PAIRS = [("one", "two"), ("", "b"), ("c", "d"), ("e", "f")]
FIRST, SECOND = [a for a, _ in PAIRS], [b for _, b in PAIRS]


def column_of_dataset(values: list[Any]) -> Any:
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_dict({"text": values})["text"]


SINGLES: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda texts: (text for text in texts),
    "numpy text": np.array,
    "numpy objects": lambda texts: np.array(texts, dtype=object),
    "numpy items": lambda texts: [np.str_(text) for text in texts],
    "pandas series": pd.Series,
    "pandas series with gaps in the index": lambda texts: pd.Series(texts, index=[7, 3, 5, 1]),
    "pandas arrow strings": lambda texts: pd.Series(texts, dtype="string[pyarrow]"),
    "pandas categories": lambda texts: pd.Series(texts, dtype="category"),
    "pandas index": pd.Index,
    "pandas frame": lambda texts: pd.DataFrame({"text": texts}),
    "polars series": pl.Series,
    "polars frame": lambda texts: pl.DataFrame({"text": texts}),
    "arrow array": pa.array,
    "arrow chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    "arrow table": lambda texts: pa.table({"text": texts}),
    "dataset column": column_of_dataset,
}


@pytest.mark.parametrize("make", SINGLES.values(), ids=SINGLES.keys())
def test_texts_from_every_container(make: Callable[[list[str]], Any]) -> None:
    found = as_inputs(make(TEXTS))
    assert found == TEXTS
    assert {type(text) for text in found} == {str}


TWO: dict[str, Callable[[], Any]] = {
    "list of tuples": lambda: PAIRS,
    "list of lists": lambda: [list(pair) for pair in PAIRS],
    "tuple of tuples": lambda: tuple(PAIRS),
    "zip": lambda: zip(FIRST, SECOND, strict=True),
    "numpy two columns": lambda: np.array(PAIRS),
    "list of arrays": lambda: [np.array(pair) for pair in PAIRS],
    "numpy objects": lambda: np.array(PAIRS, dtype=object),
    "pandas frame": lambda: pd.DataFrame({"b": FIRST, "a": SECOND}, index=[4, 3, 2, 1]),
    "pandas series of tuples": lambda: pd.Series(PAIRS),
    "polars frame": lambda: pl.DataFrame({"b": FIRST, "a": SECOND}),
    "arrow table": lambda: pa.table({"b": FIRST, "a": SECOND}),
    "arrow lists": lambda: pa.array([list(pair) for pair in PAIRS]),
    "dataset column of lists": lambda: column_of_dataset([list(pair) for pair in PAIRS]),
}


@pytest.mark.parametrize("make", TWO.values(), ids=TWO.keys())
def test_pairs_from_every_container(make: Callable[[], Any]) -> None:
    assert as_inputs(make()) == PAIRS


@pytest.mark.parametrize("nothing", [[], (), np.array([]), pd.Series([], dtype=object)])
def test_nothing_is_an_empty_list(nothing: Any) -> None:
    assert as_inputs(nothing) == []


REFUSED: dict[str, tuple[Any, str]] = {
    "one text": ("hello", "single text"),
    "one numpy text": (np.str_("hello"), "single text"),
    "array without dimension": (np.array("hello"), "single text"),
    "bytes": (b"hello", "single text"),
    "number": (5, "int is not a list"),
    "nothing": (None, "NoneType is not a list"),
    "dictionary": ({"text": TEXTS}, "dict"),
    "set": (set(TEXTS), "set"),
    "None first": ([None, "a"], "text 0 is missing"),
    "None later": (["a", None], "text 1 is missing"),
    "NaN": (["a", float("nan")], "text 1 is missing"),
    "NaN in objects": (np.array(["a", np.nan], dtype=object), "text 1 is missing"),
    "missing in pandas": (pd.Series(["a", pd.NA], dtype="string"), "text 1 is missing"),
    "missing in polars": (pl.Series(["a", None]), "text 1 is missing"),
    "numbers": ([1, 2], "item 0 is not a text or a pair"),
    "a number later": (["a", 2], "text 1 is int"),
    "bytes inside": (["a", b"b"], "text 1 is bytes"),
    "half a character": (["a", "b \ud800"], "text 1 holds half of a surrogate pair"),
    "half a character in a pair": ([("a", "\udfff")], "second text of pair 0 holds half"),
    "three parts": ([("a", "b", "c")], r"item 0 is not a text or a pair \(3 parts\)"),
    "one part": ([["a"], ["b"]], "item 0 holds one text"),
    "no part": ([("a", "b"), ()], "item 1 is not a text or a pair"),
    "a pair after a text": (["a", ("b", "c")], "text 1 is tuple"),
    "a text after a pair": ([("a", "b"), "cd"], "item 1 is not a text or a pair"),
    "None in a pair": ([("a", "b"), ("a", None)], "second text of pair 1 is missing"),
    "a number in a pair": ([(1, "b")], "first text of pair 0 is int"),
    "three columns": (pd.DataFrame({"a": TEXTS, "b": TEXTS, "c": TEXTS}), "3 columns"),
    "a frame with an id": (
        pd.DataFrame({"id": ["x"], "text": ["a"], "label": [1]}),
        r"3 columns.*frame\['text'\]",
    ),
    "a frame with a label": (pd.DataFrame({"a": TEXTS, "b": [1, 2, 3, 4]}), "the one column"),
    "a name twice": (pd.DataFrame([["a", "b", "c"]], columns=["x", "y", "y"]), "the same name"),
    "rows": ([{"n": 1, "q": "a"}], r"item 0 is a row of 2 columns.*data\['q'\].*row\['q'\] for"),
    "three polars columns": (pl.DataFrame({"a": TEXTS, "b": TEXTS, "c": TEXTS}), "3 columns"),
    "numbers in a frame": (pd.DataFrame({"a": TEXTS, "b": [1, 2, 3, 4]}), "second text of pair 0"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_neither_texts_nor_pairs_is_refused(data: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        as_inputs(data)
    assert caught.value.fix


def test_a_whole_data_set_is_refused_with_the_column_to_give() -> None:
    datasets = pytest.importorskip("datasets")
    rows = {"label": ["x", "y"], "text": ["a", "b"]}
    data = datasets.Dataset.from_dict(rows)
    for whole in (data, data.to_iterable_dataset()):
        with pytest.raises(InputError, match=r"Give the column of the texts: data\['text'\]"):
            as_inputs(whole)
    assert as_inputs(data["text"]) == [row["text"] for row in data] == rows["text"]


LABELS: dict[str, Any] = {
    "list": ["a", "b", "a"],
    "tuple": ("a", "b", "a"),
    "numpy": np.array(["a", "b", "a"]),
    "numpy column": np.array([["a"], ["b"], ["a"]]),
    "pandas series": pd.Series(["a", "b", "a"], index=[2, 0, 1]),
    "pandas categories": pd.Series(["a", "b", "a"], dtype="category"),
    "pandas frame": pd.DataFrame({"label": ["a", "b", "a"]}),
    "polars series": pl.Series(["a", "b", "a"]),
    "polars frame": pl.DataFrame({"label": ["a", "b", "a"]}),
    "arrow array": pa.array(["a", "b", "a"]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_labels_from_every_container(labels: Any) -> None:
    assert as_values(labels) == ["a", "b", "a"]


@pytest.mark.parametrize("labels", [[["a", "b"]], np.zeros((3, 2)), [["a"], 1], "ab"])
def test_labels_in_more_than_one_column_are_refused(labels: Any) -> None:
    with pytest.raises(InputError):
        as_values(labels)


@pytest.mark.parametrize("name", ["pandas frame", "arrow chunks", "numpy text", "dataset column"])
def test_the_container_does_not_change_the_model(tiny_bert: Path, name: str) -> None:
    texts = [f"{text} {i}" for text in TEXTS[:2] for i in "abc"]
    make = SINGLES[name]
    plain = quick_classifier(tiny_bert).fit(texts, [0, 1] * 3)
    other = quick_classifier(tiny_bert).fit(make(texts), pd.Series([0, 1] * 3))
    np.testing.assert_array_equal(plain.predict_proba(texts), other.predict_proba(make(texts)))


def test_a_model_of_pairs_wants_pairs_and_the_other_way_round(tiny_bert: Path) -> None:
    of_pairs = quick_classifier(tiny_bert).fit(PAIRS, [0, 1, 0, 1])
    of_texts = quick_classifier(tiny_bert).fit(TEXTS, [0, 1, 0, 1])
    assert of_pairs.predict(pd.DataFrame(PAIRS)).shape == (4,)
    with pytest.raises(InputError, match="trained on pairs.*got single texts"):
        of_pairs.predict(TEXTS)
    with pytest.raises(InputError, match="trained on single texts.*got pairs"):
        of_texts.predict(PAIRS)


def test_both_sides_of_a_pair_count(tiny_bert: Path) -> None:
    model = quick_classifier(tiny_bert).fit(PAIRS, [0, 1, 0, 1])
    words = ["invoice", "parcel"]
    one, two = model.predict_proba([(words[0], words[1]), (words[0], words[0])])
    assert not np.array_equal(one, two)
