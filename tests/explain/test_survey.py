"""One look at the whole index, against loops over texts and prototypes."""

from __future__ import annotations

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import CLASSES, OTHERS, indexed, said
from protofit.explain import survey as survey_module
from protofit.explain.reading import Reading


@pytest.mark.parametrize("method", ["pfit", "imp", "prosenet"])
def test_survey_by_loops(opened: Opened, method: str) -> None:
    model = opened(method)
    reading = Reading.of(model.bundle_)
    survey, index = reading.survey, model.bundle_.index
    explained = model.explain(list(index.texts), top=None)
    own_distances = []
    for i, found in enumerate(explained):
        strongest = max(found.evidence, key=lambda item: item.importance)
        assert survey.owner[i] == reading.rows.index(strongest.row)
        away = np.linalg.norm(reading.vectors - index.features[i].astype(float), axis=1)
        assert survey.distance[i] == pytest.approx(away.min(), abs=1e-6)
        assert survey.owner_distance[i] == pytest.approx(away[survey.owner[i]], abs=1e-6)
        own_distances.append(away[reading.groups == index.labels[i]].min())
        assert survey.given[i] == pytest.approx(found.probabilities[index.labels[i]], abs=2e-3)
        assert found.classes[int(survey.predicted[i])] == found.prediction
    assert survey.tau == pytest.approx(np.quantile(own_distances, 0.95), abs=1e-6)
    assert list(survey.support) == [
        int((survey.owner == k).sum()) for k in range(len(survey.support))
    ]
    mean = {row: np.mean([item.importance for one in explained for item in one.evidence
                          if item.row == row]) for row in reading.rows}  # fmt: skip
    assert survey.importance == pytest.approx([mean[row] for row in reading.rows], abs=2e-3)


def test_novelty_is_the_share_of_training_texts_that_lie_nearer(opened: Opened) -> None:
    model = opened()
    survey = Reading.of(model.bundle_).survey
    for found in model.explain([*OTHERS[0][-3:], "zzz qqq xxx"]):
        nearer = sum(1 for distance in survey.distance if distance < found.distance)
        assert found.novelty == nearer / len(survey.distance)
    assert survey.novelty(0.0) == 0
    assert survey.novelty(1e9) == 1


def test_a_text_unlike_all_others_is_novel(opened: Opened) -> None:
    model = opened()
    near, odd = model.explain([model.bundle_.index.texts[0], "zzz " * 50])
    assert odd.distance > near.distance
    assert odd.novelty >= near.novelty
    assert odd.log_density < near.log_density


def test_the_size_of_a_block_changes_nothing(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = Reading(opened().bundle_).survey
    monkeypatch.setattr(survey_module, "NUMBERS", 100)
    found = Reading(opened().bundle_).survey
    assert np.array_equal(found.owner, wanted.owner)
    assert found.distance == pytest.approx(wanted.distance, abs=1e-9)
    assert found.importance == pytest.approx(wanted.importance, abs=1e-6)
    assert found.tau == pytest.approx(wanted.tau, abs=1e-9)


def test_in_regression_the_radius_comes_from_the_owners(opened: Opened) -> None:
    model = opened("pfit", "numbers")
    survey = Reading.of(model.bundle_).survey
    assert survey.tau == pytest.approx(np.quantile(survey.owner_distance, 0.95))
    assert np.isnan(survey.given).all()
    values = said(model, list(model.bundle_.index.texts))[:, 0]
    assert survey.predicted == pytest.approx(values, abs=2e-2)


def test_words_come_from_kept_texts_only(opened: Opened) -> None:
    model = opened()
    index = model.bundle_.index
    assert Reading.of(model.bundle_).survey.vocabulary is not None
    bare = indexed(model, index.features, index.labels)
    survey = Reading.of(bare.bundle_).survey
    assert survey.vocabulary is None
    assert all(survey.words(k) == [] for k in range(len(bare.prototypes)))
    assert all("prototype" in card.name for card in bare.prototypes)


def test_a_name_comes_from_texts_of_the_label_where_there_are_any(opened: Opened) -> None:
    """A few texts of a class must not be named by the many of another that lie as near."""
    texts = [*["where is my parcel"] * 12, *["pay the invoice now"] * 5, *["when will you"] * 30]
    model = opened()
    reading = Reading.of(model.bundle_)
    features = np.repeat(reading.vectors[:2], [17, 30], axis=0).astype(np.float32)
    label = reading.groups[0]
    other = (label + 1) % len(CLASSES)
    mixed = indexed(model, features, np.repeat([other, label, other], [12, 5, 30]), texts)
    words = Reading.of(mixed.bundle_).survey.words(0)
    assert words
    assert set(words) <= {"pay", "the", "invoice", "now"}
    strange = indexed(model, features, np.full(47, other), texts)
    assert "parcel" in Reading.of(strange.bundle_).survey.words(0)
