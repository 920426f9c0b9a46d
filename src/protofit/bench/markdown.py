"""Markdown tables and figures with their signs."""

from __future__ import annotations

from collections.abc import Sequence

from protofit.bench.stats import Comparison, Interval

MISSING = "—"
FAILED = "failed"
NOT_YET = "Not yet run."


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], first_left: int = 1) -> str:
    """A Markdown table; columns after `first_left` are aligned to the right."""
    marks = [":--" if place < first_left else "--:" for place in range(len(header))]
    lines = [header, marks, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def signed(value: float, digits: int = 1) -> str:
    """+1.3, −0.4 or 0.0, with a real minus sign."""
    text = f"{value:+.{digits}f}"
    if float(text) == 0:
        return text[1:]
    return text.replace("-", "−")


def plain(value: float, digits: int = 1) -> str:
    """A figure with a real minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")


def bracketed(interval: Interval, digits: int = 1) -> str:
    """+1.3 [+0.2, +2.1]."""
    low, high = signed(interval.low, digits), signed(interval.high, digits)
    return f"{signed(interval.mean, digits)} [{low}, {high}]"


def compared(comparison: Comparison | None) -> str:
    """The difference with its bootstrap interval."""
    return MISSING if comparison is None else bracketed(comparison.bootstrap)


def share_mark(done: int, planned: int) -> str:
    """` (3/5)` where seeds are missing; nothing otherwise."""
    return f" ({done}/{planned})" if done < planned else ""


def small(text: str) -> str:
    """Text set small where Markdown is rendered."""
    return f"<sub>{text}</sub>"


def listed(words: Sequence[str]) -> str:
    """a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def counted(number: int, word: str, plural: str | None = None) -> str:
    """1 cell, 2 cells."""
    return f"{number} {word if number == 1 else plural or word + 's'}"
