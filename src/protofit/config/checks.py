"""Small checks that say the bound and the value when a setting is out of range."""

from __future__ import annotations

import math

from protofit.errors import InputError


def at_least(name: str, value: float | None, low: float) -> None:
    """`value` ≥ `low` and finite (None passes)."""
    if value is not None and not low <= value < math.inf:
        raise InputError(f"{name} is {value}", where="settings", fix=f"Give at least {low}.")


def above(name: str, value: float | None, low: float) -> None:
    """`value` > `low` and finite (None passes)."""
    if value is not None and not low < value < math.inf:
        raise InputError(f"{name} is {value}", where="settings", fix=f"Give more than {low}.")


def within(name: str, value: float | None, low: float, high: float) -> None:
    """`low` ≤ `value` ≤ `high` (None passes)."""
    if value is not None and not low <= value <= high:
        raise InputError(
            f"{name} is {value}", where="settings", fix=f"Give a value from {low} to {high}."
        )


def one_of(name: str, value: object, known: tuple[object, ...]) -> None:
    """`value` is one of `known`."""
    if value not in known:
        names = ", ".join(str(option) for option in known)
        raise InputError(f"{name} is {value!r}", where="settings", fix=f"Choose one of: {names}.")
