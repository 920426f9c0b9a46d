"""Data that cannot be used: exit code 2 and one line with the file, the place and a fix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.command import Command, refusal, training

BAD_TABLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "missing text column": (
        "a.csv",
        "txt,label\na,x\nb,y\n",
        ("a.csv: ", "no column 'text'", "Did you mean 'txt'?"),
    ),
    "missing label column": (
        "a.csv",
        "text,kind\na,x\nb,y\n",
        ("a.csv: ", "no column 'label'", "The columns are 'text', 'kind'."),
    ),
    "empty file": ("a.csv", "", ("a.csv: ", "empty", "Give a file with a header")),
    "blank file": ("a.jsonl", "\n \n", ("a.jsonl: ", "empty", "Give a file")),
    "header only": ("a.csv", "text,label\n", ("a.csv: ", "no rows", "Add at least one row.")),
    "one class": (
        "a.csv",
        "text,label\na,x\nb,x\nc,x\n",
        ("a.csv, line 2, column 'label'", "all rows have the label 'x'", "Add rows"),
    ),
    "empty label": (
        "a.csv",
        "text,label\na,x\nb,\nc,y\n",
        ("a.csv, line 3, column 'label': ", "label is empty", "Fill it in, or remove the row."),
    ),
    "blank label": (
        "a.csv",
        'text,label\na,x\nb,"  "\nc,y\n',
        ("a.csv, line 3, column 'label': ", "label is empty"),
    ),
    "null label": (
        "a.jsonl",
        '{"text":"a","label":"x"}\n{"text":"b","label":null}\n{"text":"c","label":"y"}\n',
        ("a.jsonl, line 2, column 'label': ", "label is missing", "Fill in the label"),
    ),
    "absent label": (
        "a.jsonl",
        '{"text":"a","label":"x"}\n{"text":"c","label":"y"}\n{"text":"b"}\n',
        ("a.jsonl, line 3, column 'label': ", "label is missing"),
    ),
    "NaN label": (
        "a.jsonl",
        '{"text":"a","label":1}\n{"text":"b","label":NaN}\n',
        ("a.jsonl, line 2, column 'label': ", "label is missing"),
    ),
    "decimal label": (
        "a.jsonl",
        '{"text":"a","label":1}\n{"text":"b","label":0.5}\n',
        ("a.jsonl, line 2, column 'label': ", "0.5", "--task regression"),
    ),
    "empty text": (
        "a.csv",
        "text,label\na,x\n,y\n",
        ("a.csv, line 3, column 'text': ", "text is empty", "Fill it in, or remove the row."),
    ),
    "null text": (
        "a.jsonl",
        '{"text":"a","label":"x"}\n{"text":null,"label":"y"}\n',
        ("a.jsonl, line 2, column 'text': ", "text is missing"),
    ),
    "number as text": (
        "a.jsonl",
        '{"text":"a","label":"x"}\n{"text":7,"label":"y"}\n',
        ("a.jsonl, line 2, column 'text': ", "found 7", "Choose a column of texts"),
    ),
    "mixed labels": (
        "a.jsonl",
        '{"text":"a","label":"x"}\n{"text":"b","label":1}\n',
        ("a.jsonl, line 2, column 'label': ", "whole number", "the same way"),
    ),
    "number and boolean": (
        "a.jsonl",
        '{"text":"a","label":1}\n{"text":"b","label":true}\n',
        ("a.jsonl, line 2, column 'label': ", "true or false", "the same way"),
    ),
    "duplicate columns": (
        "a.csv",
        "text,label,text\na,x,b\nc,y,d\n",
        ("a.csv, line 1: ", "'text' appears twice", "own name"),
    ),
    "uneven row": (
        "a.csv",
        "text,label\na,x\nb,y,z\n",
        ("a.csv, line 3: ", "3 cells", "Put double quotes"),
    ),
    "broken JSON": (
        "a.jsonl",
        '{"text":"a","label":"x"}\n{"text":\n',
        ("a.jsonl, line 2, column 9: ", "not valid JSON", "Write one JSON object per line"),
    ),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the folder of the test, so that messages are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_table(case: str, here: Path, tiny_bert: Path, command: Command) -> None:
    """Nothing is written, and --json says the same as one document on standard output."""
    name, content, parts = BAD_TABLES[case]
    Path(name).write_text(content, encoding="utf-8")
    arguments = training(name, tiny_bert, Path("model"))
    line = refusal(command(*arguments), *parts)
    assert sorted(path.name for path in here.iterdir()) == [name]

    result = command(*arguments, "--json")
    problem = result.json()
    assert set(problem) == {"error", "where", "fix"}
    assert all(problem[key] for key in ("error", "fix"))
    assert refusal(result) == line


@pytest.mark.parametrize(
    ("content", "encoding"),
    [("text,label\ncafé,x\nb,y\n", "latin-1"), ("text,label\na,x\nb,y\n", "utf-16")],
)
def test_text_that_is_not_utf8(
    content: str, encoding: str, here: Path, tiny_bert: Path, command: Command
) -> None:
    """The message names the line and how to convert the file."""
    Path("a.csv").write_bytes(content.encode(encoding))
    result = command(*training("a.csv", tiny_bert, Path("model")))
    refusal(result, "a.csv, line ", "not UTF-8", "Save the file as UTF-8", "iconv")


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ('"nan"', "'nan' is not a finite number"),
        ("NaN", "target is missing"),
        ("null", "target is missing"),
        ("Infinity", "inf is not a finite number"),
        ('"-inf"', "'-inf' is not a finite number"),
        ('"three"', "'three' is not a finite number"),
        ('"1,5"', "'1,5' is not a finite number"),
        ("true", "True is not a finite number"),
        ("[1]", "[1] is not a finite number"),
        ("1e300", "1e+300"),
        ("-1e39", "-1e+39"),
    ],
)
def test_bad_target(target: str, found: str, here: Path, tiny_bert: Path, command: Command) -> None:
    """Regression takes finite numbers only, and none that float32 cannot hold."""
    rows = ['{"text":"a","label":1}', f'{{"text":"b","label":{target}}}', '{"text":"c","label":2}']
    Path("a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    result = command(*training("a.jsonl", tiny_bert, Path("model"), "--task", "regression"))
    refusal(result, "a.jsonl, line 2, column 'label': ", found, "row")


@pytest.mark.parametrize("source", ["nowhere.csv", "."])
def test_no_such_file(source: str, here: Path, tiny_bert: Path, command: Command) -> None:
    """A missing file and a folder are named, not looked up on a hub."""
    refusal(command(*training(source, tiny_bert, here / "model")), f"{source}: ")


def test_empty_name(model: Path, here: Path, tiny_bert: Path, command: Command) -> None:
    """A variable of the shell that was empty is said to be so; it is not the working folder."""
    for arguments in (training("", tiny_bert, here / "m"), ["predict", model, ""]):
        refusal(command(*arguments), "the data: the name is empty", "Give a file")


def test_evaluation_data_is_checked_before_training(
    here: Path, tiny_bert: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A label that training does not know stops the command before a single step."""
    from protofit.training.loop import Run

    def no_training(*_: object) -> None:
        raise AssertionError("training began")

    monkeypatch.setattr(Run, "run", no_training)
    Path("a.csv").write_text("text,label\na,x\nb,y\nc,x\n", encoding="utf-8")
    for content, parts in {
        "text,label\na,x\nb,z\n": ("b.csv, line 3, column 'label': ", "'z'", "'x', 'y'"),
        "text,label\na,x\n,y\n": ("b.csv, line 3, column 'text': ", "empty"),
        "text,kind\na,x\n": ("b.csv: ", "no column 'label'"),
    }.items():
        Path("b.csv").write_text(content, encoding="utf-8")
        refusal(command(*training("a.csv", tiny_bert, here / "m", "--eval", "b.csv")), *parts)
    refusal(command(*training("a.csv", tiny_bert, here / "m", "--eval", "c.csv")), "c.csv: ")
    assert not (here / "m").exists()


@pytest.mark.parametrize("column", ["text", "label"])
def test_broken_escape_names_the_row(
    column: str, here: Path, tiny_bert: Path, command: Command
) -> None:
    """Half of a surrogate pair is no text, and no name of a class."""
    rows = [{"text": "a", "label": "x"}, {"text": "b", "label": "y", column: "b \ud800"}]
    Path("a.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    result = command(*training("a.jsonl", tiny_bert, Path("model")))
    refusal(result, f"a.jsonl, line 2, column '{column}': ", "surrogate", "Remove")


def test_standard_input_is_read_once(here: Path, tiny_bert: Path, command: Command) -> None:
    """Training data and evaluation data cannot both come from it."""
    arguments = training("-", tiny_bert, Path("model"), "--eval", "-")
    refusal(command(*arguments), "--eval: ", "only once", "as a file")
