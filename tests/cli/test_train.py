"""`protofit train`: warnings that do not stop it, texts and labels of all kinds, same seed."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.command import (
    EXAMPLES,
    Command,
    Result,
    leftovers,
    refusal,
    spawn,
    training,
    weights_of,
    write_jsonl,
)

ODD_TEXTS = [
    "🎉🎉 fine 👩‍👩‍👧‍👦",
    "مرحبا بالعالم",
    "שלום עולם",
    "zero\u200bwidth\u200djoiner\ufeff",
    "e\u0301\u0323\u0302 combining",
    "\u202eright to left override",
    "日本語のテキスト",
    "tab\tand\nnewline\r\n",
    "nul \0 inside",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff",
]


def warned(result: Result, *parts: str) -> None:
    """The command worked, and its only line on standard error is this warning."""
    assert result.code == 0, result
    assert result.err.count("\n") == 1, result.err
    assert result.err.startswith("protofit: warning: ")
    for part in parts:
        assert part in result.err


def test_report(data: Path, tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """With --json one document; without it a short table; files are where they are said to be."""
    out = tmp_path / "model"
    arguments = training(data, tiny_bert, out, "--eval", str(data))
    report = command(*arguments, "--json")
    assert (report.code, report.err) == (0, "")
    document = report.json()
    assert document["classes"] == ["bad", "good"]
    assert document["evaluation"]["examples"] == len(EXAMPLES)
    assert sorted(Path(file) for file in document["files"]) == sorted(out.iterdir())
    assert {"model.safetensors", "protofit.json", "trace.csv"} <= {p.name for p in out.iterdir()}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    table = command(*arguments, "--overwrite")
    assert (table.code, table.err) == (0, "")
    assert "classification" in table.out
    assert "accuracy" in table.out


def test_class_with_one_example(tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """It is learned as well as it goes, and named."""
    rows = [*EXAMPLES, {"text": "the only one", "label": "rare"}]
    table = write_jsonl(tmp_path / "a.jsonl", rows)
    result = command(*training(table, tiny_bert, tmp_path / "model", "--json"))
    warned(result, "only one example of: rare")
    assert result.json()["classes"] == ["bad", "good", "rare"]


def test_many_classes_with_one_example(tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """One line, whatever the names hold, and the number of those that are not in it."""
    rows = [{"text": f"the only {i}", "label": f"rare\n{i:02}"} for i in range(12)]
    table = write_jsonl(tmp_path / "a.jsonl", [*EXAMPLES, *rows])
    result = command(*training(table, tiny_bert, tmp_path / "model"))
    warned(result, "only one example of: rare 00, rare 01, ", ", rare 09 and 2 more")


@pytest.mark.parametrize("name", ["[bold]good", "[/good]", ":smile:", "[good"])
def test_names_that_a_terminal_library_would_read(
    name: str, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Labels and paths with brackets are printed as they are, in the facts and the confusion."""
    rows = [{**row, "label": name} if row["label"] == "good" else row for row in EXAMPLES]
    table = write_jsonl(tmp_path / "a.jsonl", rows)
    out = tmp_path / name.replace("/", "")
    done = command(*training(table, tiny_bert, out, "--eval", str(table)))
    assert (done.code, done.err) == (0, "")
    assert done.out.count(name) >= 3
    shown = command("info", out)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.count(name) >= 2


