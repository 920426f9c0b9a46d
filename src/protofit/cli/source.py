"""The columns a command works on, read and checked."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from protofit.data.columns import class_labels, drop_bad_rows, targets, text_inputs
from protofit.data.labels import ClassOrder
from protofit.data.table import Table, read_table
from protofit.errors import InputError, ProtoFitWarning

if TYPE_CHECKING:
    from protofit.model.bundle import Bundle, Inputs


@dataclass(frozen=True)
class Columns:
    """Names of the columns that hold the texts and the label."""

    text: str
    pair: str | None
    label: str

    @classmethod
    def remembered(
        cls, bundle: Bundle, text: str | None, pair: str | None, label: str | None
    ) -> Columns:
        """What the user named, else the names the model was trained with."""
        known = bundle.record.get("columns", {})
        second = (pair or known.get("pair") or "text_pair") if bundle.paired else None
        if pair and not bundle.paired:
            raise InputError(
                "the model was trained on single texts", where="--text-pair", fix="Leave it out."
            )
        return cls(text or known.get("text", "text"), second, label or known.get("label", "label"))


def read_rows(source: str, fmt: str, columns: Columns, *, labelled: bool, drop_bad: bool) -> Table:
    """The table; with `drop_bad`, without the rows that lack a text or label (counted)."""
    if source == "-" and sys.stdin is None:
        raise InputError("standard input is closed", where="stdin", fix="Pipe the data into it.")
    table = read_table(source, fmt=fmt)
    return whole_rows(table, columns, labelled=labelled) if drop_bad else table


def whole_rows(table: Table, columns: Columns, *, labelled: bool) -> Table:
    """The table without the rows that lack a text or label (counted)."""
    names = [name for name in (columns.text, columns.pair) if name is not None]
    kept, dropped = drop_bad_rows(table, [*names, columns.label] if labelled else names)
    if dropped:
        warnings.warn(
            f"{dropped} of {len(table)} rows dropped: text or label missing",
            ProtoFitWarning,
            stacklevel=2,
        )
    return kept


def inputs_of(table: Table, columns: Columns, *, allow_empty: bool = False) -> Inputs:
    """Texts or pairs."""
    return text_inputs(table, columns.text, columns.pair, allow_empty)


def labels_of(
    table: Table, columns: Columns, classes: ClassOrder | None, task: str
) -> tuple[np.ndarray, ClassOrder | None]:
    """Targets, or class indices with the class order (the one given, or made here)."""
    if task == "regression":
        return np.asarray(targets(table, columns.label), dtype=np.float32), None
    values = class_labels(table, columns.label)
    where: Callable[[int], str] = lambda i: table.where(i, columns.label)  # noqa: E731
    order = ClassOrder.of(values, where) if classes is None else classes
    return order.encode(values, where), order
