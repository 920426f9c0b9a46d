"""transformers' text-classification pipeline on our folders: labels, numbers, pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.quick import few_tickets, quick_classifier, quick_regressor

TEXTS, LABELS = few_tickets()
PAIRS = list(zip(TEXTS[::2], TEXTS[1::2], strict=True))
SURER = {"train.learning_rate": 3e-3}


def pipeline_of(model: Any, folder: Path) -> Any:
    from transformers import pipeline

    model.save(folder / "model")
    return pipeline("text-classification", model=str(folder / "model"), device=-1)


def test_labels_and_scores_are_those_of_the_estimator(tiny_bert: Path, tmp_path: Path) -> None:
    model = quick_classifier(tiny_bert, SURER).fit(TEXTS, LABELS)
    answers = pipeline_of(model, tmp_path)(TEXTS, batch_size=5)
    probability = model.predict_proba(TEXTS)
    assert [answer["label"] for answer in answers] == model.predict(TEXTS).tolist()
    scores = [answer["score"] for answer in answers]
    np.testing.assert_allclose(scores, probability.max(axis=1), rtol=1e-5)
    assert probability.std(axis=0).min() > 1e-4


def test_labels_that_are_not_text_are_written_out(tiny_bert: Path, tmp_path: Path) -> None:
    model = quick_classifier(tiny_bert).fit(TEXTS, [label == "billing" for label in LABELS])
    answers = pipeline_of(model, tmp_path)(TEXTS)
    assert [answer["label"] for answer in answers] == [str(x) for x in model.predict(TEXTS)]


def test_pairs_go_in_as_text_and_text_pair(tiny_bert: Path, tmp_path: Path) -> None:
    model = quick_classifier(tiny_bert, SURER).fit(PAIRS, LABELS[:8])
    asked = [{"text": first, "text_pair": second} for first, second in PAIRS]
    answers = pipeline_of(model, tmp_path)(asked, top_k=None)
    for answer, row in zip(answers, model.predict_proba(PAIRS), strict=True):
        found = {part["label"]: part["score"] for part in answer}
        expected = dict(zip(model.classes_.tolist(), row, strict=True))
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_a_regressor_gives_its_number(tiny_bert: Path, tmp_path: Path) -> None:
    model = quick_regressor(tiny_bert, SURER).fit(TEXTS, np.linspace(-300, -200, len(TEXTS)))
    answers = pipeline_of(model, tmp_path)(TEXTS)
    assert {answer["label"] for answer in answers} == {"value"}
    scores = [answer["score"] for answer in answers]
    np.testing.assert_allclose(scores, model.predict(TEXTS), rtol=1e-5)
    assert np.ptp(scores) > 0.1
