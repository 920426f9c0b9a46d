"""An index attached after training."""

from __future__ import annotations

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import KINDS, LABELS, TEXTS, data_of, same_state, state
from protofit.errors import InputError
from protofit.model.index import BLOCK


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_training_would_have_kept(opened: Opened, kind: str) -> None:
    model = opened("pfit", kind)
    kept = model.bundle_.index
    model.bundle_.index = None
    assert model.index(*data_of(kind), keep_texts=True) is model
    found = model.bundle_.index
    assert np.array_equal(found.features, kept.features)
    assert np.array_equal(found.labels, kept.labels)
    assert np.array_equal(found.rows, kept.rows)
    assert found.texts == kept.texts == tuple(data_of(kind)[0])


def test_texts_stay_only_with_consent(opened: Opened) -> None:
    model = opened().index(TEXTS, LABELS)
    assert model.bundle_.index.texts is None
    assert model.explain("a parcel").nearest[0].text is None
    assert model.explain("a parcel").nearest[0].row >= 0


def test_weights_and_any_number_of_texts(opened: Opened) -> None:
    model = opened().index(TEXTS[:3], LABELS[:3], sample_weight=[1, 2, 0])
    assert model.bundle_.index.weights.tolist() == [1, 2, 0]
    assert len(model.bundle_.index) == 3
    assert BLOCK > 3
    with pytest.raises(InputError, match="3 texts and 2 labels"):
        model.index(TEXTS[:3], LABELS[:2])
    with pytest.raises(InputError, match="none of the"):
        model.index(TEXTS[:1], ["unheard of"])
    assert len(model.bundle_.index) == 3


def test_undoing_an_older_edit_does_not_cut_the_new_index(opened: Opened) -> None:
    model = opened()
    before = state(model)
    model.prototypes.add(TEXTS[:2], "billing")
    assert len(model.bundle_.index) == len(TEXTS) + 2
    model.index(TEXTS[:5], LABELS[:5])
    model.prototypes.undo()
    assert len(model.bundle_.index) == 5
    assert same_state(state(model), before)
    assert model.explain("a parcel").nearest
