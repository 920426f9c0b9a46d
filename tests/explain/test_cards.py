"""Cards: nearest texts, the neighbourhood within τ, labels, use and confusion."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import KINDS, METHODS, data_of, indexed
from helpers.quick import ROOMY, exactly, quick_classifier
from protofit.explain.reading import Reading


@pytest.mark.parametrize("method", METHODS)
def test_cards_by_brute_force(opened: Opened, method: str) -> None:
    model = opened(method)
    index = model.bundle_.index
    reading = Reading.of(model.bundle_)
    for k, card in enumerate(model.interpret(n=4)):
        away = np.linalg.norm(index.features.astype(float) - reading.vectors[k], axis=1)
        order = np.argsort(away, kind="stable")
        assert [near.position for near in card.nearest] == list(order[:4])
        assert [near.text for near in card.nearest] == [index.texts[i] for i in order[:4]]
        within = [i for i in order if away[i] <= card.tau]
        assert card.inside == len(within)
        assert [near.position for near in card.neighbourhood] == within[:4]
        counted = within or list(order[:4])
        labels = [index.labels[i] for i in counted]
        assert {one.label: one.count for one in card.labels} == {
            model.classes_[c]: labels.count(c) for c in set(labels)
        }
        assert sum(one.share for one in card.labels) == pytest.approx(1)
        survey = reading.survey
        strange = [i for i in np.argsort(survey.owner_distance, kind="stable")
                   if survey.owner[i] == k and index.labels[i] != reading.groups[k]]  # fmt: skip
        assert [one.neighbour.position for one in card.confused] == strange[:4]


def test_tau_given_and_derived(opened: Opened) -> None:
    model = opened()
    derived = model.interpret()
    assert {card.tau for card in derived} == {Reading.of(model.bundle_).survey.tau}
    everything, nothing = model.interpret(tau=1e6), model.interpret(tau=0.0)
    size = len(model.bundle_.index)
    assert {card.inside for card in everything} == {size}
    assert all(sum(one.count for one in card.labels) == size for card in everything)
    assert {card.inside for card in nothing} == {0}
    assert all(card.neighbourhood == [] for card in nothing)
    assert all(sum(one.count for one in card.labels) == len(card.nearest) for card in nothing)
    third = derived[0].nearest[2].distance
    assert model.interpret(tau=third * (1 + 1e-9))[0].inside == 3
    assert model.interpret()[0].inside == derived[0].inside  # the radius of before is forgotten


def test_a_card_without_an_index_holds_what_the_head_knows(opened: Opened) -> None:
    model = opened()
    model.bundle_.index = None
    for card in model.interpret():
        assert (card.nearest, card.neighbourhood, card.labels, card.confused) == ([], [], [], [])
        assert (card.support, card.importance, card.tau, card.inside) == (0, None, None, 0)
        assert card.name == f"{card.label} (prototype {card.row})"
        assert sum(card.outputs) == pytest.approx(1)


def test_polarity_age_and_history(opened: Opened) -> None:
    model = opened()
    head = model.bundle_.model.head
    for card in model.prototypes:
        best = sorted(card.outputs, reverse=True)
        assert card.polarity == pytest.approx(best[0] - best[1])
        assert card.born == int(head.bank.born[card.row])
        assert card.age == 3 - card.born
        assert [use.step for use in card.history] == list(range(max(1, card.born), 4))
    step, length = int(head.clock), head.bank.window.shape[0]
    slot = step % length
    share = head.bank.window[slot] / head.bank.window_count[slot]
    assert float(share.sum()) == pytest.approx(1, abs=1e-5)
    assert [card.history[-1].importance for card in model.prototypes] == pytest.approx(
        [float(share[row]) for row in model.prototypes.rows]
    )


def test_history_begins_with_the_birth(tiny_bert: Path) -> None:
    late = {**ROOMY, **exactly(6), "head.creation.start_share": 0.5, "head.prune.window": 6}
    cards = quick_classifier(tiny_bert, late).fit(*data_of("texts")).interpret()
    assert any(card.born > 2 for card in cards)
    for card in cards:
        assert [use.step for use in card.history] == list(range(max(1, card.born), 7))
        assert all(use.importance > 0 for use in card.history)


@pytest.mark.parametrize("kind", KINDS)
def test_cards_are_strict_json(opened: Opened, kind: str) -> None:
    cards = opened("pfit", kind).interpret(n=3)
    told = json.loads(json.dumps([card.to_dict() for card in cards], allow_nan=False))
    assert [one["row"] for one in told] == [card.row for card in cards]


def test_in_regression_a_card_says_a_value(opened: Opened) -> None:
    model = opened("pfit", "numbers")
    for card in model.prototypes:
        assert card.outputs == [card.label]
        assert card.labels == []
        assert card.confused == []
        mean = model.bundle_.model.config.target_mean
        assert card.polarity == pytest.approx(card.label - mean)
        assert isinstance(card.nearest[0].label, float)


def test_one_pass_counts_for_every_prototype_whatever_the_blocks(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from protofit.explain import cards

    model = opened()
    wanted = [(card.inside, card.labels) for card in model.interpret()]
    monkeypatch.setattr(cards, "BLOCK", 5)
    other = copy.deepcopy(model)
    other.bundle_.cache.clear()
    assert [(card.inside, card.labels) for card in other.interpret()] == wanted


def test_what_a_decoder_says_is_on_the_card(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from protofit.explain import decoded

    model = opened()
    asked = []

    class Decoder:
        def decode(self, vectors: np.ndarray) -> list[str]:
            asked.append(vectors.shape)
            return [f"text {i}" for i in range(len(vectors))]

    monkeypatch.setattr(decoded, "decoder_of", lambda bundle: Decoder())
    texts = [card.decoded for card in model.interpret()]
    assert texts == [f"text {i}" for i in range(len(texts))]
    assert asked == [(len(texts), 32)]  # once for all cards
    model.prototypes.delete(model.prototypes.rows[-1])
    assert [card.decoded for card in model.interpret()] == texts[:-1]


def test_a_large_index_is_of_use_too(opened: Opened) -> None:
    model = opened()
    index = model.bundle_.index
    many = indexed(model, np.tile(index.features, (50, 1)), np.tile(index.labels, 50))
    for card, one in zip(many.interpret(n=3), model.interpret(n=3), strict=True):
        assert card.support == 50 * one.support
        assert card.importance == pytest.approx(one.importance, abs=1e-6)
        assert [near.position for near in card.nearest] == [
            one.nearest[0].position + i * len(index) for i in range(3)
        ]
