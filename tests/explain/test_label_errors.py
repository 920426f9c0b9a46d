"""Label errors against a loop over texts and their neighbours."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import indexed
from protofit.explain import label_errors as module
from protofit.explain.label_errors import label_errors
from protofit.explain.reading import Reading
from protofit.explain.untrained import untrained_features


def clusters(seed: int = 0, each: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Three tight groups far from each other, in the features of the tiny encoder."""
    draw = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], each)
    return (5 * np.eye(32)[labels] + draw.normal(0, 0.1, (3 * each, 32))).astype(np.float32), labels


def slow(features: np.ndarray, labels: np.ndarray, count: int = 10) -> dict[int, tuple[float, int]]:
    """Doubt and suggestion of every text whose neighbours mostly have another label."""
    found = {}
    for i, row in enumerate(features.astype(float)):
        away = sorted(
            (float(np.linalg.norm(other - row)), j)
            for j, other in enumerate(features.astype(float))
            if j != i
        )[:count]
        around = [int(labels[j]) for _, j in away]
        doubt = sum(label != labels[i] for label in around) / len(around)
        most = max(sorted(Counter(around)), key=around.count)
        if doubt > 0.5 and most != labels[i]:
            found[i] = (doubt, most)
    return found


def test_wrong_labels_are_found_and_right_ones_suggested(opened: Opened) -> None:
    features, labels = clusters()
    wrong = labels.copy()
    wrong[[3, 25, 47]] = [1, 2, 0]
    model = indexed(opened(), features, wrong)
    found = label_errors(Reading.of(model.bundle_))
    assert {one.row: one.suggested for one in found} == {
        row: model.classes_[labels[row]] for row in (3, 25, 47)
    }
    assert {one.row: one.label for one in found} == {
        row: model.classes_[wrong[row]] for row in (3, 25, 47)
    }
    assert all(one.doubt == 1 for one in found)
    assert all(one.text is None for one in found)
    assert all(near.row != one.row for one in found for near in one.nearest)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_by_loops(opened: Opened, seed: int) -> None:
    draw = np.random.default_rng(seed)
    features, labels = draw.normal(size=(60, 32)).astype(np.float32), draw.integers(0, 3, 60)
    model = indexed(opened(), features, labels)
    found = label_errors(Reading.of(model.bundle_), most=1000)
    wanted = slow(features, labels)
    assert {one.row: one.doubt for one in found} == {i: doubt for i, (doubt, _) in wanted.items()}
    doubts = [one.doubt for one in found]
    assert doubts == sorted(doubts, reverse=True)
    survey = Reading.of(model.bundle_).survey
    for first, second in itertools.pairwise(found):
        if first.doubt == second.doubt:
            assert first.probability <= second.probability
    assert [one.probability for one in found] == [survey.given[one.row] for one in found]
    assert len(label_errors(Reading.of(model.bundle_), most=4)) == 4


def test_copies_of_a_text_are_its_neighbours_but_not_itself(opened: Opened) -> None:
    features = np.repeat(clusters(each=1)[0], 12, axis=0)
    labels = np.repeat([0, 1, 2], 12)
    labels[0] = 1
    found = label_errors(Reading.of(indexed(opened(), features, labels).bundle_))
    assert [one.row for one in found] == [0]
    assert found[0].doubt == 1


def test_in_regression_a_target_far_from_its_neighbours(opened: Opened) -> None:
    features, groups = clusters()
    targets = groups.astype(np.float32)
    targets[7] = 5.0
    model = indexed(opened("pfit", "numbers"), features, targets)
    found = label_errors(Reading.of(model.bundle_))
    assert [one.row for one in found] == [7]
    assert found[0].suggested == 0
    assert found[0].doubt == pytest.approx(5 / float(targets.std()))
    assert found[0].probability is None


def test_few_texts_give_none(opened: Opened) -> None:
    features, labels = clusters()
    assert label_errors(Reading.of(indexed(opened(), features[:2], labels[:2]).bundle_)) == []
    model = opened()
    model.bundle_.index = None
    assert label_errors(Reading.of(model.bundle_)) == []


def test_of_many_texts_some_are_asked(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    features, labels = clusters()
    wrong = labels.copy()
    wrong[[0, 3, 59]] = [1, 1, 0]
    monkeypatch.setattr(module, "MOST", 2)  # the first and the last
    found = label_errors(Reading.of(indexed(opened(), features, wrong).bundle_))
    assert sorted(one.row for one in found) == [0, 59]


SAID = [f"{'my parcel parcel parcel' if i % 2 else 'invoice invoice wrong'} {i}" for i in range(24)]


def memorised(opened: Opened) -> tuple[Any, int]:
    """A model whose trained features follow the labels, a wrong one of text 4 included."""
    labels = np.array([i % 2 for i in range(24)])
    labels[4] = 1 - labels[4]
    features = (5 * np.eye(32)[labels]).astype(np.float32)
    return indexed(opened(), features, labels, SAID), 4


def test_what_training_fitted_is_seen_as_it_was_before(opened: Opened) -> None:
    model, wrong = memorised(opened)
    found = label_errors(Reading.of(model.bundle_))
    assert [one.row for one in found] == [wrong]
    assert found[0].text == SAID[wrong]
    assert found[0].suggested == model.classes_[0]
    assert all(near.row % 2 == 0 and near.row != wrong for near in found[0].nearest)
    assert model.glance().untrained


@pytest.mark.parametrize("asked", [None, "nowhere/encoder", "/no/such/folder", "another"])
def test_nothing_is_fetched_and_no_other_encoder_is_used(
    opened: Opened, asked: str | None, tmp_path: Path
) -> None:
    """Then the trained features speak, to which all is well."""
    from helpers.tiny import make_encoder

    if asked == "another":
        asked = str(make_encoder("roberta", tmp_path / "another"))
    model, _ = memorised(opened)
    model.bundle_.record["encoder_asked"] = asked
    assert label_errors(Reading.of(model.bundle_)) == []
    assert not model.glance().untrained


@pytest.mark.parametrize("kind", ["texts", "pairs"])
def test_untrained_features_are_those_of_the_first_encoder(
    opened: Opened, kind: str, tiny_bert: Path
) -> None:
    from protofit.encoders.resolve import resolve_encoder
    from protofit.model.build import build_model
    from protofit.model.inference import frozen_features

    bundle = opened("pfit", kind).bundle_
    texts = list(bundle.index.texts)
    fresh, _ = build_model(resolve_encoder(tiny_bert), bundle.settings, bundle.classes)
    plain = frozen_features(fresh, bundle.tokens(texts), np.arange(len(texts))).double().numpy()
    plain -= plain.mean(axis=0)
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    assert untrained_features(bundle, texts) == pytest.approx(plain, abs=1e-5)
    assert np.abs(plain - _directions(bundle.index.features)).max() > 1e-3  # training moved them


def _directions(features: np.ndarray) -> np.ndarray:
    apart = features.astype(float) - features.astype(float).mean(axis=0)
    return apart / np.linalg.norm(apart, axis=1, keepdims=True)
