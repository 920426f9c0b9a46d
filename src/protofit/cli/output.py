"""What commands print: JSON for machines, a short table for people."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


def print_json(value: Any) -> None:
    """One JSON document on standard output; NaN and infinity are refused."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def json_line(value: Any) -> str:
    """One line of JSON; what JSON lacks (NaN, infinity, dates, bytes) becomes null or text."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def plain_console() -> Console:
    """A console that prints what people wrote as it is: "[x]" is no style, ":x:" no picture."""
    from rich.console import Console

    return Console(markup=False, emoji=False)


def print_pairs(title: str, pairs: dict[str, Any]) -> None:
    """A title and aligned name-value lines."""
    from rich.table import Table

    console = plain_console()
    console.print(title, style="bold", soft_wrap=True, highlight=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(name, shown(value))
    console.print(table)


def shown(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else str(value)


def print_confusion(confusion: list[list[int]], names: list[str]) -> None:
    """Rows: the true class; columns: the predicted one."""
    from rich.table import Table

    table = Table()
    table.add_column("true \\ predicted")
    for name in names:
        table.add_column(name, justify="right")
    for name, row in zip(names, confusion, strict=True):
        table.add_row(name, *[str(count) for count in row])
    plain_console().print(table)
