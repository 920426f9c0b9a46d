"""The index of a model: numbers always, training texts only with consent, damage found."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.quick import ROOMY, exactly, quick_classifier
from protofit import PFitClassifier
from protofit.errors import ModelFolderError
from protofit.model.bundle import Bundle
from protofit.model.index import INDEX_FILE, TEXTS_FILE, TrainingIndex, make_index

# words that no file of an encoder, tokenizer or setting holds
WORDS = [f"zq{a}xj{b}v" for a in "bcdfgk" for b in "hlmnpr"]
TEXTS = [f"{one} {other}" for one, other in zip(WORDS, WORDS[1:] + WORDS[:1], strict=True)]
LABELS = ["left", "right"] * (len(TEXTS) // 2)
Keep = Callable[..., Any]


@pytest.fixture(scope="module")
def trained(tiny_bert: Path) -> Keep:
    """`trained(keep_index=…, keep_texts=…)`: a classifier of words that nobody else says."""
    made: dict[str, Any] = {}

    def make(**keep: bool) -> Any:
        name = str(sorted(keep.items()))
        if name not in made:
            model = quick_classifier(tiny_bert, {**ROOMY, **exactly(2)}, **keep)
            made[name] = model.fit(TEXTS, LABELS)
        return copy.deepcopy(made[name])

    return make


def found_words(folder: Path) -> set[str]:
    """Words of the training texts in any byte of any file, in any of three encodings."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes().lower()
            for encoding in ("utf-8", "utf-16-le", "utf-32-le"):
                found |= {word for word in WORDS if word.encode(encoding) in content}
    return found


@pytest.mark.parametrize("keep", [{}, {"keep_index": True}])
def test_without_consent_no_byte_of_a_training_text_is_in_the_folder(
    trained: Keep, keep: dict[str, bool], tmp_path: Path
) -> None:
    model = trained(**keep)
    model.save(tmp_path / "model")
    assert found_words(tmp_path) == set()
    assert (tmp_path / "model" / INDEX_FILE).exists() == bool(keep)


def test_nor_after_edits_with_texts_of_its_own(trained: Keep, tmp_path: Path) -> None:
    model = trained(keep_index=True)
    model.prototypes.judge(TEXTS, LABELS)
    model.prototypes.add(TEXTS[:2], "left")
    model.prototypes.add_class("middle", TEXTS[2:5])
    model.prototypes.replace(model.prototypes.rows[0])
    model.prototypes.delete(model.prototypes.rows[0], force=True)
    model.save(tmp_path / "model")
    assert found_words(tmp_path) == set()


def test_with_consent_every_text_is_there(trained: Keep, tmp_path: Path) -> None:
    trained(keep_texts=True).save(tmp_path / "model")
    assert found_words(tmp_path) == set(WORDS)
    holding = [path.name for path in (tmp_path / "model").iterdir()
               if path.is_file() and WORDS[0].encode() in path.read_bytes()]  # fmt: skip
    assert holding == [TEXTS_FILE]
    assert json.loads((tmp_path / "model" / TEXTS_FILE).read_text()) == TEXTS


def test_an_index_is_read_as_it_was_written(trained: Keep, tmp_path: Path) -> None:
    model = trained(keep_texts=True)
    model.index(TEXTS, LABELS, keep_texts=True, sample_weight=np.arange(1, len(TEXTS) + 1))
    model.save(tmp_path / "model")
    wanted, read = model.bundle_.index, PFitClassifier.load(tmp_path / "model").bundle_.index
    for name in ("features", "labels", "rows", "weights"):
        one, other = getattr(wanted, name), getattr(read, name)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    assert read.texts == wanted.texts


@pytest.mark.parametrize("texts", [["ü ‖ \n\t", "\ud83d\ude00 ok".encode("utf-16", "surrogatepass")
                                    .decode("utf-16")], [("a", "b"), ("c", "")]])  # fmt: skip
def test_any_text_comes_back(texts: Any, tmp_path: Path) -> None:
    numbers = np.arange(2)
    index = TrainingIndex(np.ones((2, 3), np.float16), numbers, numbers, None, tuple(texts))
    index.save(tmp_path)
    assert TrainingIndex.load(tmp_path).texts == tuple(texts)


def test_no_index_is_none(tmp_path: Path) -> None:
    assert TrainingIndex.load(tmp_path) is None


@pytest.mark.parametrize("name", [INDEX_FILE, TEXTS_FILE])
def test_a_flipped_byte_is_found(trained: Keep, name: str, tmp_path: Path) -> None:
    trained(keep_texts=True).save(tmp_path / "model")
    path = tmp_path / "model" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ModelFolderError, match=re.escape(name)):
        Bundle.load(tmp_path / "model")
    path.unlink()
    with pytest.raises(ModelFolderError, match="missing"):
        Bundle.load(tmp_path / "model")


def test_texts_and_rows_must_be_as_many(tmp_path: Path) -> None:
    numbers = np.arange(2)
    TrainingIndex(np.ones((2, 3), np.float16), numbers, numbers).save(tmp_path)
    (tmp_path / TEXTS_FILE).write_text('["one"]')
    with pytest.raises(ModelFolderError, match="1 texts for 2 rows"):
        TrainingIndex.load(tmp_path)


def test_features_are_halved_unless_they_are_too_large(trained: Keep) -> None:
    model = trained(keep_index=True)
    index, bundle = model.bundle_.index, model.bundle_
    exact = bundle.features(bundle.tokens(TEXTS)).numpy()
    assert index.features.dtype == np.float16
    assert np.array_equal(index.features, exact.astype(np.float16))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("protofit.model.index.LARGEST_HALF", 0.1)
        large = make_index(bundle.model, bundle.tokens(TEXTS), index.labels)
    assert large.features.dtype == np.float32
    assert np.array_equal(large.features, exact)


def test_blocks_change_nothing(trained: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained(keep_index=True)
    bundle = model.bundle_
    monkeypatch.setattr("protofit.model.index.BLOCK", 5)
    found = make_index(bundle.model, bundle.tokens(TEXTS), bundle.index.labels)
    assert found.features.astype(float) == pytest.approx(
        bundle.index.features.astype(float), abs=2e-3
    )
    assert found.rows.tolist() == list(range(len(TEXTS)))


def test_growing_and_shrinking() -> None:
    rows = np.arange(3)
    index = TrainingIndex(
        np.ones((3, 2), np.float16), rows, rows, np.ones(3, np.float32), ("a",) * 3
    )
    longer = index.extended(np.zeros((2, 2)), np.array([1.0, 1.0]), ["b", "c"])
    assert len(longer) == 5
    assert longer.rows.tolist() == [0, 1, 2, -1, -1]
    assert longer.texts == ("a", "a", "a", "b", "c")
    assert longer.labels.dtype == index.labels.dtype
    assert longer.weights.tolist() == [1] * 5
    shorter = longer.first(3)
    assert shorter.texts == index.texts
    assert np.array_equal(shorter.features, index.features)
    assert index.first(3) is index


def test_a_model_without_an_index_is_read_by_what_is_older(trained: Keep, tmp_path: Path) -> None:
    for name, keep, version in (("old", {}, 1), ("new", {"keep_index": True}, 2)):
        trained(**keep).save(tmp_path / name)
        manifest = json.loads((tmp_path / name / "protofit.json").read_text())
        assert manifest["format_version"] == version
