"""`protofit predict`: every row and column of the data comes back, with a prediction beside it."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.command import (
    EXAMPLES,
    Command,
    Result,
    leftovers,
    refusal,
    strict_json,
    training,
    write_jsonl,
)
from protofit.model.bundle import Bundle

ROWS: list[dict[str, Any]] = [
    {
        "id": 30 - i,
        "text": f"{row['text']} {i}",
        "note": f'a, "{i}"\nb\tc 🎉',
        "label": row["label"],
    }
    for i, row in enumerate(EXAMPLES[:12])
]


def json_lines(result: Result) -> list[dict[str, Any]]:
    """Standard output as strict JSON lines of a command without complaints."""
    assert (result.code, result.err) == (0, ""), result
    return [strict_json(line) for line in result.out.split("\n")[:-1]]


def without_predictions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The columns that the data had, in the order they have in each row."""
    return [
        {
            name: value
            for name, value in row.items()
            if not name.startswith(("pred", "conf", "prob"))
        }
        for row in rows
    ]


def test_json_lines_keep_columns_and_order(model: Path, tmp_path: Path, command: Command) -> None:
    """Values keep their types; probabilities are of every class and sum to 1."""
    table = write_jsonl(tmp_path / "a.jsonl", ROWS)
    rows = json_lines(command("predict", model, table, "--json"))
    assert without_predictions(rows) == ROWS
    assert [list(row)[:4] for row in rows] == [["id", "text", "note", "label"]] * len(ROWS)
    for row in rows:
        assert row["prediction"] in ("bad", "good")
        chances = row["probability_bad"], row["probability_good"]
        assert math.isclose(sum(chances), 1, rel_tol=1e-9)
        assert row["confidence"] == max(chances) == row[f"probability_{row['prediction']}"]


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_tables_keep_columns_and_order(
    suffix: str, delimiter: str, model: Path, tmp_path: Path, command: Command
) -> None:
    """Through --out and through standard output."""
    table = tmp_path / "a.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    out = tmp_path / f"b.{suffix}"
    result = command("predict", model, table, "--out", out)
    assert (result.code, result.out) == (0, "")
    assert f"{len(ROWS)} predictions" in result.err
    written = out.read_bytes().decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(written, newline=""), delimiter=delimiter))
    assert without_predictions(rows) == [{**row, "id": str(row["id"])} for row in ROWS]
    assert list(rows[0])[4:] == ["prediction", "confidence"]
    assert leftovers(tmp_path) == []
    if suffix == "csv":
        assert command("predict", model, table).out == written
    named = command("predict", model, table, "--probabilities").out.splitlines()[0]
    assert named.endswith(",prediction,confidence,probability_bad,probability_good")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_json_says_what_was_written(
    suffix: str, model: Path, tmp_path: Path, command: Command
) -> None:
    """With --out one JSON document is printed, and the file is the same as without --json."""
    table = write_jsonl(tmp_path / "a.jsonl", ROWS)
    plain, out = tmp_path / f"plain.{suffix}", tmp_path / f"out.{suffix}"
    assert command("predict", model, table, "--out", plain).code == 0
    result = command("predict", model, table, "--out", out, "--json")
    assert (result.code, result.err) == (0, "")
    assert result.json() == {"out": str(out), "rows": len(ROWS)}
    assert out.read_bytes() == plain.read_bytes()
    assert b"probability" not in out.read_bytes()


def test_same_prediction_whatever_the_neighbours(
    model: Path, tmp_path: Path, command: Command
) -> None:
    """A row's prediction does not depend on its place in the file."""
    tables = [write_jsonl(tmp_path / f"{i}.jsonl", ROWS[::step]) for i, step in enumerate((1, -1))]
    forward, backward = (json_lines(command("predict", model, t, "--json")) for t in tables)
    for row, same in zip(forward, reversed(backward), strict=True):
        assert row["prediction"] == same["prediction"]
        assert math.isclose(row["confidence"], same["confidence"], rel_tol=1e-5)


