"""Encoders of six architectures: trained, saved and loaded alike, with both poolings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.quick import few_tickets, quick_classifier
from helpers.tiny import ARCHITECTURES, make_encoder
from protofit import PFitClassifier

TEXTS, LABELS = few_tickets()
PAIRS = list(zip(TEXTS, reversed(TEXTS), strict=True))
EVERY = pytest.mark.parametrize("architecture", ARCHITECTURES)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("architectures")
    return {name: make_encoder(name, root / name) for name in ARCHITECTURES}


def trained(folder: Path, texts: Any = TEXTS, **settings: Any) -> Any:
    return quick_classifier(folder, settings).fit(texts, LABELS)


@EVERY
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_trained_saved_and_loaded(
    folders: dict[str, Path], tmp_path: Path, architecture: str, pooling: str
) -> None:
    model = trained(folders[architecture], **{"encoder.pooling": pooling})
    assert [row["step"] for row in model.trace_] == [1, 2, 3, 4]
    model.save(tmp_path / "model")
    loaded = PFitClassifier.load(tmp_path / "model")
    assert type(loaded.bundle_.model.encoder) is type(model.bundle_.model.encoder)
    assert loaded.bundle_.model.config.encoder["model_type"] == architecture
    assert loaded.bundle_.model.settings.pooling == pooling
    np.testing.assert_array_equal(loaded.predict_log_proba(TEXTS), model.predict_log_proba(TEXTS))


@EVERY
def test_every_part_of_the_encoder_is_loaded_and_learns(
    folders: dict[str, Path], architecture: str
) -> None:
    from safetensors.torch import load_file

    pretrained = load_file(folders[architecture] / "model.safetensors")
    still = trained(folders[architecture], **{"train.learning_rate": 1e-30}).bundle_.model
    moved = trained(folders[architecture], **{"train.learning_rate": 1e-3}).bundle_.model
    before = dict(still.encoder.named_parameters())
    after = dict(moved.encoder.named_parameters())
    assert set(before) <= set(pretrained)
    for name, parameter in before.items():
        torch.testing.assert_close(parameter.detach(), pretrained[name], rtol=0, atol=1e-20)
        assert parameter.dtype == torch.float32
    still_there = [name for name in before if torch.equal(before[name], after[name])]
    unused = ("token_type_embeddings", "position_embeddings")  # rows, not whole tables
    assert [name for name in still_there if not any(part in name for part in unused)] == []


@EVERY
def test_an_unused_pooler_is_left_out(folders: dict[str, Path], architecture: str) -> None:
    model = trained(folders[architecture]).bundle_.model
    assert not [name for name, _ in model.named_parameters() if "pooler" in name]


@EVERY
def test_the_two_poolings_differ(folders: dict[str, Path], architecture: str) -> None:
    one, other = (
        trained(folders[architecture], **{"encoder.pooling": name}) for name in ("mean", "cls")
    )
    assert not np.allclose(one.predict_log_proba(TEXTS), other.predict_log_proba(TEXTS))


@EVERY
def test_pairs(folders: dict[str, Path], tmp_path: Path, architecture: str) -> None:
    model = trained(folders[architecture], PAIRS)
    model.save(tmp_path / "model")
    loaded = PFitClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(PAIRS), model.predict_proba(PAIRS))
    bundle, two = model.bundle_, ("late parcel", "wrong invoice")
    ways = bundle.tokens([two, two[::-1], (" ".join(two), "")])
    with torch.no_grad():
        features = bundle.model.double().features(**ways.batch(np.arange(3), torch.device("cpu")))
    assert torch.pdist(features).min() > 1e-6  # the order and the border of a pair count


@EVERY
def test_padding_does_not_matter(folders: dict[str, Path], architecture: str) -> None:
    bundle = trained(folders[architecture]).bundle_
    for pooling in ("mean", "cls"):
        bundle.model.settings = replace(bundle.model.settings, pooling=pooling)
        tokens = bundle.tokens(["late", "late " * 60])
        short = tokens.batch([0], torch.device("cpu"))
        padded = tokens.batch([0, 1], torch.device("cpu"))
        assert padded["input_ids"].shape[1] > short["input_ids"].shape[1] + 40
        with torch.no_grad():
            alone, company = bundle.model.features(**short), bundle.model.features(**padded)
        torch.testing.assert_close(company[:1], alone, rtol=0, atol=1e-5)


@EVERY
def test_dropout_can_be_replaced(folders: dict[str, Path], architecture: str) -> None:
    model = trained(folders[architecture], **{"encoder.dropout": 0.0}).bundle_.model.train()
    batch = {"input_ids": torch.tensor([[2, 9, 11, 12, 3]]), "attention_mask": torch.ones(1, 5)}
    with torch.no_grad():
        assert torch.equal(model.features(**batch), model.features(**batch))
    model = trained(folders[architecture], **{"encoder.dropout": 0.5}).bundle_.model.train()
    with torch.no_grad():
        assert not torch.equal(model.features(**batch), model.features(**batch))
