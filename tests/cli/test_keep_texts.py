"""Training texts can be private: without `--keep-texts` the command leaves none behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.command import Command, training, write_jsonl

WORDS = [f"qx{a}zv{b}k" for a in "bdfg" for b in "hlmp"]  # of no encoder, setting or record
TEXTS = [f"{one} {other}" for one, other in zip(WORDS, WORDS[1:] + WORDS[:1], strict=True)]
ROWS = [{"text": text, "label": "ab"[i % 2]} for i, text in enumerate(TEXTS)]
ENCODINGS = ("utf-8", "utf-16-le", "utf-32-le")


def found_in(place: Path) -> set[str]:
    """Words of the training texts in any byte of any file."""
    contents = [path.read_bytes().lower() for path in place.rglob("*") if path.is_file()]
    return {
        word for word in WORDS for content in contents
        if any(word.encode(encoding) in content for encoding in ENCODINGS)
    }  # fmt: skip


@pytest.mark.parametrize("keep", [(), ("--keep-index",), ("--keep-texts",)])
def test_every_byte_of_what_train_and_edit_write(
    keep: tuple[str, ...], tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", ROWS)
    out = tmp_path / "out"
    out.mkdir()
    assert command(*training(data, tiny_bert, out / "model", "--eval", data, *keep)).code == 0
    edited = command("edit", out / "model", "add", "a", ROWS[0]["text"], "--eval", data,
                     "--out", out / "model")  # fmt: skip
    assert edited.code == 0
    assert found_in(out) == (set(WORDS) if "--keep-texts" in keep else set())
