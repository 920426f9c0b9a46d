"""Values as a reader of the page sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MISSING = "–"
ELLIPSIS = "…"


def said(text: Any) -> str | None:
    """A text, or a pair of texts in one line; None where none was kept."""
    if text is None or isinstance(text, str):
        return text
    return " ‖ ".join(str(part) for part in text)


def shortened(text: str | None, limit: int) -> str | None:
    """At most `limit` characters, cut at a word where one ends nearby."""
    if text is None or len(text) <= limit:
        return text
    cut = text[: max(1, limit - 1)]
    space = cut.rfind(" ")
    return (cut[:space] if space > 0.7 * limit else cut).rstrip() + ELLIPSIS


def figure(value: Any) -> str:
    """A number in three or four digits; anything else as it is."""
    if value is None:
        return MISSING
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def labelled(label: Any) -> str:
    """A class by its name, which may be a number such as 1234; a value as a figure."""
    return figure(label) if label is None or isinstance(label, float) else str(label)


def fixed(value: float) -> str:
    """A distance or a ratio with two digits behind the point, so that a column lines up."""
    return f"{value:.2f}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """A share as a percentage with one digit."""
    return MISSING if share is None else f"{100 * share:.1f} %"


def counted(number: int, noun: str) -> str:
    """`1 text`, `2 texts`; a noun that ends in s takes es."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun if number == 1 else noun + ending}"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