def test_text_of_one_megabyte(tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """It is cut, counted and learned from."""
    rows = [*EXAMPLES, {"text": "parcel " * 150_000, "label": "good"}]
    assert len(rows[-1]["text"]) > 10**6
    table = write_jsonl(tmp_path / "a.jsonl", rows)
    out = tmp_path / "model"
    warned(command(*training(table, tiny_bert, out)), f"1 of {len(rows)} texts were cut at 128")
    assert command("info", out, "--json").json()["record"]["truncated"] == 1
    assert command("evaluate", out, table, "--json").json()["truncated"] == 1
    warned(command("predict", out, table), f"1 of {len(rows)} texts were cut")


def test_the_limit_that_cut_is_the_one_named(
    tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """The setting where it cut, else what the encoder takes: raising the setting would not help."""
    table = write_jsonl(tmp_path / "a.jsonl", [*EXAMPLES, {"text": "a " * 300, "label": "good"}])
    for length, words in (
        (20, "cut at 20 tokens (encoder.max_length)"),
        (128, "cut at 128 tokens (encoder.max_length)"),
        (1000, "cut at 128 tokens (the most that this encoder takes)"),
    ):
        out, setting = tmp_path / f"model{length}", f"encoder.max_length={length}"
        warned(command(*training(table, tiny_bert, out, "--set", setting)), words)
        warned(command("predict", out, table), words)


def test_drop_bad_rows(tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """Rows without text or label are dropped and counted, in training and in evaluation."""
    bad = [{"text": "", "label": "good"}, {"text": "x", "label": None}, {"label": "bad"}]
    table = write_jsonl(tmp_path / "a.jsonl", [bad[0], *EXAMPLES, *bad[1:]])
    out = tmp_path / "model"
    refusal(command(*training(table, tiny_bert, out)), "line 1, column 'text'")
    result = command(*training(table, tiny_bert, out, "--drop-bad-rows", "--json"))
    warned(result, f"3 of {len(EXAMPLES) + 3} rows dropped")
    assert result.json()["examples"] == len(EXAMPLES)
    refusal(command("evaluate", out, table), "a.jsonl, line ")
    warned(command("evaluate", out, table, "--drop-bad-rows"), "3 of ")
    only_bad = write_jsonl(tmp_path / "b.jsonl", [{"text": "", "label": "x"}])
    result = command(*training(only_bad, tiny_bert, tmp_path / "m2", "--drop-bad-rows"))
    refusal(result, "b.jsonl: ", "every row lacks a value")


def test_odd_texts_and_labels(tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """Whatever is Unicode is text, as text and as label, and comes back unchanged."""
    rows = [{"text": text, "label": f"{text}!"} for text in ODD_TEXTS for _ in range(2)]
    table = write_jsonl(tmp_path / "a.jsonl", rows)
    out = tmp_path / "model"
    result = command(*training(table, tiny_bert, out, "--json"))
    assert (result.code, result.err) == (0, "")
    assert result.json()["classes"] == sorted(f"{text}!" for text in ODD_TEXTS)
    predicted = command("predict", out, table, "--json")
    kept = [json.loads(line) for line in predicted.out.split("\n")[:-1]]
    assert [row["text"] for row in kept] == [row["text"] for row in rows]
    assert {row["prediction"] for row in kept} <= {f"{text}!" for text in ODD_TEXTS}
    assert command("info", out).code == 0
    assert command("evaluate", out, table).code == 0


@pytest.mark.parametrize("labels", [(False, True), (-1, 7), ("0", "1")], ids=str)
@pytest.mark.parametrize("fmt", ["jsonl", "parquet"])
def test_types_of_labels(
    labels: tuple[object, object], fmt: str, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Booleans, whole numbers and text keep their type to the prediction."""
    rows = [{**row, "label": labels[row["label"] == "good"]} for row in EXAMPLES]
    table = tmp_path / f"a.{fmt}"
    if fmt == "jsonl":
        write_jsonl(table, rows)
    else:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(rows), table)
    out = tmp_path / "model"
    report = command(*training(table, tiny_bert, out, "--json")).json()
    assert report["classes"] == list(labels)
    assert [type(c) for c in report["classes"]] == [type(label) for label in labels]
    predicted = command("predict", out, table, "--json").out.splitlines()
    assert {type(json.loads(line)["prediction"]) for line in predicted} == {type(labels[0])}


def test_class_order_is_that_of_the_labels(
    tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Not that of the rows."""
    orders = []
    for i, rows in enumerate((EXAMPLES, EXAMPLES[::-1], EXAMPLES[2:] + EXAMPLES[:2])):
        table = write_jsonl(tmp_path / f"{i}.jsonl", rows)
        result = command(*training(table, tiny_bert, tmp_path / f"model{i}", "--json", steps=1))
        orders.append(result.json()["classes"])
    assert orders == [["bad", "good"]] * 3


def test_pairs_and_regression(tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """Two text columns, numbers as targets."""
    rows = [
        {"question": row["text"], "answer": f"about {row['text']}", "score": str(i / 7)}
        for i, row in enumerate(EXAMPLES)
    ]
    table = write_jsonl(tmp_path / "a.jsonl", rows)
    out = tmp_path / "model"
    columns = ("--text", "question", "--text-pair", "answer", "--label", "score")
    arguments = training(table, tiny_bert, out, *columns, "--task", "regression", "--json")
    result = command(*arguments, "--eval", str(table))
    report = result.json()
    assert (result.code, result.err) == (0, "")
    assert report["task"] == "regression"
    assert report["classes"] is None
    assert report["evaluation"]["mse"] >= 0
    assert command("predict", out, table, "--json").code == 0


def test_standard_input(
    tiny_bert: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    """The same rows from a pipe and from a file give the same model."""
    pipe = SimpleNamespace(buffer=io.BytesIO(data.read_bytes()))
    monkeypatch.setattr(sys, "stdin", pipe)
    assert command(*training("-", tiny_bert, tmp_path / "piped")).code == 0
    assert command(*training(data, tiny_bert, tmp_path / "read")).code == 0
    assert weights_of(tmp_path / "piped") == weights_of(tmp_path / "read")


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_evaluation_data_does_not_influence_training(
    preset: str, data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Bitwise the same model without it, with it, and with quite different data."""
    other = write_jsonl(tmp_path / "b.jsonl", [{"text": "zzz", "label": "bad"}] * 50)
    models = []
    for name, more in {"none": (), "same": (data,), "other": (other,)}.items():
        arguments = training(data, tiny_bert, tmp_path / name, "--preset", preset, steps=12)
        evaluated = [word for path in more for word in ("--eval", str(path))]
        assert command(*arguments, *evaluated).code == 0
        models.append((weights_of(tmp_path / name), (tmp_path / name / "trace.csv").read_text()))
    assert models[0] == models[1] == models[2]


def test_same_seed_twice(data: Path, tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """Two new processes with other hash seeds, and this one: the same bytes; another seed: not."""
    names = ("one", "two")
    processes = [
        spawn(training(data, tiny_bert, tmp_path / name, steps=12), PYTHONHASHSEED=str(i))
        for i, name in enumerate(names, start=1)
    ]
    assert command(*training(data, tiny_bert, tmp_path / "here", steps=12)).code == 0
    arguments = training(data, tiny_bert, tmp_path / "other", "--seed", "1", steps=12)
    assert command(*arguments).code == 0
    assert [process.communicate(timeout=100)[1] for process in processes] == ["", ""]
    assert weights_of(tmp_path / "one") == weights_of(tmp_path / "two")
    assert weights_of(tmp_path / "one") == weights_of(tmp_path / "here")
    assert weights_of(tmp_path / "one") != weights_of(tmp_path / "other")
    assert leftovers(tmp_path) == []


def test_training_that_diverges(
    data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """A model of NaN is no success: one line says what to change, and no folder appears."""
    wild = ("--set", "train.learning_rate=1e20", "--set", "train.clip_norm=none")
    result = command(*training(data, tiny_bert, tmp_path / "model", *wild))
    refusal(result, "learning_rate", code=1)
    assert not (tmp_path / "model").exists()


def test_balanced_classes_come_back_in_python(
    data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """A model folder knows how its classes were weighed."""
    from protofit import PFitClassifier

    assert command(*training(data, tiny_bert, tmp_path / "model", "--balanced")).code == 0
    assert PFitClassifier.load(tmp_path / "model").class_weight == "balanced"
