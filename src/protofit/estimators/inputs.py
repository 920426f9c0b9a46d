"""Texts as people have them: lists, arrays, data frame columns, dataset columns, pairs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from protofit.data.columns import is_unicode
from protofit.data.labels import is_missing
from protofit.errors import InputError

PAIR_FIX = "Give a list of texts, the one column that holds them, or a list of (text, text) pairs."


def as_inputs(texts: Any) -> list[str] | list[tuple[str, str]]:
    """A list of texts or of pairs; every item checked."""
    items = _as_list(texts)
    if not items:
        return []
    paired = not isinstance(items[0], str) and not is_missing(items[0])
    if paired:
        return [_pair(item, i) for i, item in enumerate(items)]
    return [_text(item, f"text {i}") for i, item in enumerate(items)]


def as_values(labels: Any) -> list[Any]:
    """Labels or targets as a flat list of Python values."""
    values = _as_list(labels)
    if values and isinstance(values[0], (list, tuple)):
        if any(not isinstance(value, (list, tuple)) or len(value) != 1 for value in values):
            raise InputError("y has more than one column", fix="Give one label for each text.")
        return [value[0] for value in values]
    return values


def as_weights(weights: Any, count: int, name: str) -> np.ndarray:
    """Weights as float64 (count,)."""
    try:
        numbers = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} holds what is no number", fix="Give finite numbers.") from error
    if numbers.shape != (count,):
        raise InputError(f"{name} has the shape {numbers.shape}", fix=f"Give {count} numbers.")
    return numbers


def _as_list(data: Any) -> list[Any]:
    if hasattr(data, "columns") and hasattr(data, "shape"):  # a pandas or polars data frame
        return _frame_rows(data)
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas, polars; numpy
        if hasattr(data, method):
            data = getattr(data, method)()
            break
    if hasattr(data, "__array__"):
        data = np.asarray(data).tolist()
    if isinstance(data, (str, bytes)):
        raise InputError("a single text was given", fix="Put it in a list: [text].")
    if not isinstance(data, Iterable) or isinstance(data, (dict, set, frozenset)):
        raise InputError(f"{type(data).__name__} is not a list of texts", fix=PAIR_FIX)
    return list(data)


def _frame_rows(frame: Any) -> list[Any]:
    names = list(getattr(frame, "column_names", None) or frame.columns)
    if len(set(names)) < len(names):
        fix = "Rename one of them, or give the one text column."
        raise InputError("two columns of the data frame have the same name", fix=fix)
    columns = [_as_list(frame[name]) for name in names]
    if len(names) > 2:
        first = {name: next(iter(cells), None) for name, cells in zip(names, columns, strict=True)}
        found = _text_column(first)
        raise InputError(
            f"the data frame has {len(names)} columns",
            fix=f"Select the one text column, such as frame[{found!r}], "
            "or the two of a pair: frame[['a', 'b']].",
        )
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _text_column(row: dict[Any, Any]) -> Any:
    """The column to propose: "text" if it holds a text, else the first that does."""
    texts = [name for name, cell in row.items() if isinstance(cell, str)]
    return "text" if "text" in texts or not texts else texts[0]


def _pair(item: Any, i: int) -> tuple[str, str]:
    if isinstance(item, dict):  # of a whole data set
        name = repr(_text_column(item))
        raise InputError(
            f"item {i} is a row of {len(item)} columns, not a text or a pair",
            fix=f"Give the column of the texts: data[{name}], or [row[{name}] for row in data].",
        )
    sides = list(item) if isinstance(item, (list, tuple, np.ndarray)) else []
    if len(sides) == 1:
        raise InputError(f"item {i} holds one text", fix="Give the texts themselves: a flat list.")
    if len(sides) != 2:
        found = f"{len(sides)} parts" if sides else type(item).__name__
        raise InputError(f"item {i} is not a text or a pair ({found})", fix=PAIR_FIX)
    return _text(sides[0], f"first text of pair {i}"), _text(sides[1], f"second text of pair {i}")


def _text(value: Any, where: str) -> str:
    if isinstance(value, str):
        if not is_unicode(value):
            raise InputError(
                f"{where} holds half of a surrogate pair, which is no character",
                fix="Remove the broken escape (\\ud800 to \\udfff) from the text.",
            )
        return str(value)
    if is_missing(value):
        raise InputError(f"{where} is missing", fix="Remove the row or fill it.")
    raise InputError(f"{where} is {type(value).__name__}, not text", fix=PAIR_FIX)
