"""Every method through the estimators: it trains, predicts, and is the same when read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.quick import exactly, few_tickets, quick_classifier, quick_regressor
from protofit import PFitClassifier, PFitRegressor

TEXTS, LABELS = few_tickets()
NEW = few_tickets(12)[0][16:]
SETTINGS = {**exactly(6), "train.learning_rate": 1e-3}
NAMES = ["raw", "raw-init", "raw-snn", "prosenet", "vibert", "bss"]


@pytest.mark.parametrize("name", NAMES)
def test_classifier(name: str, tiny_bert: Path, tmp_path: Path) -> None:
    model = quick_classifier(tiny_bert, SETTINGS, method=name).fit(TEXTS, LABELS)
    probability = model.predict_proba(NEW)
    assert probability.shape == (len(NEW), 2)
    assert np.isfinite(probability).all()
    model.save(tmp_path / "model")
    again = PFitClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(NEW), probability)
    same = quick_classifier(tiny_bert, SETTINGS, method=name).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(same.predict_proba(NEW), probability)


@pytest.mark.parametrize("name", NAMES)
def test_regressor(name: str, tiny_bert: Path, tmp_path: Path) -> None:
    targets = [3.0 + 2 * (label == "billing") + len(text) / 100 for text, label in zip(
        TEXTS, LABELS, strict=True)]  # fmt: skip
    model = quick_regressor(tiny_bert, SETTINGS, method=name).fit(TEXTS, targets)
    values = model.predict(NEW)
    assert values.shape == (len(NEW),)
    assert np.isfinite(values).all()
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(PFitRegressor.load(tmp_path / "model").predict(NEW), values)


def test_prosenet_ends_on_training_embeddings(tiny_bert: Path) -> None:
    settings = {**exactly(6), "train.learning_rate": 1e-3, "encoder.dropout": 0.0}
    model = quick_classifier(tiny_bert, settings, method="prosenet").fit(TEXTS, LABELS)
    head = model.bundle_.model.head
    import torch

    from protofit.data.tokens import tokenise
    from protofit.model.inference import frozen_features

    tokens = tokenise(TEXTS, model.bundle_.tokenizer, 128)
    features = frozen_features(model.bundle_.model, tokens, np.arange(len(TEXTS)))
    torch.testing.assert_close(head.vectors.detach(), features[head.example])
    assert head.distinct.item() > 1
