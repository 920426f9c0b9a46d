"""docs/architecture.md names every module, and its layers are those that are enforced."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from helpers.places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "protofit"


def named() -> set[str]:
    """Modules of the table of rooms; a bare name lies where the one before it lies."""
    found = set()
    for line in PAGE.splitlines():
        if not line.startswith("| `"):
            continue
        folder = ""
        for name in re.findall(r"`([\w/]+)`", line.split("|")[1]):
            at = Path(name)
            folder = str(at.parent) if "/" in name else folder
            found.add(name if "/" in name or not folder else f"{folder}/{name}")
    return found


def modules() -> set[str]:
    paths = {path.relative_to(SOURCE).with_suffix("").as_posix() for path in SOURCE.rglob("*.py")}
    return {path for path in paths if not path.endswith(("__init__", "__main__"))}


def test_every_module_is_named_and_nothing_else() -> None:
    assert modules() - named() == set()
    assert named() - modules() == set()


def test_the_layers_are_those_of_the_contract() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(
        each for each in content["tool"]["importlinter"]["contracts"] if each["type"] == "layers"
    )
    enforced = [layer.replace("protofit.", "").split(" | ") for layer in contract["layers"]]
    drawn = PAGE.split("## Which way imports point")[1].split("```")[1].strip().splitlines()
    assert [line.split(" │ ") for line in drawn] == enforced
