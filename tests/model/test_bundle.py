"""`Bundle`: what a model folder holds, and what is refused when it is read."""

from __future__ import annotations

import json
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.quick import few_tickets, quick_classifier, quick_regressor
from helpers.signed import edit_signed
from protofit.errors import InputError, ModelFolderError, ProtoFitWarning
from protofit.model.bundle import Bundle
from protofit.storage.manifest import sha256_of

TEXTS, LABELS = few_tickets()


@pytest.fixture(scope="module")
def bundle(tiny_bert: Path) -> Bundle:
    settings = {"encoder.max_length": 24, "encoder.prefix": "query: ", "train.max_steps": 3}
    trained: Bundle = quick_classifier(tiny_bert, settings).fit(TEXTS, LABELS).bundle_
    return trained


@pytest.fixture
def folder(bundle: Bundle, tmp_path: Path) -> Path:
    bundle.save(tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder: Path, change: Any) -> None:
    """Change the manifest as a program that knows the format would."""
    edit_signed(folder / "protofit.json", change)


def logits_of(bundle: Bundle) -> np.ndarray:
    return bundle.logits(bundle.tokens(TEXTS))


def test_what_is_saved_comes_back(bundle: Bundle, folder: Path) -> None:
    loaded = Bundle.load(folder)
    np.testing.assert_array_equal(logits_of(loaded), logits_of(bundle))
    assert loaded.classes == bundle.classes
    assert loaded.settings == bundle.settings
    assert loaded.record == bundle.record
    assert loaded.paired is False
    assert loaded.task == "classification"
    assert not loaded.model.training
    assert len(loaded.trace) == 3


def test_a_folder_of_somebody_else_is_not_replaced(bundle: Bundle, tmp_path: Path) -> None:
    """Replacing means deleting: only a model, or nothing, gives way."""
    (tmp_path / "chapter.txt").write_text("years of work")
    with pytest.raises(InputError, match="is not a model folder and is not overwritten"):
        bundle.save(tmp_path)
    assert (tmp_path / "chapter.txt").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == ["chapter.txt"]
    (tmp_path / "empty").mkdir()
    for _ in range(2):
        bundle.save(tmp_path / "empty")
        np.testing.assert_array_equal(logits_of(Bundle.load(tmp_path / "empty")), logits_of(bundle))


def test_saving_what_was_loaded_changes_no_byte(folder: Path, tmp_path: Path) -> None:
    Bundle.load(folder).save(tmp_path / "again")
    names = {path.name for path in folder.iterdir()}
    assert {path.name for path in (tmp_path / "again").iterdir()} == names
    for name in names:
        assert sha256_of(folder / name) == sha256_of(tmp_path / "again" / name), name


def test_the_folder_holds_no_code_and_no_pickle(folder: Path) -> None:
    files = list(folder.rglob("*"))
    assert {path.suffix for path in files} <= {".safetensors", ".json", ".csv", ".txt"}
    for path in files:
        with pytest.raises(ValueError):
            list(pickletools.genops(path.read_bytes()))


def test_the_record_says_how_it_was_made(bundle: Bundle, tiny_bert: Path) -> None:
    record = bundle.record
    assert record["encoder"] == tiny_bert.name
    assert (record["examples"], record["steps"], record["seed"]) == (16, 3, 0)
    assert record["held_back"] == 0
    assert record["device"] == "cpu"
    assert json.loads(json.dumps(record)) == record


def test_length_and_prefix_apply_when_predicting(bundle: Bundle) -> None:
    tokens = bundle.tokens(["late " * 50, "late"])
    assert tokens.lengths.tolist() == [24, 4]  # [CLS] query: late [SEP]
    assert tokens.truncated == 1
    first = bundle.tokenizer("query: late")["input_ids"]
    assert tokens.ids[tokens.offsets[1] :].tolist() == first


def test_saving_over_another_model_replaces_all_of_it(
    tiny_bert: Path, bundle: Bundle, folder: Path
) -> None:
    (folder / "stray.txt").write_text("left over")
    other = quick_regressor(tiny_bert).fit(TEXTS, np.arange(16)).bundle_
    other.save(folder)
    assert not (folder / "stray.txt").exists()
    assert Bundle.load(folder).task == "regression"
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_damaged_file_is_found(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelFolderError, match="damaged") as caught:
        Bundle.load(folder)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["model.safetensors", "trace.csv", "protofit.json"])
def test_a_missing_file_is_found(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelFolderError, match=name.replace(".", r"\.")):
        Bundle.load(folder)


@pytest.mark.parametrize("key", ["classes", "settings", "paired", "record"])
def test_a_manifest_that_lacks_a_part_is_refused(folder: Path, key: str) -> None:
    rewrite(folder, lambda content: content.pop(key))
    with pytest.raises(ModelFolderError, match=key):
        Bundle.load(folder)


def test_a_newer_format_is_refused(folder: Path) -> None:
    rewrite(folder, lambda content: content.update(format_version=99))
    with pytest.raises(ModelFolderError, match="newer ProtoFit"):
        Bundle.load(folder)


def test_an_unknown_setting_of_a_later_version_is_dropped_aloud(
    bundle: Bundle, folder: Path
) -> None:
    rewrite(folder, lambda content: content["settings"]["head"].update(gamma=1.0))
    with pytest.warns(ProtoFitWarning, match=r"head\.gamma"):
        loaded = Bundle.load(folder)
    assert loaded.settings == bundle.settings


def test_a_method_that_is_not_known_is_refused(folder: Path) -> None:
    rewrite(folder, lambda content: content["settings"].update(method="magic"))
    with pytest.raises(InputError, match="magic"):
        Bundle.load(folder)


def test_a_plain_encoder_folder_is_no_model(tiny_bert: Path) -> None:
    with pytest.raises(ModelFolderError, match=r"protofit\.json"):
        Bundle.load(tiny_bert)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="no such folder"):
        Bundle.load(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []
