"""A reading is kept while the model is what it was, and speaks in the unit of the targets."""

from __future__ import annotations

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import LABELS, METHODS, TEXTS, said
from protofit.errors import InputError
from protofit.explain.reading import Reading, spread_rows


def test_it_is_made_once_until_head_or_index_change(opened: Opened) -> None:
    model = opened()
    first = Reading.of(model.bundle_)
    assert Reading.of(model.bundle_) is first
    model.prototypes.rename(first.rows[0], "x")
    assert Reading.of(model.bundle_).name(0) == "x"
    model.prototypes.delete(first.rows[-1], force=True)
    second = Reading.of(model.bundle_)
    assert second is not first
    model.index(TEXTS[:4], LABELS[:4])
    assert Reading.of(model.bundle_) is not second
    assert len(Reading.of(model.bundle_).index) == 4


@pytest.mark.parametrize("method", METHODS)
def test_regression_is_in_the_unit_of_the_targets(opened: Opened, method: str) -> None:
    model = opened(method, "numbers")
    config = model.bundle_.model.config
    assert config.target_scale not in (0, 1)
    reading = Reading.of(model.bundle_)
    features = model.bundle_.features(model.bundle_.tokens(TEXTS[:5]))
    parts = reading.parts(features)
    values = said(model, TEXTS[:5])
    assert parts.share.sum(axis=1) + parts.base == pytest.approx(values, abs=1e-5)
    if reading.mixture:
        assert reading.outputs.min() >= -0.5
        assert reading.outputs.max() <= 4.5
        assert parts.base == pytest.approx(np.zeros((5, 1)))
    else:
        assert parts.base == pytest.approx(np.full((5, 1), config.target_mean))


@pytest.mark.parametrize(("count", "most"), [(5, 10), (10, 5), (7, 7), (1000, 3), (1, 1)])
def test_spread_rows_are_even_distinct_and_the_same(count: int, most: int) -> None:
    rows = spread_rows(count, most)
    assert len(rows) == len(set(rows.tolist())) == min(count, most)
    assert (np.diff(rows) > 0).all()
    assert rows[0] == 0
    if len(rows) > 1:
        assert rows[-1] == count - 1
        assert np.ptp(np.diff(rows)) <= 1


def test_a_head_without_prototypes_left_says_so(opened: Opened) -> None:
    model = opened()
    model.bundle_.model.head.bank.active[:] = False
    with pytest.raises(InputError, match="no active prototype"):
        model.explain("a parcel")


def test_more_neighbours_than_the_ten_at_hand(opened: Opened) -> None:
    reading = Reading.of(opened().bundle_)
    few, many = reading.near_prototype(0, 10), reading.near_prototype(0, 15)
    assert many[:10] == few
    assert len(many) == 15
    assert [near.distance for near in many] == sorted(near.distance for near in many)
    assert len(reading.near_prototype(0, 1000)) == len(TEXTS)
