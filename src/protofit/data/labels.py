"""The order of the classes: which label has which index."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protofit.errors import InputError

Label = str | int | bool
Where = Callable[[int], str]

_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "true or false"),
    ((int, np.integer), "a whole number"),
    ((float, np.floating, Decimal), "a decimal number"),
    ((str,), "text"),
    ((bytes,), "raw bytes"),
    ((list, tuple, np.ndarray), "a list"),
    ((dict,), "an object"),
)
_CLASSES_SHOWN = 10


@dataclass(frozen=True)
class ClassOrder:
    """At least two distinct labels of one type; the index of a class is its place."""

    classes: tuple[Label, ...]

    def __post_init__(self) -> None:
        plain = plain_labels(self.classes, lambda i: f"classes[{i}]")
        object.__setattr__(self, "classes", tuple(plain))
        fix = "Give at least two labels, each once."
        if len(plain) < 2:
            raise InputError(f"there are fewer than two classes: {self._shown()}.", fix=fix)
        if len(set(plain)) != len(plain):
            raise InputError(f"a class appears twice: {self._shown()}.", fix=fix)

    def __len__(self) -> int:
        return len(self.classes)

    @classmethod
    def of(cls, labels: Iterable[object], where: Where | None = None) -> ClassOrder:
        """The distinct labels in order: False, True; numbers by value; texts by code point."""
        known = plain_labels(labels, where)
        if not known:
            raise InputError("there are no labels.", fix="Give at least one row per class.")
        distinct = set(known)
        if len(distinct) == 1:
            first = f" (the first: {where(0)})" if where else ""
            raise InputError(
                f"all rows have the label {shown(known[0])}{first}.",
                fix="Add rows with another label: there must be at least two classes.",
            )
        return cls(tuple(sorted(distinct)))

    def encode(self, labels: Iterable[object], where: Where | None = None) -> NDArray[np.int64]:
        """Index of each label [n]; text matches a number or boolean that is written the same."""
        place = where or _position
        kind = type(self.classes[0])
        exact = {label: index for index, label in enumerate(self.classes)}
        written = {str(label): index for index, label in enumerate(self.classes)}

        def index_of(i: int, value: object) -> int:
            label = _plain(value, i, place)
            index = None
            if type(label) is kind:
                index = exact.get(label)
            elif kind is str or isinstance(label, str):
                index = written.get(str(label))
            if index is None:
                raise self._unknown(label, place(i))
            return index

        return np.fromiter((index_of(i, value) for i, value in enumerate(labels)), dtype=np.int64)

    def decode(self, indices: ArrayLike) -> NDArray[Any]:
        """The label at each index, in the shape of `indices`: int64, bool or text."""
        dtype: Any = {bool: np.bool_, int: np.int64, str: None}[type(self.classes[0])]
        if any(isinstance(label, str) and label.endswith("\0") for label in self.classes):
            dtype = object
        return np.asarray(np.array(self.classes, dtype=dtype)[self._indices(indices)])

    def counts(self, encoded: ArrayLike) -> NDArray[np.int64]:
        """How often each class appears [number of classes]."""
        flat = self._indices(encoded).reshape(-1)
        return np.bincount(flat, minlength=len(self)).astype(np.int64)

    def to_json(self) -> list[Label]:
        """The classes as a list that JSON stores without changing a type."""
        return list(self.classes)

    @classmethod
    def from_json(cls, value: object) -> ClassOrder:
        """The order that `to_json` gave, checked."""
        if not isinstance(value, list):
            fix = "Give the list that was saved."
            raise InputError(f"the classes are {kind_of(value)}, not a list.", fix=fix)
        return cls(tuple(value))

    def _indices(self, values: ArrayLike) -> NDArray[np.int64]:
        indices = np.asarray(values)
        if indices.size and not np.issubdtype(indices.dtype, np.integer):
            raise TypeError(f"class indices must be integers, not {indices.dtype}")
        if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < len(self):
            raise IndexError(f"class indices must lie between 0 and {len(self) - 1}")
        return indices.astype(np.int64)

    def _unknown(self, label: Label, where: str) -> InputError:
        return InputError(
            f"the label {shown(label)} is none of the {len(self)} known classes: {self._shown()}.",
            where=where,
            fix="Correct the label, or train again with rows of that class.",
        )

    def _shown(self) -> str:
        names = ", ".join(shown(label) for label in self.classes[:_CLASSES_SHOWN])
        more = len(self) - _CLASSES_SHOWN
        return f"{names} and {more} more" if more > 0 else names or "none"


def plain_labels(labels: Iterable[object], where: Where | None = None) -> list[Label]:
    """The labels as plain str, int or bool, all of one type; nothing missing, no decimals."""
    place = where or _position
    plain = [_plain(value, i, place) for i, value in enumerate(labels)]
    for i, label in enumerate(plain):
        if type(label) is not type(plain[0]):
            raise InputError(
                f"the label {shown(label)} is {kind_of(label)}, "
                f"but the label {shown(plain[0])} ({place(0)}) is {kind_of(plain[0])}.",
                where=place(i),
                fix="Write all labels the same way.",
            )
    return plain


def is_missing(value: object) -> bool:
    """Whether a cell holds nothing: None, NaN, or the missing value of a data frame."""
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def kind_of(value: object) -> str:
    """What a value is, in words."""
    if is_missing(value):
        return "missing"
    for types, words in _KINDS:
        if isinstance(value, types):
            return words
    return f"of the type {type(value).__name__}"


def shown(value: object) -> str:
    """A value as an error message shows it: on one line, at most about 60 characters."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = 60
    return short.repr(value.item() if isinstance(value, np.generic) else value)


def _plain(value: object, i: int, place: Where) -> Label:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, np.integer)):
        number = int(value)
        if not -(2**63) <= number < 2**63:
            found = f"the label {shown(number)} does not fit in 64 bits."
            raise InputError(found, where=place(i), fix="Write the labels as text.")
        return number
    if is_missing(value):
        fix = "Fill in the label, or remove the row."
        raise InputError("the label is missing.", where=place(i), fix=fix)
    if isinstance(value, (float, np.floating, Decimal)):
        fix = "Use --task regression, or write the labels as whole numbers or text."
    else:
        fix = "Write the labels as text or whole numbers."
    found = f"the label {shown(value)} is {kind_of(value)}."
    raise InputError(found, where=place(i), fix=fix)


def _position(i: int) -> str:
    return f"labels[{i}]"
