"""docs/method.md speaks of what is there: every decision, setting, file and name in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from helpers.places import ROOT
from protofit.settings import Settings, _flat

PAGE = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
SOURCES = ROOT / "src" / "protofit"
QUOTED = re.findall(r"`([^`\n]+)`", PAGE)
GROUPS = r"(?:head|train|encoder)(?:\.\w+)+"


def settings_of(preset: str) -> dict[str, Any]:
    """Dotted names and values of head, encoder and training."""
    flat = _flat(Settings.build(preset).to_dict())
    return {name: value for name, value in flat.items() if "." in name}


def named_settings() -> set[str]:
    """Full names; `.gap` and `pairs` after `head.scale.kind` are of its group."""
    known, named, group = settings_of("default"), set(), ""
    for word in QUOTED:
        name = word.split("=")[0].removeprefix("--set ")
        if re.fullmatch(GROUPS, name):
            named.add(name)
            group = name.rpartition(".")[0]
        elif re.fullmatch(r"\.\w+", name):
            named.add(group + name)
        elif f"{group}.{name}" in known:
            named.add(f"{group}.{name}")
    return named


def names_in(path: Path) -> set[str]:
    """Functions, classes and methods (also as Class.method) of a source file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
            inner = node.body if isinstance(node, ast.ClassDef) else []
            methods = [part.name for part in inner if isinstance(part, ast.FunctionDef)]
            names |= {f"{node.name}.{method}" for method in methods}
    return names


def test_every_point_where_the_paper_is_open_has_its_row() -> None:
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", PAGE, flags=re.M)
    assert [int(number) for number, _ in rows] == list(range(1, 32))
    for number, row in rows:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)]
        assert len(cells) == 5, number
        assert all(cells), number


def test_every_setting_that_is_named_exists() -> None:
    named = named_settings()
    assert len(named) > 40
    assert named <= set(settings_of("default"))


def test_every_difference_between_the_presets_is_named() -> None:
    """A preset that changes must change the page."""
    paper, default = settings_of("paper"), settings_of("default")
    differing = {name for name, value in default.items() if value != paper[name]}
    assert len(differing) > 10
    assert differing <= named_settings()


@pytest.mark.parametrize("word", sorted({word for word in QUOTED if ".py" in word}))
def test_every_place_that_is_named_exists(word: str) -> None:
    file, _, name = word.partition(":")
    assert (SOURCES / file).is_file()
    assert not name or name in names_in(SOURCES / file)
