"""`protofit decoder`: fitted on request, shown, saved, read again, taken off."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.command import Command, refusal, training, write_jsonl
from helpers.decoding import SMALL, sentences
from protofit.decoder import attach
from protofit.model.bundle import Bundle
from protofit.storage.manifest import sha256_of


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder that is fitted in a moment."""
    monkeypatch.setattr(attach, "DEFAULT", SMALL)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    rows = [{"text": text, "label": "ab"[i % 2]} for i, text in enumerate(sentences())]
    return write_jsonl(tmp_path / "texts.jsonl", rows)


def test_fit_show_save_read(model: Path, texts: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "decoding"
    made = command("decoder", model, texts, "--out", out, "--json")
    assert made.code == 0
    assert "can repeat the texts" in made.err
    content = made.json()
    assert content["saved"] == str(out)
    assert (content["decoder"]["texts"], content["decoder"]["fitted"]) == (5, 25)
    assert len(content["prototypes"]) >= 2
    assert all(isinstance(row["decoded"], str) for row in content["prototypes"])
    assert sha256_of(out / "model.safetensors") == sha256_of(model / "model.safetensors")
    shown = command("decoder", out, "--json").json()
    assert shown == {**content, "saved": None}
    assert command("info", out, "--json").json()["decoder"] == content["decoder"]
    verdict = content["decoder"]["verdict"]
    for said in (command("info", out).out, command("decoder", out).out):
        assert verdict[:30] in " ".join(said.split())
    explained = command("explain", out, "my lamp is late today")
    assert f"decoded   “{content['prototypes'][0]['decoded']}”"[:60] in explained.out


def test_the_same_seed_writes_the_same_bytes(
    model: Path, texts: Path, tmp_path: Path, command: Command
) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        out = tmp_path / name
        assert command("decoder", model, texts, "--out", out, "--seed", seed).code == 0
    sums = [sha256_of(tmp_path / name / "decoder.safetensors") for name in "abc"]
    assert sums[0] == sums[1] != sums[2]


def test_nothing_is_saved_without_out(model: Path, texts: Path, command: Command) -> None:
    before = sorted(path.name for path in model.iterdir())
    result = command("decoder", model, texts)
    assert result.code == 0
    assert "nothing is saved" in result.err
    assert sorted(path.name for path in model.iterdir()) == before


def test_remove(model: Path, texts: Path, tmp_path: Path, command: Command) -> None:
    """In place; the folder is then that of a model that never had one, byte for byte."""
    out, again = tmp_path / "decoding", tmp_path / "again"
    command("decoder", model, texts, "--out", out)
    assert command("decoder", out, "--remove", "--out", out, "--json").json()["decoder"] is None
    Bundle.load(model).save(again)
    sums = [{path.name: sha256_of(path) for path in each.iterdir()} for each in (out, again)]
    assert sums[0] == sums[1]
    refusal(command("decoder", out, "--remove"), "no decoder")


def test_training_makes_none(data: Path, tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """Whatever else is kept."""
    arguments = training(data, tiny_bert, tmp_path / "model", "--keep-texts")
    assert command(*arguments).code == 0
    assert not list((tmp_path / "model").glob("decoder*"))
    refusal(command("decoder", tmp_path / "model"), "no decoder", "DATA")


def test_refused(model: Path, texts: Path, tmp_path: Path, command: Command) -> None:
    """Each before the work, with what to do."""
    few = write_jsonl(tmp_path / "few.jsonl", [{"text": text} for text in sentences(19)])
    result = command("decoder", model, few)
    assert result.code == 2
    assert "19 different texts" in result.err
    refusal(command("decoder", model, texts, "--remove"), "--remove")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    refusal(command("decoder", model, texts, "--out", tmp_path / "other"), "not a model folder")
