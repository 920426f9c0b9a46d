"""`protofit edit`: what an edit does is shown before it is kept, and a kept one can be undone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from helpers.command import Command, leftovers, refusal, write_jsonl
from helpers.opened import CLASSES, METHODS, OTHERS, TEXTS, fitted
from protofit.model.bundle import Bundle

NEW = ["do you have a job for me", "are you hiring this summer", "where do I send my cv"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A model with its training texts; nobody may change it."""
    folder = tmp_path_factory.mktemp("kept") / "model"
    fitted("pfit", "texts", tiny_bert).save(folder)
    return folder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Labelled texts to show effects on, with some of a class that is not there yet."""
    rows = [{"text": text, "label": label} for text, label in zip(*OTHERS, strict=True)]
    return write_jsonl(
        tmp_path / "eval.jsonl", [*rows, *({"text": text, "label": "jobs"} for text in NEW)]
    )


def digest(folder: Path) -> str:
    """One sum of every file of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    parts = [f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
             for path in files]  # fmt: skip
    return "\n".join(parts)


def rows_of(folder: Path) -> list[int]:
    """Rows of the prototypes of a model."""
    head = Bundle.load(folder).model.head
    return [int(row) for row in head.prototypes().rows]


def test_nothing_is_saved_unless_asked(kept: Path, table: Path, command: Command) -> None:
    before = digest(kept)
    result = command("edit", kept, "delete", rows_of(kept)[0], "--force", "--eval", table)
    assert result.code == 0
    assert "nothing is saved" in result.err
    assert "before" in result.out
    assert "after" in result.out
    assert digest(kept) == before


def test_rename_then_undo_in_place_gives_the_same_model(
    kept: Path, tmp_path: Path, command: Command
) -> None:
    copy, row = tmp_path / "copy", rows_of(kept)[1]
    Bundle.load(kept).save(copy)
    before = digest(copy)
    found = command("edit", copy, "rename", row, "  my   name ", "--out", copy, "--json").json()
    assert found["saved"] == str(copy)
    assert found["rows"] == [row]
    assert "'my name'" in found["description"]
    explained = command("explain", copy, TEXTS[0], "--json", "--top", 0).json()
    names = {item["row"]: item["name"] for item in explained["evidence"]}
    assert names[row] == "my name"
    assert command("edit", copy, "history", "--json").json()[0]["action"] == "rename"
    assert "my name" in command("edit", copy, "history").out
    assert command("edit", copy, "undo", "--out", copy).code == 0
    assert digest(copy) == before
    assert command("edit", copy, "history").out == "no edits\n"
    assert leftovers(tmp_path) == []


def test_a_name_is_taken_back_and_never_steers_the_terminal(
    kept: Path, tmp_path: Path, command: Command
) -> None:
    copy, row = tmp_path / "copy", rows_of(kept)[1]
    said = command("edit", kept, "rename", row, "a\x1b[2Jb", "--out", copy)
    assert "'a�[2Jb'" in said.out
    assert "a�[2Jb" in command("edit", copy, "history").out
    again = command("edit", copy, "rename", row, " ").out
    assert f"prototype {row} (a�[2Jb) has the suggested name again" in again
    assert "\x1b" not in said.out + again


def test_a_new_class_from_a_file_is_measured_and_predicted(
    kept: Path, table: Path, tmp_path: Path, command: Command
) -> None:
    texts, out = tmp_path / "jobs.txt", tmp_path / "wider"
    texts.write_text("\n".join(NEW[1:]) + "\n", encoding="utf-8")
    found = command("edit", kept, "add-class", "jobs", NEW[0], "--texts", texts,
                    "--eval", table, "--out", out, "--json").json()  # fmt: skip
    assert found["before"]["examples"] == found["after"]["examples"] == len(OTHERS[0])
    assert found["after"]["examples_new"] == len(NEW)
    assert 0 <= found["after"]["accuracy_new"] <= 1
    assert "from 3 texts" in found["description"]
    assert found["prototypes"][1] == found["prototypes"][0] + 1
    explained = command("explain", out, NEW[0], "--json", "--top", 0).json()
    assert explained["classes"] == [*CLASSES, "jobs"]
    assert found["rows"][0] in {item["row"] for item in explained["evidence"]}
    assert len(rows_of(kept)) == found["prototypes"][0]


