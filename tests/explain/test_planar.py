"""The plane of the map against numpy's own decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from protofit.explain.planar import Plane


def test_axes_are_the_principal_ones() -> None:
    draw = np.random.default_rng(0)
    features = draw.normal(size=(200, 6)) * np.array([5, 1, 3, 1, 1, 1]) + 7
    plane = Plane.of(features)
    _, values, rows = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    for axis, row, share, value in zip(plane.axes, rows, plane.explained, values, strict=False):
        assert abs(float(axis @ row)) == pytest.approx(1)
        assert share == pytest.approx(value**2 / np.square(values).sum())
        assert axis[np.abs(axis).argmax()] > 0
    assert plane.places(features).mean(axis=0) == pytest.approx([0, 0], abs=1e-9)
    assert plane.place(features[3]) == pytest.approx(tuple(plane.places(features)[3]))


@pytest.mark.parametrize(
    "features", [np.ones((1, 4)), np.ones((5, 4)), np.arange(3.0)[:, None], np.eye(3)[:2]]
)
def test_few_directions_still_make_a_plane(features: np.ndarray) -> None:
    plane = Plane.of(features)
    assert plane.axes.shape == (2, features.shape[1])
    assert np.isfinite(plane.places(features)).all()
    assert sum(plane.explained) <= 1 + 1e-9


def test_the_same_features_give_the_same_plane() -> None:
    features = np.random.default_rng(1).normal(size=(50, 5))
    one, other = Plane.of(features), Plane.of(features.copy())
    assert np.array_equal(one.axes, other.axes)
