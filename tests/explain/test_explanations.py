"""Evidence: shares that sum, removals that do what was said, and who speaks against it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import KINDS, METHODS, OTHERS, data_of, said
from protofit.errors import InputError
from protofit.explain import reading as reading_module
from protofit.methods.editable import copied

EVERY = pytest.mark.parametrize("method", METHODS)
KIND = pytest.mark.parametrize("kind", KINDS)


def asked(kind: str) -> list[Any]:
    """Two training inputs and one that is new."""
    inputs, new = data_of(kind)[0], OTHERS[0][-1]
    return [*inputs[:2], (new, "and another thing") if kind == "pairs" else new]


@EVERY
@KIND
def test_shares_sum_to_what_is_predicted(opened: Opened, method: str, kind: str) -> None:
    model = opened(method, kind)
    wanted = said(model, asked(kind))
    for found, row in zip(model.explain(asked(kind), top=None), wanted, strict=True):
        best = found.prediction if kind == "numbers" else found.probability
        assert best == pytest.approx(row.max() if kind != "numbers" else row[0], abs=1e-6)
        assert found.total == pytest.approx(best, abs=1e-6)
        assert found.rest_count == 0
        if kind != "numbers":
            assert found.probabilities == pytest.approx(list(row), abs=1e-6)
            parts = np.sum([item.shares for item in found.evidence], axis=0)
            if found.base == 0:
                assert parts == pytest.approx(row, abs=1e-6)


@EVERY
@KIND
def test_removing_a_named_prototype_changes_what_it_said(
    opened: Opened, method: str, kind: str
) -> None:
    model = opened(method, kind)
    inputs = asked(kind)
    explained = model.explain(inputs, top=None)
    moved = 0.0
    network = model.bundle_.model
    head = network.head
    for row in model.prototypes.rows:
        network.head = copied(head)
        network.head.remove(row)
        without = said(model, inputs)
        for found, after in zip(explained, without, strict=True):
            item = next(item for item in found.evidence if item.row == row)
            assert item.withouts == pytest.approx(list(after), abs=1e-6)
            column = 0 if kind == "numbers" else found.classes.index(found.prediction)
            assert item.target == (None if kind == "numbers" else found.prediction)
            assert item.without == item.withouts[column]
            moved = max(moved, abs(item.without - found.total))
    assert moved > 1e-3  # some prototype mattered: the test is not about nothing


def test_of_a_mixture_several_removals_follow_from_the_shares(opened: Opened) -> None:
    model = opened()
    text = OTHERS[0][-1]
    found = model.explain(text, top=2)
    gone = found.evidence
    for item in gone:
        model.prototypes.delete(item.row, force=True)
    column = found.classes.index(found.prediction)
    rest = found.probability - sum(item.share for item in gone)
    wanted = rest / (1 - sum(item.importance for item in gone))
    assert said(model, [text])[0, column] == pytest.approx(wanted, abs=1e-6)


@EVERY
def test_counter_evidence_is_the_strongest_of_the_runner_up(opened: Opened, method: str) -> None:
    for found in opened(method).explain(OTHERS[0][-4:], top=None):
        order = sorted(zip(found.probabilities, found.classes, strict=True), reverse=True)
        assert (order[0][1], order[1][1]) == (found.prediction, found.runner_up)
        column = found.classes.index(found.runner_up)
        theirs = [item for item in found.evidence if item.label == found.runner_up]
        strongest = max(theirs, key=lambda item: item.shares[column])
        assert found.counter.row == strongest.row
        assert found.counter.target == found.runner_up
        assert found.counter.share == strongest.shares[column]
        assert found.counter.without == strongest.withouts[column]


def test_a_runner_up_without_prototypes_has_the_strongest_of_any_class(opened: Opened) -> None:
    model = opened()
    text = OTHERS[0][-1]
    runner = model.explain(text).runner_up
    for card in list(model.prototypes):
        if card.label == runner:
            model.prototypes.delete(card.row, force=True)
    found = model.explain(text, top=None)
    for _ in range(2):  # the class is now last or second
        if found.runner_up == runner:
            break
        others = [card.row for card in model.prototypes if card.label == found.runner_up]
        for row in others:
            model.prototypes.delete(row, force=True)
        found = model.explain(text, top=None)
    column = found.classes.index(found.runner_up)
    strongest = max(found.evidence, key=lambda item: item.shares[column])
    assert found.counter.row == strongest.row


def test_the_strongest_come_first_and_the_rest_is_summed(opened: Opened) -> None:
    model = opened()
    whole, short = (model.explain(OTHERS[0][-1], top=top) for top in (None, 2))
    shares = [abs(item.share) for item in whole.evidence]
    assert shares == sorted(shares, reverse=True)
    assert short.evidence == whole.evidence[:2]
    assert short.rest_count == len(shares) - 2
    assert short.rest_share == pytest.approx(sum(item.share for item in whole.evidence[2:]))
    assert short.total == pytest.approx(short.probability, abs=1e-6)


def test_in_regression_a_prototype_that_says_zero_is_not_hidden(opened: Opened) -> None:
    found = opened("pfit", "numbers").explain(OTHERS[0][-1], top=None)
    order = [item.importance for item in found.evidence]
    assert order == sorted(order, reverse=True)
    assert sum(order) == pytest.approx(1)
    for item in found.evidence:
        assert item.share == pytest.approx(item.importance * item.label, abs=1e-6)


def test_neighbours_are_the_nearest_by_brute_force(opened: Opened) -> None:
    model = opened()
    index, text = model.bundle_.index, OTHERS[0][-1]
    found = model.explain(text, neighbours=4)
    feature = model.bundle_.features(model.bundle_.tokens([text])).numpy()[0]
    away = np.linalg.norm(index.features.astype(float) - feature, axis=1)
    order = np.argsort(away, kind="stable")[:4]
    assert [near.position for near in found.nearest] == list(order)
    assert [near.distance for near in found.nearest] == pytest.approx(list(away[order]))
    assert [near.text for near in found.nearest] == [index.texts[i] for i in order]
    assert [near.label for near in found.nearest] == [found.classes[index.labels[i]] for i in order]
    prototype = model.bundle_.model.head.bank.vectors[found.evidence[0].row].detach().numpy()
    away = np.linalg.norm(index.features.astype(float) - prototype, axis=1)
    order = np.argsort(away, kind="stable")[:4]
    assert [near.position for near in found.evidence[0].nearest] == list(order)
    assert model.explain(text, neighbours=0).nearest == []


def test_without_an_index_the_evidence_is_the_same_and_no_text_is_told(opened: Opened) -> None:
    model = opened()
    text = OTHERS[0][-1]
    known = model.explain(text)
    model.bundle_.index = None
    found = model.explain(text)
    assert [item.share for item in found.evidence] == [item.share for item in known.evidence]
    assert found.nearest == []
    assert found.novelty is None
    assert all(item.nearest == [] for item in found.evidence)


def test_only_the_text_that_was_cut_is_said_to_be(opened: Opened) -> None:
    long = " ".join(["parcel"] * 400)
    found = opened().explain(["a parcel", long, "parcel " * 60])
    assert [one.truncated for one in found] == [False, True, False]


def test_one_text_gives_one_explanation_and_a_list_a_list(opened: Opened) -> None:
    model, pairs = opened(), opened("pfit", "pairs")
    assert model.explain("a parcel").text == "a parcel"
    assert [one.text for one in model.explain(["a parcel"])] == ["a parcel"]
    assert pairs.explain(("a parcel", "is late")).text == ("a parcel", "is late")
    assert [one.text for one in pairs.explain([("a", "b")])] == [("a", "b")]
    assert model.explain([]) == []
    with pytest.raises(InputError, match="single texts"):
        pairs.explain("a parcel")


@KIND
def test_an_explanation_is_strict_json(opened: Opened, kind: str) -> None:
    found = opened("pfit", kind).explain(asked(kind))
    told = json.loads(json.dumps([one.to_dict() for one in found], allow_nan=False))
    assert told[0]["evidence"][0]["row"] == found[0].evidence[0].row
    assert set(told[0]) >= {"prediction", "evidence", "counter", "novelty", "nearest", "base"}


def test_the_size_of_a_block_changes_nothing(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [one.to_dict() for one in opened().explain(OTHERS[0])]
    monkeypatch.setattr(reading_module, "SHARE_NUMBERS", 60)
    found = [one.to_dict() for one in opened().explain(OTHERS[0])]
    for one, other in zip(found, wanted, strict=True):
        assert one["prediction"] == other["prediction"]
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-6)
        assert [item["row"] for item in one["evidence"]] == [
            item["row"] for item in other["evidence"]
        ]


def test_of_a_single_prototype_nothing_is_left_without_it(opened: Opened) -> None:
    model = opened()
    for row in model.prototypes.rows[1:]:
        model.prototypes.delete(row, force=True)
    found = model.explain("a parcel")
    assert found.evidence[0].without is None
    assert found.evidence[0].withouts is None
    assert found.evidence[0].share == pytest.approx(found.probability)


def test_a_method_without_prototypes_says_so(opened: Opened) -> None:
    from helpers.quick import quick_classifier

    raw = quick_classifier(opened().encoder, method="raw").fit(*data_of("texts"))
    with pytest.raises(InputError, match="raw has no prototypes"):
        raw.explain("a parcel")
    with pytest.raises(InputError, match="raw has no prototypes"):
        _ = raw.prototypes
