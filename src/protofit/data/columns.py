"""Checks that turn the columns of a table into texts, pairs, labels or targets."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from difflib import get_close_matches

import numpy as np

from protofit.data.labels import Label, is_missing, kind_of, plain_labels, shown
from protofit.data.readers import other_separator
from protofit.data.table import Table
from protofit.errors import InputError

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COLUMNS_SHOWN = 20
_FILL_IN = "Fill it in, or remove the row."


LARGEST_TARGET = 1e18  # the square must fit float32


def texts(table: Table, column: str, *, allow_empty: bool = False) -> list[str]:
    """The texts of a column, every one checked."""
    checked: list[str] = []
    for i, value in enumerate(_cells(table, column)):
        if not isinstance(value, str):
            raise _not_text(value, table.where(i, column))
        if not allow_empty and _is_blank(value):
            raise InputError("the text is empty.", where=table.where(i, column), fix=_FILL_IN)
        if not is_unicode(value):
            raise _not_unicode("text", table.where(i, column))
        checked.append(value)
    return checked


def text_inputs(
    table: Table, text: str, pair: str | None = None, allow_empty: bool = False
) -> list[str] | list[tuple[str, str]]:
    """The texts of one column, or the pairs of texts of two."""
    first = texts(table, text, allow_empty=allow_empty)
    if pair is None:
        return first
    return list(zip(first, texts(table, pair, allow_empty=allow_empty), strict=True))


def class_labels(table: Table, column: str) -> list[Label]:
    """The labels of a column: all text, all whole numbers or all booleans, none empty."""
    cells = _cells(table, column)
    for i, value in enumerate(cells):
        if isinstance(value, str) and _is_blank(value):
            raise InputError("the label is empty.", where=table.where(i, column), fix=_FILL_IN)
        if isinstance(value, str) and not is_unicode(value):
            raise _not_unicode("label", table.where(i, column))
    return plain_labels(cells, lambda i: table.where(i, column))


def targets(table: Table, column: str) -> list[float]:
    """The finite numbers of a column, written as numbers or as text."""
    numbers: list[float] = []
    for i, value in enumerate(_cells(table, column)):
        if _lacks_value(value):
            raise InputError("the target is missing.", where=table.where(i, column), fix=_FILL_IN)
        number = _number(value)
        if number is None or not math.isfinite(number):
            raise InputError(
                f"the target {shown(value)} is not a finite number ({kind_of(value)}).",
                where=table.where(i, column),
                fix="Write it with digits and a decimal point, such as 3.5, or remove the row.",
            )
        if abs(number) > LARGEST_TARGET:
            raise InputError(
                f"the target {shown(value)} is too large to be squared.",
                where=table.where(i, column),
                fix="Correct the row, or give the column in another unit.",
            )
        numbers.append(number)
    return numbers


def drop_bad_rows(table: Table, columns: Sequence[str]) -> tuple[Table, int]:
    """The table without the rows that lack a value in one of `columns`, and their number."""
    checked = [_cells(table, column) for column in columns]
    good = [i for i in range(len(table)) if not any(_lacks_value(cells[i]) for cells in checked)]
    if not good:
        raise InputError(
            f"every row lacks a value in one of the columns {_listed(columns)}.",
            where=table.source,
            fix="Choose other columns, or fill in the values.",
        )
    return table.take(good), len(table) - len(good)


def _cells(table: Table, column: str) -> list[object]:
    if column in table.columns:
        return table.columns[column]
    available = f"The columns are {_listed(list(table.columns))}."
    if not column.strip():
        raise InputError("the column name is empty.", where=table.source, fix=available)
    close = _closest(column, list(table.columns))
    other = other_separator(list(table.columns))
    hint = other or (f"Did you mean {close!r}?" if close else "")
    fix = f"{hint} {available}".lstrip()
    raise InputError(f"there is no column {column!r}.", where=table.source, fix=fix)


def _closest(name: str, names: Sequence[str]) -> str | None:
    by_folded = {known.strip().casefold(): known for known in reversed(names)}
    match = get_close_matches(name.strip().casefold(), list(by_folded), n=1)
    return by_folded[match[0]] if match else None


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _COLUMNS_SHOWN
    listed = ", ".join(repr(name) for name in names[:_COLUMNS_SHOWN])
    return f"{listed} and {more} more" if more > 0 else listed


def _not_text(value: object, where: str) -> InputError:
    if is_missing(value):
        return InputError("the text is missing.", where=where, fix=_FILL_IN)
    return InputError(
        f"found {shown(value)}, which is {kind_of(value)}, not text.",
        where=where,
        fix="Choose a column of texts, or store these values as text.",
    )


def _not_unicode(what: str, where: str) -> InputError:
    return InputError(
        f"the {what} holds half of a surrogate pair, which is no character.",
        where=where,
        fix=f"Remove the broken escape (\\ud800 to \\udfff) from the {what}.",
    )


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _lacks_value(value: object) -> bool:
    return is_missing(value) or (isinstance(value, str) and _is_blank(value))


def is_unicode(text: str) -> bool:
    """Whether a text can be written at all: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(value: object) -> float | None:
    """The number that a cell holds, infinite where it is too large; None if it holds none."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, float, np.integer, np.floating, Decimal)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return None
