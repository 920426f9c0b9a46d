"""Every command has --json, for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from protofit.cli.main import app


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[Any]:
    """Name and command of each that does something, groups opened."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield pytest.param(command, id=" ".join((*path, name)))


ALL = list(commands(typer.main.get_command(app)))


def test_there_are_commands() -> None:
    assert {"train", "predict", "bench plan", "serve"} <= {case.id for case in ALL}


@pytest.mark.parametrize("command", ALL)
def test_it_has_json(command: Any) -> None:
    assert "--json" in {option for parameter in command.params for option in parameter.opts}