@pytest.mark.parametrize("name", ["prediction", "confidence", "probability_good"])
def test_columns_are_not_overwritten(
    name: str,
    model: Path,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A column of that name stops the command before the work; the data is not lost."""
    monkeypatch.delattr(Bundle, "logits")
    table = write_jsonl(tmp_path / "a.jsonl", [{**row, name: 1} for row in ROWS])
    result = command("predict", model, table, "--json")
    refusal(result, "a.jsonl: ", f"a column '{name}' already", "Rename it")
    assert name in result.json()["error"]
    refusal(command("predict", model, table, "--probabilities", "--out", tmp_path / "b.csv"), name)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_labels_are_not_needed_and_not_read(model: Path, tmp_path: Path, command: Command) -> None:
    """Data to predict may have no label column, or one with anything in it."""
    table = write_jsonl(tmp_path / "a.jsonl", [{"text": "a", "label": None}, {"text": "b"}])
    assert len(json_lines(command("predict", model, table, "--json"))) == 2


def test_numbers_that_json_lacks(model: Path, tmp_path: Path, command: Command) -> None:
    """NaN and infinity in other columns become something that is JSON."""
    odd = {"text": "a", "x": math.nan, "y": {"z": [-math.inf, 1]}}
    table = write_jsonl(tmp_path / "a.jsonl", [odd, {"text": "b", "x": 1.5, "y": None}])
    rows = json_lines(command("predict", model, table, "--json"))
    assert [row["text"] for row in rows] == ["a", "b"]
    assert without_predictions(rows)[1] == {"text": "b", "x": 1.5, "y": None}


def test_broken_escape_in_another_column(model: Path, tmp_path: Path, command: Command) -> None:
    """Half of a surrogate pair can be printed and written, or is refused in one line."""
    table = tmp_path / "a.jsonl"
    table.write_text(json.dumps({"text": "a", "x": "half \ud800"}))
    result = command("predict", model, table, "--json")
    if result.code == 0:
        assert result.out.encode("utf-8")
    else:
        refusal(result, "a.jsonl, line 1, column 'x'")
    for suffix in ("csv", "jsonl"):
        out = tmp_path / f"b.{suffix}"
        result = command("predict", model, table, "--out", out)
        if result.code == 0:
            assert "half" in out.read_text(encoding="utf-8")
        else:
            refusal(result, "a.jsonl, line 1, column 'x'")


def test_parquet_keeps_what_json_can_hold(model: Path, tmp_path: Path, command: Command) -> None:
    """Dates, bytes and lists become something readable."""
    import datetime as dt

    import pyarrow as pa
    from pyarrow import parquet

    row = {"text": "a", "day": dt.date(2020, 2, 29), "raw": b"\xff", "list": [1, None]}
    parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    (kept,) = json_lines(command("predict", model, tmp_path / "a.parquet", "--json"))
    assert kept["day"] == "2020-02-29"
    assert kept["list"] == [1, None]


def test_standard_input_and_txt(
    model: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe of JSON lines, and a text per line with blank lines kept in place."""
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    table = write_jsonl(tmp_path / "a.jsonl", ROWS)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(lines.encode())))
    piped = command("predict", model, "-", "--json")
    assert json_lines(piped) == json_lines(command("predict", model, table, "--json"))
    for name, more in {"a.txt": (), "a.log": ("--format", "txt")}.items():
        (tmp_path / name).write_text("fine parcel\n\nbroken tablet\n")
        rows = json_lines(command("predict", model, tmp_path / name, "--json", *more))
        assert [row["text"] for row in rows] == ["fine parcel", "", "broken tablet"]


def test_columns_are_remembered(tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """Pairs trained under other names are found again, and can be renamed."""
    rows = [{"q": row["text"], "a": "yes", "kind": row["label"]} for row in EXAMPLES]
    table = write_jsonl(tmp_path / "a.jsonl", rows)
    out = tmp_path / "model"
    columns = ("--text", "q", "--text-pair", "a", "--label", "kind")
    assert command(*training(table, tiny_bert, out, *columns, steps=1)).code == 0
    first = json_lines(command("predict", out, table, "--json"))
    assert command("evaluate", out, table).code == 0
    renamed = [{"x": row["q"], "y": row["a"]} for row in rows]
    other = write_jsonl(tmp_path / "b.jsonl", renamed)
    refusal(command("predict", out, other), "no column 'q'")
    second = json_lines(command("predict", out, other, "--text", "x", "--text-pair", "y", "--json"))
    assert [row["prediction"] for row in first] == [row["prediction"] for row in second]
    single = write_jsonl(tmp_path / "c.jsonl", [{"q": "a"}])
    refusal(command("predict", out, single), "no column 'a'")


def test_pair_for_a_model_of_single_texts(model: Path, data: Path, command: Command) -> None:
    """A second column is refused rather than left unread."""
    refusal(command("predict", model, data, "--text-pair", "label"), "single texts", "Leave it out")


def test_regression(regressor: Path, tmp_path: Path, command: Command) -> None:
    """A number for each row, and no probabilities."""
    table = write_jsonl(tmp_path / "a.jsonl", ROWS)
    rows = json_lines(command("predict", regressor, table, "--json", "--probabilities"))
    assert without_predictions(rows) == ROWS
    assert all(isinstance(row["prediction"], float) for row in rows)
    assert set(rows[0]) == {*ROWS[0], "prediction"}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.xlsx", ("cannot write '.xlsx' files", "Use .csv, .tsv or .jsonl.")),
        ("plain", ("cannot write", "Use .csv")),
        ("folder.csv", ("folder.csv", "a folder", "name of a file")),
        ("nowhere/a.csv", ("nowhere: ", "no such folder", "choose another --out")),
    ],
)
def test_bad_out(
    name: str,
    parts: tuple[str, ...],
    model: Path,
    data: Path,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What cannot be written is said in one line, before the work."""
    monkeypatch.delattr(Bundle, "logits")
    (tmp_path / "folder.csv").mkdir()
    refusal(command("predict", model, data, "--out", tmp_path / name), *parts)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_read_only_folder(
    model: Path, data: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said before the work, and nothing is left there."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.delattr(Bundle, "logits")
    monkeypatch.setattr("protofit.storage.atomic._write_through", refuse)
    result = command("predict", model, data, "--out", tmp_path / "a.csv")
    refusal(result, str(tmp_path), "read-only", code=1)
    assert list(tmp_path.iterdir()) == []


def test_missing_text(model: Path, tmp_path: Path, command: Command) -> None:
    """A row without text is named."""
    table = write_jsonl(tmp_path / "a.jsonl", [{"text": "a"}, {"text": None}])
    refusal(command("predict", model, table), "a.jsonl, line 2, column 'text'", "missing")
