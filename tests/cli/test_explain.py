"""`protofit explain`: a text, a file, standard input; for people and for programs."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.command import EXAMPLES, Command, refusal, write_jsonl
from helpers.opened import METHODS, TEXTS, fitted


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A model with its training texts; nobody may change it."""
    folder = tmp_path_factory.mktemp("kept") / "model"
    fitted("pfit", "texts", tiny_bert).save(folder)
    return folder


def say(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def test_shares_add_up_to_the_probability(kept: Path, command: Command) -> None:
    found = command("explain", kept, TEXTS[0], "--json", "--top", 2).json()
    total = sum(item["share"] for item in found["evidence"]) + found["rest_share"] + found["base"]
    assert total == pytest.approx(found["probability"], abs=1e-6)
    assert found["probability"] == max(found["probabilities"])
    assert len(found["evidence"]) == 2
    assert len(found["evidence"][0]["nearest"]) == 3
    assert found["counter"]["target"] == found["runner_up"] != found["prediction"]
    assert found["nearest"][0]["text"] == TEXTS[0]


def test_a_person_reads_the_same(kept: Path, command: Command) -> None:
    found = command("explain", kept, TEXTS[0], "--json").json()
    said = command("explain", kept, TEXTS[0])
    assert said.code == 0
    assert f"→ {found['prediction']} ({found['probability']:.1%})" in said.out
    for item in found["evidence"][:2]:
        assert f"{item['share']:+8.4f}" in said.out
        best = max(range(len(found["classes"])), key=item["outputs"].__getitem__)
        says = f"says {found['classes'][best]} {item['outputs'][best]:.0%}"
        assert f"row {item['row']}, z {item['importance']:.3f}, {says}" in said.out
    assert f"{found['probability']:+8.4f} together" in said.out
    assert f"the strongest for {found['runner_up']}" in said.out
    assert "train with" not in said.out


def test_without_an_index_it_is_said_how_to_get_one(model: Path, command: Command) -> None:
    said = command("explain", model, "fine parcel arrived")
    assert said.code == 0
    assert "train with --keep-texts" in said.out


def test_markup_in_a_text_is_text(kept: Path, command: Command) -> None:
    text = "[bold]late[/bold] [link=file:///x]parcel[/link] 🎉"
    assert f"“{text}”" in command("explain", kept, text).out


def test_nothing_of_a_text_steers_the_terminal(
    kept: Path, tmp_path: Path, command: Command
) -> None:
    table = tmp_path / "texts.txt"
    table.write_text("\x1b[31mred\x1b[0m \x07 parcel\n", encoding="utf-8")
    said = command("explain", kept, table).out
    assert "“�[31mred�[0m � parcel”" in said
    assert "\x1b" not in said
    assert "\x07" not in said


def test_a_file_is_a_list_even_of_one(kept: Path, tmp_path: Path, command: Command) -> None:
    table = write_jsonl(tmp_path / "new.jsonl", [{"text": TEXTS[0]}])
    assert [each["text"] for each in command("explain", kept, table, "--json").json()] == TEXTS[:1]
    lines = tmp_path / "new.txt"
    lines.write_text("\n".join(TEXTS[:3]) + "\n", encoding="utf-8")
    assert len(command("explain", kept, lines, "--json").json()) == 3
    named = write_jsonl(tmp_path / "named.jsonl", [{"body": TEXTS[1]}])
    found = command("explain", kept, named, "--text", "body", "--json").json()
    assert found[0]["text"] == TEXTS[1]


def test_standard_input_has_a_text_per_line(
    kept: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, b"a late parcel, still\nan invoice\n")
    found = command("explain", kept, "-", "--json").json()
    assert [each["text"] for each in found] == ["a late parcel, still", "an invoice"]


def test_top_0_lists_all(kept: Path, command: Command) -> None:
    found = command("explain", kept, TEXTS[0], "--json", "--top", 0, "--neighbours", 0).json()
    assert found["rest_count"] == 0
    assert all(item["nearest"] == [] for item in found["evidence"])


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method: str, tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    fitted(method, "texts", tiny_bert).save(tmp_path / "model")
    found = command("explain", tmp_path / "model", TEXTS[0], "--json", "--top", 0).json()
    total = sum(item["share"] for item in found["evidence"]) + found["base"]
    assert total == pytest.approx(found["probability"], abs=1e-6)
    assert " together" in command("explain", tmp_path / "model", TEXTS[0]).out


def test_pairs(tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "model"
    fitted("pfit", "pairs", tiny_bert).save(folder)
    found = command("explain", folder, TEXTS[0], "--second", TEXTS[1], "--json").json()
    assert found["text"] == TEXTS[:2]
    assert f"“{TEXTS[0][:20]}" in command("explain", folder, TEXTS[0], "--second", TEXTS[1]).out
    refusal(command("explain", folder, TEXTS[0]), "pairs", "--second")
    refusal(command("explain", folder, TEXTS[0], "--second", " "), "--second", "empty")
    table = write_jsonl(tmp_path / "t.jsonl", [{"text": TEXTS[0], "text_pair": TEXTS[1]}])
    assert command("explain", folder, table, "--json").json()[0]["text"] == TEXTS[:2]
    refusal(command("explain", folder, table, "--second", "x"), "--second", "--text-pair")


def test_a_regression(regressor: Path, command: Command) -> None:
    found = command("explain", regressor, "fine parcel arrived", "--json", "--top", 0).json()
    total = sum(item["share"] for item in found["evidence"]) + found["base"]
    assert total == pytest.approx(found["prediction"], abs=1e-5)
    assert found["counter"] is None
    said = command("explain", regressor, "fine parcel arrived").out
    assert f"→ {found['prediction']:.4g}" in said
    assert "share of the value" in said


def test_refused(kept: Path, tmp_path: Path, command: Command) -> None:
    """Each in one line that says what to do."""
    refusal(command("explain", kept, " "), "TEXT", "empty")
    refusal(command("explain", kept, "half \udcff"), "TEXT", "UTF-8")
    refusal(command("explain", kept, "nofile.csv"), "nofile.csv", "no such file")
    refusal(command("explain", kept, tmp_path), str(tmp_path), "folder")
    refusal(command("explain", kept, "a text", "--top", "-1"), "--top")
    refusal(command("explain", kept, "a text", "--second", "b"), "--second", "single texts")
    refusal(command("explain", tmp_path / "no model", "a text"), "no model")
    refusal(command("explain", kept), "TEXT|FILE|-")
    table = write_jsonl(tmp_path / "t.jsonl", EXAMPLES)
    refusal(command("explain", kept, table, "--text", "body"), "'body'")


def test_a_method_without_prototypes_has_no_evidence(
    tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    from helpers.quick import few_tickets, quick_classifier

    quick_classifier(tiny_bert, method="raw").fit(*few_tickets()).save(tmp_path / "raw")
    for arguments in (("explain", tmp_path / "raw", "a text"), ("edit", tmp_path / "raw", "undo"),
                      ("report", tmp_path / "raw", "--out", tmp_path / "r.html")):  # fmt: skip
        refusal(command(*arguments), "raw has no prototypes", "pfit")
    assert not (tmp_path / "r.html").exists()
