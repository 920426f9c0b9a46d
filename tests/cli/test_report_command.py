"""`protofit report`: one file, written whole or not at all, without texts that were not kept."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from helpers.command import EXAMPLES, Command, leftovers, refusal, training, write_jsonl
from helpers.fresh import run_fresh

MISSING = """
import importlib, json, sys
sys.modules["vl_convert"] = None
from protofit.cli.main import run
print(json.dumps(run(["report", "nowhere"])))
"""
HELD = [{"text": f"a late {word}", "label": label} for word, label in
        (("lamp", "bad"), ("kettle", "bad"), ("gift", "good"))]  # fmt: skip


@pytest.fixture(autouse=True)
def _extra() -> None:
    pytest.importorskip("jinja2", reason="needs the extra `report`")
    pytest.importorskip("vl_convert", reason="needs the extra `report`")


def visible(page: Path) -> str:
    """All but the programs."""
    text = re.sub(r"<script>.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.S)
    return html.unescape(text)


def test_a_page_of_a_model_and_a_table(model: Path, tmp_path: Path, command: Command) -> None:
    table, out = write_jsonl(tmp_path / "held.jsonl", HELD), tmp_path / "r.html"
    found = command("report", model, table, "--out", out, "--title", "Mine & <b>", "--json").json()
    assert found == {"model": str(model), "data": str(table), "out": str(out),
                     "bytes": out.stat().st_size}  # fmt: skip
    page = visible(out)
    assert "Mine & <b> · ProtoFit report" in page
    assert "Measured on the texts of held.jsonl." in page
    assert str(tmp_path) not in page  # it may be sent away
    for row in HELD:
        assert row["text"] in page
    assert leftovers(tmp_path) == []


def test_rows_are_the_lines_of_the_table(model: Path, tmp_path: Path, command: Command) -> None:
    table = tmp_path / "held.csv"
    table.write_text("text,label\na late lamp,bad\na fine gift,good\n", encoding="utf-8")
    command("report", model, table, "--out", tmp_path / "r.html")
    novel = visible(tmp_path / "r.html").split('id="h-novel"')[1]
    assert {int(row) for row in re.findall(r"row (\d+)<", novel)} == {2, 3}


def test_without_labels_nothing_is_measured(model: Path, tmp_path: Path, command: Command) -> None:
    table = write_jsonl(tmp_path / "t.jsonl", [{"text": row["text"]} for row in HELD])
    assert command("report", model, table, "--out", tmp_path / "r.html").code == 0
    assert "No labelled texts were given" in visible(tmp_path / "r.html")


def test_without_data_and_without_consent_it_holds_no_training_text(
    model: Path, data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    indexed, kept = tmp_path / "indexed", tmp_path / "kept"
    assert command(*training(data, tiny_bert, indexed, "--keep-index")).code == 0
    assert command(*training(data, tiny_bert, kept, "--keep-texts")).code == 0
    for folder, expected in ((model, False), (indexed, False), (kept, True)):
        out = tmp_path / f"{folder.name}.html"
        assert command("report", folder, "--out", out).code == 0
        page = visible(out)
        assert any(row["text"] in page for row in EXAMPLES) == expected
        assert ("holds no training texts" in page) == (not expected)


def test_a_regression(regressor: Path, tmp_path: Path, command: Command) -> None:
    rows = [{"text": f"text {i}", "label": i} for i in range(6)]
    table = write_jsonl(tmp_path / "t.jsonl", rows)
    assert command("report", regressor, table, "--out", tmp_path / "r.html").code == 0
    assert "Predicted and true values" in visible(tmp_path / "r.html")


def test_refused(model: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "r.html"
    out.write_text("mine")
    table = write_jsonl(tmp_path / "t.jsonl", HELD)
    refusal(command("report", model, "--out", tmp_path / "r.pdf"), ".pdf", ".html")
    refusal(command("report", model, "--out", tmp_path), str(tmp_path))
    (tmp_path / "folder.html").mkdir()
    refusal(command("report", model, "--out", tmp_path / "folder.html"), "folder")
    refusal(command("report", model, tmp_path / "none.csv", "--out", out), "none.csv")
    refusal(command("report", model, table, "--label", "other", "--out", out), "'other'")
    odd = write_jsonl(tmp_path / "odd.jsonl", [{"text": "a", "label": "unknown"}])
    refusal(command("report", model, odd, "--out", out), "'unknown'")
    refusal(command("report", tmp_path / "none", "--out", out), "none")
    assert out.read_text() == "mine"


def test_ctrl_c_leaves_the_page_that_was_there(
    model: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "r.html"
    out.write_text("mine")
    monkeypatch.setattr("protofit.explain.glance.interpret", stop)
    result = command("report", model, "--out", out)
    assert (result.code, result.err) == (130, "protofit: stopped\n")
    assert out.read_text() == "mine"
    assert leftovers(tmp_path) == []


def test_a_missing_extra_is_one_sentence() -> None:
    assert run_fresh(MISSING) == 2
