"""Edits of every method: what they change, what they leave, and undoing bit for bit."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import LABELS, METHODS, OTHERS, TEXTS, data_of, said, same_state, state
from protofit import PFitClassifier, PFitRegressor
from protofit.errors import InputError
from protofit.explain.reading import Reading

EVERY = pytest.mark.parametrize("method", METHODS)
NEW = ["gift card code is wrong", "my gift card shows no balance"]
HELD = OTHERS[0][18:], OTHERS[1][18:]


def snapshot(model: Any) -> dict[str, Any]:
    """All that an edit may change."""
    bundle = model.bundle_
    index = bundle.index
    config = bundle.model.config
    return {
        "state": state(model),
        "head": bundle.model.head.config,
        "config": [config.head, config.id2label, config.label2id, config.num_labels],
        "classes": list(getattr(model, "classes_", [])),
        "order": bundle.classes,
        "names": dict(bundle.names),
        "index": None if index is None else (len(index), index.texts, index.features.tobytes()),
        "edits": model.prototypes.history,
        "rows": model.prototypes.rows,
        "said": said(model, data_of("texts")[0][:4]).tolist(),
    }


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert same_state(one["state"], other["state"])
    for name in one.keys() - {"state"}:
        assert one[name] == other[name], name


def edits(model: Any) -> list[tuple[str, dict[str, Any]]]:
    """One edit of each kind that the method and task know."""
    rows, method = model.prototypes.rows, model.method
    groups: dict[Any, list[int]] = {}
    for card in model.prototypes:
        groups.setdefault(card.label if model.task == "classification" else 0, []).append(card.row)
    found: list[tuple[str, dict[str, Any]]] = [
        ("rename", {"row": rows[0], "name": "lost parcels"}),
        ("delete", {"row": rows[1], "force": True}),
        ("replace", {"row": rows[0]}),
    ]
    if method != "protonet":
        label = "billing" if model.task == "classification" else 2.5
        found.append(("add", {"texts": NEW, "label": label}))
        pairs = [mine for mine in groups.values() if len(mine) > 1]
        if pairs and (method in ("pfit", "prosenet") or model.task == "classification"):
            found.append(("merge", {"rows": pairs[0][:2]}))
    if model.task == "classification":
        found.append(("add_class", {"name": "gifts", "texts": NEW}))
    return found


@EVERY
@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_every_edit_is_undone_bit_for_bit(opened: Opened, method: str, kind: str) -> None:
    model = opened(method, kind)
    for action, arguments in edits(model):
        before = snapshot(model)
        effect = model.prototypes.apply(action, **arguments)
        after = snapshot(model)
        assert effect.action == action
        assert after["edits"][-1]["description"] == effect.description
        assert effect.prototypes == (len(before["rows"]), len(after["rows"]))
        if action != "rename":
            assert not same_state(before["state"], after["state"]), action
        undone = model.prototypes.undo()
        assert undone.prototypes == effect.prototypes[::-1]
        assert effect.description in undone.description
        assert_same(snapshot(model), before)


@pytest.mark.parametrize("method", ["pfit", "protonet", "prosenet", "imp"])
def test_a_preview_leaves_everything(opened: Opened, method: str) -> None:
    model = opened(method)
    model.prototypes.judge(*HELD)
    before = snapshot(model)
    for action, arguments in edits(model):
        effect = model.prototypes.preview(action, **arguments)
        assert_same(snapshot(model), before)
        kept = copy.deepcopy(model)
        kept.prototypes.judge(*HELD)
        assert kept.prototypes.apply(action, **arguments).after == effect.after


def test_several_edits_are_undone_one_after_the_other(opened: Opened) -> None:
    model = opened()
    steps = [snapshot(model)]
    for action, arguments in edits(model):
        if arguments.get("row", model.prototypes.rows[0]) in model.prototypes.rows:
            if "rows" in arguments and not set(arguments["rows"]) <= set(model.prototypes.rows):
                continue
            model.prototypes.apply(action, **arguments)
            steps.append(snapshot(model))
    assert len(steps) > 5
    for wanted in reversed(steps[:-1]):
        model.prototypes.undo()
        assert_same(snapshot(model), wanted)
    with pytest.raises(InputError, match="no edit to undo"):
        model.prototypes.undo()


def test_rename(opened: Opened) -> None:
    model = opened()
    row, other = model.prototypes.rows[:2]
    suggested = model.prototypes[0].suggested
    effect = model.prototypes.rename(row, "  lost \n parcels ")
    assert model.prototypes[0].name == "lost parcels"
    assert model.prototypes[0].suggested == suggested
    assert effect.rows == [row]
    names = {item.row: item.name for item in model.explain("a parcel", top=None).evidence}
    assert names[row] == "lost parcels"
    assert names[other] != "lost parcels"
    model.prototypes.rename(row, " ")
    assert model.prototypes[0].name == suggested


def test_delete_keeps_the_last_of_a_class_unless_forced(opened: Opened) -> None:
    model = opened()
    mine = [card.row for card in model.prototypes if card.label == "delivery"]
    for row in mine[1:]:
        model.prototypes.delete(row)
    with pytest.raises(InputError, match="the last prototype of the class delivery"):
        model.prototypes.delete(mine[0])
    assert mine[0] in model.prototypes.rows
    model.prototypes.delete(mine[0], force=True)
    assert "delivery" not in {card.label for card in model.prototypes}
    for row in model.prototypes.rows[1:]:
        model.prototypes.delete(row, force=True)
    with pytest.raises(InputError, match="the only prototype of the model"):
        model.prototypes.delete(model.prototypes.rows[0], force=True)


def test_a_deleted_name_does_not_come_back_with_the_row(opened: Opened) -> None:
    model = opened()
    row = model.prototypes.rows[-1]
    model.prototypes.rename(row, "mine")
    model.prototypes.delete(row, force=True)
    while row not in model.prototypes.rows:
        model.prototypes.add(NEW, "returns")
    assert {card.row: card.name for card in model.prototypes}[row] != "mine"


def test_merge_puts_the_mean_in_the_place_of_the_first(opened: Opened) -> None:
    model = opened()
    head = model.bundle_.model.head
    mine = [card.row for card in model.prototypes if card.label == "returns"]
    assert len(mine) > 1
    wanted = head.bank.vectors[mine].mean(dim=0).detach().numpy()
    chances = np.mean([card.outputs for card in model.prototypes if card.row in mine], axis=0)
    effect = model.prototypes.merge(mine)
    assert effect.rows == [mine[0]]
    merged = next(card for card in model.prototypes if card.row == mine[0])
    vector = model.bundle_.model.head.bank.vectors[mine[0]].detach().numpy()
    assert np.array_equal(vector, wanted)
    assert merged.outputs == pytest.approx(list(chances), abs=1e-6)
    assert set(model.prototypes.rows) & set(mine) == {mine[0]}
    for rows in ([mine[0]], [mine[0], mine[0]]):
        with pytest.raises(InputError, match="two different prototypes"):
            model.prototypes.merge(rows)


@EVERY
def test_replace_puts_a_prototype_onto_the_nearest_text_of_its_class(
    opened: Opened, method: str
) -> None:
    model = opened(method)
    row = model.prototypes.rows[1]
    card = model.prototypes[1]
    index = model.bundle_.index
    own = [i for i in range(len(index)) if model.classes_[index.labels[i]] == card.label]
    vector = Reading.of(model.bundle_).vectors[1]
    features = index.features.astype(np.float64)
    wanted = min(own, key=lambda i: float(np.linalg.norm(features[i] - vector)))
    effect = model.prototypes.replace(row)
    card = model.prototypes[1]
    assert effect.rows == [card.row] == [row]
    assert card.nearest[0].distance == 0
    assert np.array_equal(Reading.of(model.bundle_).vectors[1], features[wanted])
    model.bundle_.index = None
    with pytest.raises(InputError, match="no index of training texts"):
        model.prototypes.replace(row)


def test_replace_never_takes_a_text_of_another_class(opened: Opened) -> None:
    """Also where the nearest text is of another class."""
    model = opened("pfit")
    label = model.prototypes[1].label
    far = [i for i, c in enumerate(model.classes_) if c != label]
    index = model.bundle_.index
    labels = np.full(len(index), far[0])
    vector = Reading.of(model.bundle_).vectors[1]
    gaps = np.linalg.norm(index.features.astype(np.float64) - vector, axis=1)
    labels[gaps.argmax()] = list(model.classes_).index(label)
    model.bundle_.index = dataclasses.replace(index, labels=labels)
    model.prototypes.replace(model.prototypes.rows[1])
    moved = Reading.of(model.bundle_).vectors[1]
    assert np.array_equal(moved, index.features[gaps.argmax()].astype(np.float64))
    model.bundle_.index = dataclasses.replace(index, labels=np.full(len(index), far[0]))
    with pytest.raises(InputError, match="no training text has the class"):
        model.prototypes.replace(model.prototypes.rows[1])


@pytest.mark.parametrize("method", [name for name in METHODS if name != "protonet"])
def test_add_makes_a_prototype_of_the_mean_of_texts(opened: Opened, method: str) -> None:
    model = opened(method)
    before = said(model, NEW)[:, 2]
    effect = model.prototypes.add(NEW, "returns")
    (row,) = effect.rows
    card = next(card for card in model.prototypes if card.row == row)
    assert card.label == "returns"
    assert {near.text for near in card.nearest[:2]} == set(NEW)
    assert [near.row for near in card.nearest[:2]] == [-1, -1]
    mean = model.bundle_.features(model.bundle_.tokens(NEW)).numpy().mean(axis=0)
    vectors = model.bundle_.model.head.prototypes()
    place = vectors.rows.tolist().index(row)
    assert vectors.vectors[place].numpy() == pytest.approx(mean, abs=1e-6)
    assert (said(model, NEW)[:, 2] > before).all()


def test_add_finds_room_where_there_is_none(opened: Opened) -> None:
    model = opened()
    capacity = model.bundle_.model.head.bank.capacity
    while len(model.prototypes) <= capacity:
        model.prototypes.add(NEW, "returns")
    assert model.bundle_.model.head.bank.capacity > capacity
    assert len(set(model.prototypes.rows)) == capacity + 1
    while model.prototypes.history:
        model.prototypes.undo()
    assert model.bundle_.model.head.bank.capacity == capacity


@EVERY
def test_a_new_class_is_predicted_from_a_handful_of_texts(opened: Opened, method: str) -> None:
    model = opened(method)
    old = said(model, TEXTS)
    model.prototypes.judge([*HELD[0], *NEW], [*HELD[1], "gifts", "gifts"])
    effect = model.prototypes.add_class("gifts", NEW)
    assert list(model.classes_) == ["billing", "delivery", "returns", "gifts"]
    assert list(model.predict(NEW)) == ["gifts", "gifts"]
    assert effect.before["examples"] == effect.after["examples"] == len(HELD[0])
    assert effect.after["examples_new"] == 2
    assert effect.after["accuracy_new"] == 1
    assert said(model, TEXTS).shape == (len(TEXTS), 4)
    assert said(model, TEXTS)[:, :3].argmax(axis=1).tolist() == old.argmax(axis=1).tolist()
    found = model.explain(NEW[0])
    assert found.prediction == "gifts"
    assert found.evidence[0].label == "gifts"
    assert [card.label for card in model.prototypes].count("gifts") == 1
    with pytest.raises(InputError, match="is there already"):
        model.prototypes.add_class(" gifts ", NEW)


def test_new_classes_have_the_type_of_the_others(opened: Opened, tiny_bert: Path) -> None:
    from helpers.quick import quick_classifier

    def numbered(kind: Any) -> Any:
        labels = [kind(label == "billing") for label in LABELS]
        return quick_classifier(tiny_bert).fit(TEXTS, labels)

    model = numbered(int)
    model.prototypes.add_class("7", NEW)
    assert list(model.classes_) == [0, 1, 7]
    assert model.classes_.dtype.kind == "i"
    for name in ("seven", 2.5):
        with pytest.raises(InputError):
            model.prototypes.add_class(name, NEW)
    model.prototypes.add(NEW, "7")  # a label as it is typed
    assert [card.label for card in model.prototypes].count(7) == 2
    with pytest.raises(InputError, match="all the classes there are"):
        numbered(bool).prototypes.add_class("maybe", NEW)


def test_edits_of_a_regression_are_in_the_unit_of_the_targets(opened: Opened) -> None:
    model = opened("pfit", "numbers")
    (row,) = model.prototypes.add(NEW, 9.0).rows
    card = next(card for card in model.prototypes if card.row == row)
    assert card.label == pytest.approx(9.0, abs=1e-5)
    assert model.bundle_.index.labels[-2:].tolist() == [9.0, 9.0]
    for target in ("many", float("nan"), None):
        with pytest.raises(InputError, match="target"):
            model.prototypes.add(NEW, target)
    with pytest.raises(InputError, match="has no classes"):
        model.prototypes.add_class("gifts", NEW)


@EVERY
def test_a_failed_edit_leaves_everything(
    opened: Opened, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(method)
    model.prototypes.rename(model.prototypes.rows[0], "kept")
    before = snapshot(model)
    refused: list[tuple[str, dict[str, Any]]] = [
        ("delete", {"row": 999}),
        ("rename", {"row": 999, "name": "x"}),
        ("merge", {"rows": [model.prototypes.rows[0], 999]}),
        ("replace", {"row": -1}),
        ("add", {"texts": NEW, "label": "unheard of"}),
        ("add", {"texts": [], "label": "billing"}),
        ("add_class", {"name": "billing", "texts": NEW}),
        ("add_class", {"name": "", "texts": NEW}),
        ("add_class", {"name": "gifts", "texts": []}),
    ]
    if method == "protonet":
        refused += [("add", {"texts": NEW, "label": "billing"}), ("merge", {"rows": [0, 1]})]
    if method in ("imp", "imp-exact", "dpmeans"):
        rows = {card.label: card.row for card in model.prototypes}
        refused.append(("merge", {"rows": [rows["billing"], rows["returns"]]}))
    for action, arguments in refused:
        with pytest.raises(InputError):
            model.prototypes.apply(action, **arguments)
        assert_same(snapshot(model), before)
    with pytest.raises(InputError, match="there is no edit 'explode'"):
        model.prototypes.apply("explode")

    def broken(*_: Any) -> None:
        raise RuntimeError("in the middle of an edit")

    monkeypatch.setattr(type(model.prototypes), "_remember", broken)
    with pytest.raises(RuntimeError, match="in the middle"):
        model.prototypes.add_class("gifts", NEW)
    monkeypatch.undo()
    assert_same(snapshot(model), before)


@EVERY
def test_a_saved_model_has_its_history(opened: Opened, method: str, tmp_path: Path) -> None:
    model = opened(method)
    first = snapshot(model)
    model.prototypes.rename(model.prototypes.rows[0], "kept")
    second = snapshot(model)
    model.prototypes.add_class("gifts", NEW)
    third = snapshot(model)
    model.prototypes.save(tmp_path / "model")
    read = PFitClassifier.load(tmp_path / "model")
    for wanted in (third, second, first):
        assert_same(snapshot(read), wanted)
        if read.prototypes.history:
            read.prototypes.undo()
    read.prototypes.save(tmp_path / "model")
    assert not (tmp_path / "model" / "history").exists()
    assert not (tmp_path / "model" / "prototypes.json").exists()


def test_a_saved_regression_has_its_history(opened: Opened, tmp_path: Path) -> None:
    model = opened("prosenet", "numbers")
    before = snapshot(model)
    model.prototypes.add(NEW, 9.0)
    model.prototypes.save(tmp_path / "model")
    read = PFitRegressor.load(tmp_path / "model")
    assert said(read, NEW) == pytest.approx(said(model, NEW), abs=1e-6)
    read.prototypes.undo()
    assert_same(snapshot(read), before)


def test_the_history_tells_what_was_done_with_figures(opened: Opened) -> None:
    model = opened()
    row = model.prototypes.rows[-1]
    model.prototypes.delete(row, force=True)
    wanted = model.prototypes.judge(*HELD)
    effect = model.prototypes.rename(model.prototypes.rows[0], "x")
    plain, judged = model.prototypes.history
    assert (plain["action"], plain["before"]) == ("delete", {})
    assert judged["before"]["accuracy"] == judged["after"]["accuracy"] == wanted["accuracy"]
    assert effect.before == effect.after == wanted
    model.prototypes.history.clear()  # a copy
    assert len(model.prototypes.history) == 2


def test_an_editor_reads_like_a_list(opened: Opened) -> None:
    model = opened()
    cards = list(model.prototypes)
    assert len(model.prototypes) == len(cards)
    assert model.prototypes[-1] == cards[-1]
    assert model.prototypes[1:3] == cards[1:3]
    assert [card.row for card in cards] == model.prototypes.rows
    with pytest.raises(IndexError):
        _ = model.prototypes[99]
    with pytest.raises(InputError, match="There are 0, 1"):
        model.prototypes.delete(77)


def test_texts_of_an_edit_join_an_index_only_where_one_is(opened: Opened) -> None:
    model = opened()
    model.index(TEXTS, LABELS)  # without texts
    model.prototypes.add(NEW, "billing")
    assert model.bundle_.index.texts is None
    assert len(model.bundle_.index) == len(TEXTS) + 2
    bare = opened()
    bare.bundle_.index = None
    bare.prototypes.add(NEW, "billing")
    assert bare.bundle_.index is None


def test_nothing_is_made_from_a_text_of_blanks(opened: Opened) -> None:
    model = opened()
    for action, named in (("add", {"label": "billing"}), ("add_class", {"name": "new"})):
        with pytest.raises(InputError, match="text 1 is empty"):
            model.prototypes.apply(action, texts=["a parcel", " \n"], **named)
    assert model.prototypes.history == []
    pairs = opened("pfit", "pairs")
    with pytest.raises(InputError, match="text 0 is empty"):
        pairs.prototypes.add([("", " ")], "billing")
