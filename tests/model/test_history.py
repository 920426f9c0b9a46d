"""The history of a model folder: names, heads and classes of before, checked like the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.opened import fitted, same_state, state
from protofit import PFitClassifier
from protofit.errors import ModelFolderError
from protofit.model.bundle import Bundle
from protofit.model.history import EDITS_FILE, HISTORY, NAMES_FILE, load_history, load_names
from protofit.storage.manifest import write_manifest

TEXTS = ["gift card code", "gift card balance"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A model that was edited three times."""
    model = fitted("pfit", "texts", tiny_bert)
    model.prototypes.rename(model.prototypes.rows[0], "ñame")
    model.prototypes.add_class("gifts", TEXTS)
    model.prototypes.delete(model.prototypes.rows[1], force=True)
    model.save(tmp_path_factory.mktemp("edited") / "model")
    return tmp_path_factory.getbasetemp() / "edited0" / "model"


def test_what_is_in_the_folder(folder: Path) -> None:
    names = json.loads((folder / NAMES_FILE).read_text(encoding="utf-8"))
    assert list(names["names"].values()) == ["ñame"]
    facts = json.loads((folder / HISTORY / EDITS_FILE).read_text())
    assert [item["edit"]["action"] for item in facts] == ["rename", "add_class", "delete"]
    assert [item["outputs"] for item in facts] == [3, 3, 4]
    heads = sorted(path.name for path in (folder / HISTORY).glob("*.safetensors"))
    assert heads == ["0000.safetensors", "0001.safetensors", "0002.safetensors"]
    whole = (folder / "model.safetensors").stat().st_size
    parts = sum(path.stat().st_size for path in (folder / HISTORY).iterdir())
    assert parts < whole / 4  # the encoder is not kept again
    listed = json.loads((folder / "protofit.json").read_text())["files"]
    assert {f"history/{name}" for name in (*heads, EDITS_FILE)} <= set(listed)


def test_a_loaded_history_is_the_saved_one(folder: Path, tmp_path: Path) -> None:
    first = PFitClassifier.load(folder)
    first.save(tmp_path / "again")
    second = PFitClassifier.load(tmp_path / "again")
    while first.prototypes.history:
        assert first.prototypes.history == second.prototypes.history
        assert same_state(state(first), state(second))
        assert first.bundle_.names == second.bundle_.names
        assert np.array_equal(first.classes_, second.classes_)
        first.prototypes.undo()
        second.prototypes.undo()
    assert list(first.classes_) == ["billing", "delivery", "returns"]


@pytest.mark.parametrize(
    "name", [NAMES_FILE, f"{HISTORY}/{EDITS_FILE}", f"{HISTORY}/0001.safetensors"]
)
def test_a_flipped_byte_is_found(folder: Path, name: str, tmp_path: Path) -> None:
    PFitClassifier.load(folder).save(tmp_path / "model")
    path = tmp_path / "model" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))
    with pytest.raises(ModelFolderError, match="damaged"):
        Bundle.load(tmp_path / "model")


def garble(folder: Path, name: str, content: str) -> None:
    """Write nonsense that the manifest knows of."""
    (folder / name).write_text(content)
    manifest: dict[str, Any] = json.loads((folder / "protofit.json").read_text())
    version = manifest.pop("format_version")
    for key in ("files", "checksum", "format"):
        manifest.pop(key)
    (folder / "protofit.json").unlink()
    write_manifest(folder, manifest, format_version=version)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (NAMES_FILE, "[]", "names of the prototypes are garbled"),
        (NAMES_FILE, '{"names": {"x": "y"}}', "names of the prototypes are garbled"),
        (f"{HISTORY}/{EDITS_FILE}", "[{}]", "history of edits is garbled"),
        (f"{HISTORY}/{EDITS_FILE}", "nonsense", "history of edits is garbled"),
    ],
)
def test_nonsense_that_is_listed_is_refused(
    folder: Path, name: str, content: str, told: str, tmp_path: Path
) -> None:
    PFitClassifier.load(folder).save(tmp_path / "model")
    garble(tmp_path / "model", name, content)
    with pytest.raises(ModelFolderError, match=told):
        Bundle.load(tmp_path / "model")


def test_nothing_edited_nothing_written(tmp_path: Path) -> None:
    assert load_names(tmp_path) == {}
    assert load_history(tmp_path, None) == []
