"""docs/explain.md: what it points at is there, and its commands are ones that exist."""

from __future__ import annotations

import re
import shlex

import pytest

from helpers.places import ROOT
from protofit.cli.edit import USAGE
from protofit.cli.main import app

PAGE = ROOT / "docs" / "explain.md"
TEXT = PAGE.read_text(encoding="utf-8")
LINKS = sorted({*re.findall(r"\]\(([^)#]+)\)", TEXT), *re.findall(r'src="([^"]+)"', TEXT)})


def commands() -> list[list[str]]:
    """Every `protofit …` line in words."""
    lines = [line for line in TEXT.splitlines() if line.startswith("protofit ")]
    lines += re.findall(r"`(protofit [^`]*--[^`]*)`", TEXT)
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.parametrize("link", LINKS)
def test_what_it_points_at_is_there(link: str) -> None:
    path = PAGE.parent / link
    assert path.is_file()
    assert path.suffix != ".png" or path.stat().st_size < 400_000


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_its_commands_exist_with_their_options(words: list[str]) -> None:
    known = {
        (command.name or command.callback.__name__): command for command in app.registered_commands
    }
    from typer.main import get_command

    parameters = get_command(app).commands[words[0]].params  # type: ignore[attr-defined]
    options = {option for parameter in parameters for option in parameter.opts}
    assert words[0] in known
    assert {word for word in words if word.startswith("--")} <= options


def test_the_edits_of_its_table_are_those_there_are() -> None:
    rows = [line.split("|")[1] for line in TEXT.splitlines() if line.startswith("| `edit M ")]
    assert {name for row in rows for name in re.findall(r"edit M ([\w-]+)", row)} == set(USAGE)
