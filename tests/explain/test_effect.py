"""The effect of an edit: what the evaluation set says before and after."""

from __future__ import annotations

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import CLASSES, OTHERS, said
from protofit.errors import InputError
from protofit.evaluation.metrics import classification_metrics, regression_metrics
from protofit.explain import effect as module

HELD = OTHERS[0][18:], OTHERS[1][18:]
TRUTH = np.array([CLASSES.index(label) for label in HELD[1]])


def figures(chances: np.ndarray) -> dict[str, float]:
    """As `protofit evaluate` gives them, without the confusion."""
    found = classification_metrics(np.log(chances), TRUTH)
    del found["confusion"]
    return found


@pytest.mark.parametrize("method", ["pfit", "prosenet", "dpmeans"])
def test_figures_are_those_of_predicting_before_and_after(opened: Opened, method: str) -> None:
    model = opened(method)
    before, guessed = said(model, HELD[0]), model.predict(HELD[0])
    assert model.prototypes.judge(*HELD) == pytest.approx(figures(before), abs=1e-5)
    row = next(card.row for card in model.prototypes if card.label == guessed[0])
    effect = model.prototypes.delete(row, force=True)
    after, guessed_after = said(model, HELD[0]), model.predict(HELD[0])
    assert effect.before == pytest.approx(figures(before), abs=1e-5)
    assert effect.after == pytest.approx(figures(after), abs=1e-5)
    changed = [i for i in range(len(guessed)) if guessed[i] != guessed_after[i]]
    assert [one.row for one in effect.changed] == changed
    assert effect.changed_count == len(changed)
    for one in effect.changed:
        assert one.before == guessed[one.row]
        assert one.after == guessed_after[one.row]
        assert (one.text, one.truth) == (HELD[0][one.row], HELD[1][one.row])


def test_some_prediction_changes_when_a_class_loses_its_prototypes(opened: Opened) -> None:
    model = opened()
    model.prototypes.judge(*HELD)
    label = model.predict(HELD[0])[0]
    changed = 0
    for row in [card.row for card in model.prototypes if card.label == label]:
        changed += model.prototypes.delete(row, force=True).changed_count
    assert changed > 0


def test_in_regression_small_moves_do_not_count(opened: Opened) -> None:
    model = opened("pfit", "numbers")
    truth = [float(i % 5) for i in range(len(HELD[0]))]
    before = said(model, HELD[0])[:, 0]
    model.prototypes.judge(HELD[0], truth)
    row = model.prototypes.rows[0]
    effect = model.prototypes.delete(row)
    after = said(model, HELD[0])[:, 0]
    assert effect.before == pytest.approx(regression_metrics(before, np.array(truth)), abs=1e-4)
    assert effect.after == pytest.approx(regression_metrics(after, np.array(truth)), abs=1e-4)
    least = 0.01 * model.bundle_.model.config.target_scale
    assert effect.changed_count == int((np.abs(before - after) > least).sum())
    assert model.prototypes.rename(model.prototypes.rows[0], "x").changed_count == 0


def test_texts_of_unknown_classes_wait_for_their_class(opened: Opened) -> None:
    model = opened()
    inputs, labels = [*HELD[0], "gift card", "gift code"], [*HELD[1], "gifts", "gifts"]
    assert model.prototypes.judge(inputs, labels)["examples"] == len(HELD[0])
    effect = model.prototypes.rename(model.prototypes.rows[0], "x")
    assert effect.after["examples"] == len(HELD[0])
    assert "examples_new" not in effect.after
    effect = model.prototypes.add_class("gifts", ["gift card", "gift code"])
    assert effect.after["examples"] == len(HELD[0])
    assert effect.after["examples_new"] == 2
    following = model.prototypes.rename(model.prototypes.rows[0], "y")
    assert following.before["examples"] == len(inputs)


def test_only_a_hundred_changes_are_listed(opened: Opened) -> None:
    model = opened()
    model.prototypes.judge(HELD[0] * 12, HELD[1] * 12)
    label = model.predict(HELD[0])[0]
    rows = [card.row for card in model.prototypes if card.label == label]
    effects = [model.prototypes.delete(row, force=True) for row in rows]
    for effect in effects:
        assert len(effect.changed) == min(effect.changed_count, 100)


def test_blocks_change_nothing(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = opened().prototypes.judge(*HELD)
    monkeypatch.setattr(module, "BLOCK", 5)
    assert opened().prototypes.judge(*HELD) == pytest.approx(wanted, abs=1e-6)


def test_bad_evaluation_sets_are_refused(opened: Opened) -> None:
    model = opened()
    with pytest.raises(InputError, match="knows no class"):
        model.prototypes.judge(["a", "b"], ["x", "y"])
    with pytest.raises(InputError, match="label 1 is missing"):
        model.prototypes.judge(["a", "b"], ["billing", None])
    with pytest.raises(InputError, match="2 texts and 1 labels"):
        model.prototypes.judge(["a", "b"], ["billing"])
    assert model.prototypes.jury is None
    with pytest.raises(InputError, match="a target is not a number"):
        opened("pfit", "numbers").prototypes.judge(["a"], ["many"])
