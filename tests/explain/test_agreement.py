"""Agreement of two models against loops over texts, prototypes and their nearest texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import OTHERS, fitted, indexed
from protofit.errors import InputError
from protofit.explain.agreement import _within, agreement, spread
from protofit.explain.reading import Reading

ASKED = OTHERS[0][12:24]


def slow_spread(model: Any, text: str, nearest: int) -> dict[int, float]:
    """Σ_k share_k over the nearest texts of each prototype, from what explain says."""
    found = model.explain(text, top=None, neighbours=nearest)
    weights: dict[int, float] = {}
    total = sum(abs(item.share) for item in found.evidence)
    for item in found.evidence:
        for near in item.nearest:
            part = abs(item.share) / total / len(item.nearest)
            weights[near.position] = weights.get(near.position, 0) + part
    return weights


@pytest.mark.parametrize("method", ["pfit", "imp", "prosenet"])
def test_by_loops(opened: Opened, method: str) -> None:
    one, other = opened(method), opened("protonet")
    found = agreement(one.bundle_, other.bundle_, ASKED, nearest=4)
    overlaps = []
    for text in ASKED:
        a, b = slow_spread(one, text, 4), slow_spread(other, text, 4)
        assert sum(a.values()) == pytest.approx(1)
        overlaps.append(sum(min(a.get(i, 0), b.get(i, 0)) for i in {*a, *b}))
    assert found.overlap == pytest.approx(float(np.mean(overlaps)), abs=1e-6)
    assert found.texts == len(ASKED)
    same = [one.explain(text).prediction == other.explain(text).prediction for text in ASKED]
    assert found.same_prediction == pytest.approx(np.mean(same))


def test_a_model_agrees_with_itself_and_more_than_by_chance(opened: Opened) -> None:
    model = opened()
    found = agreement(model.bundle_, opened().bundle_, ASKED)
    assert found.overlap == pytest.approx(1)
    assert found.same_prediction == 1
    assert found.chance < 0.999
    assert found.within_class < 0.999


def test_rows_of_evidence_sum_to_one_whatever_the_blocks(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, labels = spread(Reading.of(opened().bundle_), ASKED, 5)
    assert np.asarray(wanted.sum(axis=1)).ravel() == pytest.approx(np.ones(len(ASKED)))
    monkeypatch.setattr(Reading, "block", 3)
    found, other = spread(Reading.of(opened().bundle_), ASKED, 5)
    assert found.toarray() == pytest.approx(wanted.toarray(), abs=1e-9)
    assert list(other) == list(labels)


def test_the_yardstick_never_compares_a_text_with_itself() -> None:
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 3, 40)
    for _ in range(20):
        order = _within(labels, draw)
        assert sorted(order) == list(range(40))
        assert (order != np.arange(40)).all()
        assert np.array_equal(labels[order], labels)
    assert list(_within(np.array([0, 1]), draw)) == [0, 1]  # nobody else is there


def test_in_regression_importance_is_compared(opened: Opened) -> None:
    model = opened("pfit", "numbers")
    found = agreement(model.bundle_, opened("protonet", "numbers").bundle_, ASKED)
    assert np.isnan(found.same_prediction)
    assert found.to_dict()["same_prediction"] is None
    assert 0 < found.overlap <= 1


def test_what_cannot_be_compared_is_refused(opened: Opened) -> None:
    model, other = opened(), opened("imp")
    index = other.bundle_.index
    fewer = indexed(other, index.features[:-1], index.labels[:-1])
    moved = indexed(other, index.features, np.roll(index.labels, 1))
    bare = opened()
    bare.bundle_.index = None
    for strange in (fewer, moved, bare):
        with pytest.raises(InputError, match="no index of the same texts"):
            agreement(model.bundle_, strange.bundle_, ASKED)
    with pytest.raises(InputError, match="fewer than two"):
        agreement(model.bundle_, other.bundle_, ASKED[:1])


def test_two_seeds_agree_more_on_a_text_than_by_chance(opened: Opened, tiny_bert: Any) -> None:
    other = fitted("pfit", "texts", tiny_bert)
    found = agreement(opened().bundle_, other.bundle_, ASKED)
    assert found.overlap > found.chance
