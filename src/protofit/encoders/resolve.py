"""From the name a user gives to a folder on disk or an id on the Hub."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from protofit.encoders.embedded import DEFAULT_ENCODER, embedded_folder
from protofit.errors import InputError

EMBEDDED_NAMES = ("embedded", "default", "all-MiniLM-L6-v2", DEFAULT_ENCODER)
HUB_ID = re.compile(r"^[\w.-]+(/[\w.-]+)?$")
TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "spm.model",
)


@dataclass(frozen=True)
class EncoderSource:
    """Where an encoder comes from."""

    location: str  # folder path, or Hub id
    name: str  # what to call it in records
    local: bool  # whether loading needs no network


def resolve_encoder(encoder: str | os.PathLike[str]) -> EncoderSource:
    """Find the encoder a user named: `embedded`, a folder, or a Hub id."""
    if not isinstance(encoder, (str, os.PathLike)):
        raise InputError(
            f"the encoder is {encoder!r}",
            where="encoder",
            fix="Give 'embedded', a Hugging Face folder or a Hub id.",
        )
    text = os.fspath(encoder)
    if text in EMBEDDED_NAMES:
        folder = embedded_folder()
        if folder is not None:
            return EncoderSource(str(folder), DEFAULT_ENCODER, local=True)
        return EncoderSource(DEFAULT_ENCODER, DEFAULT_ENCODER, local=False)
    path = Path(text).expanduser()
    if text and path.is_dir():
        _check_folder(path)
        return EncoderSource(str(path), path.resolve().name, local=True)
    if text and path.exists():
        raise InputError(
            "the encoder is a file", where=text, fix="Give the folder that holds config.json."
        )
    if text.startswith((".", "/", "~")) or "\\" in text or not HUB_ID.match(text):
        raise InputError("no such encoder folder", where=text, fix="Check the path.")
    return EncoderSource(text, text, local=False)


def _check_folder(path: Path) -> None:
    if not (path / "config.json").is_file():
        raise InputError(
            "the encoder folder has no config.json",
            where=str(path),
            fix="Give a Hugging Face model folder.",
        )
    if not any((path / name).is_file() for name in TOKENIZER_FILES):
        raise InputError(
            "the encoder folder has no tokenizer (tokenizer.json, vocab.txt or the like)",
            where=str(path),
            fix="Save the tokenizer there: tokenizer.save_pretrained(folder).",
        )
    if not any(path.glob("*.safetensors")):
        raise InputError(
            "the encoder folder has no weights in safetensors form",
            where=str(path),
            fix="Save them there: model.save_pretrained(folder). Pickled weights are not loaded.",
        )