def test_add_merge_delete_and_replace(
    kept: Path, table: Path, tmp_path: Path, command: Command
) -> None:
    """One after the other on a copy, and all of them undone."""
    copy = tmp_path / "copy"
    Bundle.load(kept).save(copy)
    before = digest(copy)
    count = len(rows_of(copy))
    added = command("edit", copy, "add", "returns", TEXTS[0], "--out", copy, "--json").json()
    assert added["prototypes"] == [count, count + 1]
    assert added["description"] == "prototype of returns added from 1 text"
    row = added["rows"][0]
    other = next(each for each in rows_of(copy) if each != row)
    merged = command("edit", copy, "merge", other, row, "--out", copy, "--json").json()
    assert merged["prototypes"] == [count + 1, count]
    assert command("edit", copy, "replace", other, "--out", copy).code == 0
    gone = command("edit", copy, "delete", other, "--force", "--eval", table, "--out", copy)
    assert "predictions changed" in gone.out or "1 prediction changed" in gone.out
    assert len(command("edit", copy, "history", "--json").json()) == 4
    for _ in range(4):
        assert command("edit", copy, "undo", "--out", copy).code == 0
    assert digest(copy) == before
    refusal(command("edit", copy, "undo"), "no edit to undo")


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method: str, tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "model"
    fitted(method, "texts", tiny_bert).save(folder)
    found = command("edit", folder, "add-class", "jobs", *NEW, "--out", folder, "--json").json()
    assert found["prototypes"][1] == found["prototypes"][0] + 1
    explained = command("explain", folder, NEW[0], "--json", "--top", 0).json()
    assert explained["classes"][-1] == "jobs"
    total = sum(item["share"] for item in explained["evidence"]) + explained["base"]
    assert total == pytest.approx(explained["probability"], abs=1e-6)


def test_a_regression_has_no_classes_but_prototypes(
    regressor: Path, tmp_path: Path, command: Command
) -> None:
    refusal(command("edit", regressor, "add-class", "a", "text"), "regression")
    refusal(command("edit", regressor, "add", "much", "text"), "not a number")
    found = command("edit", regressor, "add", "3.5", "a fine text", "--json").json()
    assert found["prototypes"][1] == found["prototypes"][0] + 1
    table = write_jsonl(tmp_path / "t.jsonl", [{"text": f"text {i}", "label": i} for i in range(9)])
    found = command("edit", regressor, "delete", rows_of(regressor)[0], "--eval", table, "--json")
    assert found.json()["before"]["mse"] >= 0
    said = command("edit", regressor, "delete", rows_of(regressor)[0], "--eval", table).out
    assert "mse" in said


def test_refused(kept: Path, tmp_path: Path, table: Path, command: Command) -> None:
    """Each in one line with what to write; nothing is written."""
    before, out = digest(kept), tmp_path / "out"
    row = rows_of(kept)[0]
    cases: list[tuple[tuple[object, ...], tuple[str, ...]]] = [
        (("fly",), ("'fly'", "rename")),
        (("rename", row), ("1 word", "rename ROW NAME")),
        (("rename", "x", "name"), ("'x'", "rename ROW NAME")),
        (("rename", 99, "name"), ("99",)),
        (("delete", row, row), ("2 words",)),
        (("merge", row), ("1 word", "merge ROW ROW")),
        (("merge", row, row), ("two different",)),
        (("add", "nolabel", "text"), ("'nolabel'",)),
        (("add", "billing"), ("no texts", "--texts")),
        (("add", "billing", " "), ("empty",)),
        (("add", "billing", "half \udcff"), ("UTF-8",)),
        (("add-class", "billing", "text"), ("billing", "already")),
        (("add-class", " ", "text"), ("no name",)),
        (("add-class", "new", "text", "--texts", "none.txt"), ("none.txt",)),
        (("undo",), ("no edit to undo", "Make an edit first")),
        (("rename", row, "a", "--eval", "none.csv"), ("none.csv",)),
    ]
    for arguments, parts in cases:
        refusal(command("edit", kept, *arguments, "--out", out), *parts)
    refusal(command("edit", kept, "rename", row, "a", "--out", table), "file", str(table))
    refusal(command("edit", kept, "rename", row, "a", "--out", tmp_path), "not a model folder")
    assert not out.exists()
    assert digest(kept) == before


def test_the_last_prototype_of_a_class_needs_force(
    kept: Path, tmp_path: Path, command: Command
) -> None:
    copy = tmp_path / "copy"
    Bundle.load(kept).save(copy)
    head = Bundle.load(copy).model.head.prototypes()
    mine = [int(row) for row, label in zip(head.rows, head.labels, strict=True) if label == 0]
    for row in mine[:-1]:
        assert command("edit", copy, "delete", row, "--out", copy).code == 0
    refusal(command("edit", copy, "delete", mine[-1]), "last prototype of the class billing")
    assert command("edit", copy, "delete", mine[-1], "--force").code == 0


def test_an_interrupted_save_leaves_the_model(
    kept: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the disk is full or a person presses Ctrl-C: no byte differs, and it still works."""
    import protofit.model.bundle as module

    copy = tmp_path / "copy"
    Bundle.load(kept).save(copy)
    before, row = digest(copy), rows_of(kept)[0]
    for failure, code in ((KeyboardInterrupt(), 130), (OSError(28, "No space left"), 1)):

        def fail(*_: object, failure: BaseException = failure, **__: object) -> None:
            raise failure

        with monkeypatch.context() as patch:
            patch.setattr(module, "write_manifest", fail)
            result = command("edit", copy, "rename", row, "other", "--out", copy)
        assert result.code == code
        assert "Traceback" not in result.err
        assert digest(copy) == before
        assert command("edit", copy, "history").out == "no edits\n"
    assert leftovers(tmp_path) == []
