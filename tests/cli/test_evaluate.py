"""`protofit evaluate`: figures that a separate computation confirms."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from helpers.command import EXAMPLES, Command, refusal, training, write_jsonl


def test_figures_agree_with_the_predictions(model: Path, tmp_path: Path, command: Command) -> None:
    """Accuracy, macro-F1, log-loss and confusion, computed again from `predict`."""
    rows = [{**row, "label": "good" if i % 3 else "bad"} for i, row in enumerate(EXAMPLES)]
    table = write_jsonl(tmp_path / "a.jsonl", rows)
    figures = command("evaluate", model, table, "--json").json()
    lines = command("predict", model, table, "--json").out.splitlines()
    predicted = [json.loads(line) for line in lines]
    names = ["bad", "good"]
    pairs = [(row["label"], row["prediction"]) for row in predicted]
    confusion = [[pairs.count((true, guess)) for guess in names] for true in names]
    assert figures["confusion"] == confusion
    assert figures["classes"] == names
    assert figures["examples"] == len(rows)
    right = confusion[0][0] + confusion[1][1]
    assert math.isclose(figures["accuracy"], right / len(rows))
    losses = [-math.log(row[f"probability_{row['label']}"]) for row in predicted]
    assert math.isclose(figures["log_loss"], sum(losses) / len(rows), rel_tol=1e-4)
    scores = []
    for i in range(2):
        wrong = confusion[i][1 - i] + confusion[1 - i][i]
        scores.append(2 * confusion[i][i] / (2 * confusion[i][i] + wrong))
    assert math.isclose(figures["macro_f1"], sum(scores) / 2, rel_tol=1e-9)
    assert 0 <= figures["ece"] <= 1


def test_table_for_people(model: Path, data: Path, command: Command) -> None:
    """The same figures without --json, and the confusion."""
    result = command("evaluate", model, data)
    assert (result.code, result.err) == (0, "")
    for word in ("accuracy", "macro_f1", "log_loss", "ece", "true \\ predicted", "good"):
        assert word in result.out


def test_regression(regressor: Path, tmp_path: Path, command: Command) -> None:
    """MSE as the predictions give it; no correlation where the truth is constant."""
    rows = [{"text": row["text"], "label": i / 4} for i, row in enumerate(EXAMPLES)]
    table = write_jsonl(tmp_path / "a.jsonl", rows)
    figures = command("evaluate", regressor, table, "--json").json()
    lines = command("predict", regressor, table, "--json").out.splitlines()
    errors = [(json.loads(line)["prediction"] - i / 4) ** 2 for i, line in enumerate(lines)]
    assert math.isclose(figures["mse"], sum(errors) / len(errors), rel_tol=1e-5)
    assert -1 <= figures["pearson"] <= 1
    assert -1 <= figures["spearman"] <= 1
    constant = write_jsonl(tmp_path / "b.jsonl", [{**row, "label": 2} for row in rows])
    figures = command("evaluate", regressor, constant, "--json").json()
    assert (figures["pearson"], figures["spearman"]) == (None, None)
    assert command("evaluate", regressor, constant).code == 0


@pytest.mark.parametrize("written", [("0", "1"), ("False", "True")])
def test_labels_match_without_loss_across_formats(
    written: tuple[str, str], tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """A model of csv labels meets parquet labels of the type they were written from, and back."""
    import pyarrow as pa
    from pyarrow import parquet

    typed = [json.loads(word.lower()) for word in written]
    kinds = [row["label"] == "good" for row in EXAMPLES]
    texts = [row["text"] for row in EXAMPLES]
    lines = [f"{text},{written[kind]}" for text, kind in zip(texts, kinds, strict=True)]
    as_text, as_type = tmp_path / "a.csv", tmp_path / "a.parquet"
    as_text.write_text("\n".join(["text,label", *lines]))
    columns = {"text": texts, "label": [typed[kind] for kind in kinds]}
    parquet.write_table(pa.table(columns), as_type)
    for trained, classes in ((as_text, list(written)), (as_type, typed)):
        out = tmp_path / f"model-{trained.suffix[1:]}"
        result = command(*training(trained, tiny_bert, out, "--json", steps=1))
        assert result.json()["classes"] == classes
        first, second = (
            command("evaluate", out, table, "--json").json() for table in (as_text, as_type)
        )
        first.pop("data")
        second.pop("data")
        assert first == second
        assert sum(map(sum, first["confusion"])) == len(EXAMPLES)


def test_labels_that_only_look_alike_are_refused(
    tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """'01' is not 1, and 1 is not true."""
    rows = [{**row, "label": int(row["label"] == "good")} for row in EXAMPLES]
    table = write_jsonl(tmp_path / "a.jsonl", rows)
    assert command(*training(table, tiny_bert, tmp_path / "model", steps=1)).code == 0
    for label in ("01", "1.0", " 1", True):
        other = write_jsonl(tmp_path / "b.jsonl", [{"text": "a", "label": label}])
        refusal(command("evaluate", tmp_path / "model", other), "b.jsonl, line 1", "'label'")


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ({"text": "a", "label": "ugly"}, ("line 2, column 'label'", "'ugly'", "'bad', 'good'")),
        ({"text": "a", "label": None}, ("line 2, column 'label'", "missing")),
        ({"text": "a", "label": 1}, ("line 2, column 'label'",)),
        ({"text": "", "label": "bad"}, ("line 2, column 'text'", "empty")),
    ],
)
def test_bad_rows(
    row: dict[str, object], parts: tuple[str, ...], model: Path, tmp_path: Path, command: Command
) -> None:
    """File, line and column, as in training."""
    table = write_jsonl(tmp_path / "a.jsonl", [EXAMPLES[0], row])
    refusal(command("evaluate", model, table), "a.jsonl, ", *parts)
    result = command("evaluate", model, table, "--json")
    refusal(result)
    assert set(result.json()) == {"error", "where", "fix"}


def test_one_class_is_enough_to_evaluate(model: Path, tmp_path: Path, command: Command) -> None:
    """The classes are those of the model."""
    table = write_jsonl(tmp_path / "a.jsonl", [row for row in EXAMPLES if row["label"] == "bad"])
    figures = command("evaluate", model, table, "--json").json()
    assert figures["classes"] == ["bad", "good"]
    assert figures["confusion"][1] == [0, 0]


def test_bad_target(regressor: Path, tmp_path: Path, command: Command) -> None:
    """Targets are checked as in training."""
    table = write_jsonl(tmp_path / "a.jsonl", [{"text": "a", "label": "much"}])
    refusal(command("evaluate", regressor, table), "a.jsonl, line 1, column 'label'", "'much'")
