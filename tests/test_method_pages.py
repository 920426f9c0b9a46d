"""The pages of docs/methods/ are what their generator gives."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from helpers.places import ROOT
from protofit.methods.registry import METHODS

FOLDER = ROOT / "docs" / "methods"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    path = ROOT / "benchmarks" / "method_pages.py"
    spec = importlib.util.spec_from_file_location("method_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["README", *METHODS])
def test_the_committed_page_is_fresh(generator: ModuleType, name: str) -> None:
    fresh = generator.pages()[f"{name}.md"]
    committed = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert committed == fresh, "run: make docs-methods"


def test_there_are_no_other_pages(generator: ModuleType) -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(generator.pages())


@pytest.mark.parametrize("name", METHODS)
def test_a_page_says_what_the_method_is(generator: ModuleType, name: str) -> None:
    page = generator.method_page(name)
    assert "```text" in page, "an equation"
    assert "## Deviations\n\n- " in page
    assert "## Settings" in page
    rows = generator.settings_rows(name)
    assert all(comment for *_, comment in rows), "every setting has a comment"
    assert all(f"| {row[0]} |" in page for row in rows)


def test_writing_replaces_what_was_there(generator: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "gone.md").write_text("a method that is no more")
    (tmp_path / "raw.md").write_text("stale")
    generator.main(tmp_path)
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == generator.pages()


@dataclass(frozen=True)
class Inner:
    reach: int = 3  # how far


@dataclass(frozen=True)
class Base:
    width: float = 1.0  # of the | thing
    inner: Inner = field(default_factory=Inner)


@dataclass(frozen=True)
class Derived(Base):
    name: str = "#1"  # shown
    width: float = 2.0  # of another


def test_comments_follow_nesting_and_inheritance(generator: ModuleType) -> None:
    assert generator.flat_comments(Base) == [
        ("width", "of the | thing"),
        ("inner.reach", "how far"),
    ]
    assert generator.flat_comments(Derived) == [
        ("width", "of another"), ("inner.reach", "how far"), ("name", "shown"),
    ]  # fmt: skip
    assert generator.flat_values(Derived()) == {"width": 2.0, "inner.reach": 3, "name": "#1"}
    assert generator.table(["a"], [["x | y"]]) == ["| a |", "| --- |", "| x \\| y |"]


def test_values_differ_where_presets_do(generator: ModuleType) -> None:
    rows = {row[0]: row[1:3] for row in generator.settings_rows("pfit")}
    assert rows["`head.start.examples`"] == ["`8`", "`all`"]
    assert rows["`head.beta`"] == ["`2.0`", "`none`"]


def test_equations_are_fenced(generator: ModuleType) -> None:
    lines = ["words", "", "    a = b", "", "      + c", "", "- item", "  more"]
    assert generator.fenced(lines) == [
        "words", "", "```text", "a = b", "", "  + c", "```", "", "- item", "  more",
    ]  # fmt: skip


def test_methods_of_one_file_have_lines_of_their_own(generator: ModuleType) -> None:
    lines = [generator.summary(name) for name in METHODS]
    assert len(set(lines)) == len(lines)
