"""Initialisation: which examples are drawn, their means, and how visible the classes are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.errors import InputError
from protofit.prototypes.start import StartConfig, class_means, pick_examples, separability


def draw(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.one_of(st.integers(1, 9), st.just("all")),
    st.integers(0, 99),
)
def test_draws_at_most_n_of_every_class(labels: list[int], examples: int | str, seed: int) -> None:
    held = np.array(labels)
    picked = pick_examples(held, 5, examples, draw(seed))
    counts = np.bincount(held, minlength=5)
    wanted = counts if examples == "all" else np.minimum(counts, int(examples))
    assert np.bincount(held[picked], minlength=5).tolist() == wanted.tolist()
    assert (np.diff(picked) > 0).all()
    np.testing.assert_array_equal(picked, pick_examples(held, 5, examples, draw(seed)))


def test_every_example_of_a_class_can_be_drawn() -> None:
    labels = np.zeros(6, dtype=np.int64)
    seen = {int(i) for seed in range(40) for i in pick_examples(labels, 1, 2, draw(seed))}
    assert seen == set(range(6))


def test_no_example_is_drawn_twice() -> None:
    labels = np.repeat([0, 1], 20)
    for seed in range(5):
        picked = pick_examples(labels, 2, 15, draw(seed))
        assert len(set(picked.tolist())) == 30


def test_class_means_against_a_loop() -> None:
    numbers = draw(3)
    features, labels = numbers.normal(size=(30, 5)), numbers.integers(0, 4, 30)
    got = class_means(torch.from_numpy(features), torch.from_numpy(labels), 6)
    for label in range(4):
        expected = features[labels == label].mean(axis=0)
        np.testing.assert_allclose(got[label], expected, rtol=1e-12)
    assert not got[4:].any()


def slow_separability(features: np.ndarray, labels: np.ndarray) -> float:
    """Leave every example out of its class mean, one after the other."""
    present = np.unique(labels)
    recalls = []
    for label in present:
        members = np.flatnonzero(labels == label)
        if len(members) < 2:
            continue
        hits = 0
        for i in members:
            means = [
                features[(labels == c) & (np.arange(len(labels)) != i)].mean(axis=0)
                for c in present
            ]
            distances = [np.square(features[i] - mean).sum() for mean in means]
            hits += present[int(np.argmin(distances))] == label
        recalls.append(hits / len(members))
    chance = 1 / len(present)
    return min(1.0, max(0.0, (float(np.mean(recalls)) - chance) / (1 - chance)))


def measured(features: np.ndarray, labels: np.ndarray, classes: int) -> float:
    return separability(torch.from_numpy(features), torch.from_numpy(labels), classes)


@pytest.mark.parametrize("seed", range(8))
def test_separability_is_leave_one_out_accuracy_over_chance(seed: int) -> None:
    numbers = draw(seed)
    labels = np.concatenate([np.repeat(np.arange(4), 2), numbers.integers(0, 4, 20)])
    features = numbers.normal(0, 1, (28, 5)) + labels[:, None] * 0.8
    assert 0 < measured(features, labels, 4) < 1
    assert measured(features, labels, 4) == pytest.approx(slow_separability(features, labels))


def test_separability_is_near_zero_for_random_labels() -> None:
    numbers = draw(1)
    features, labels = numbers.normal(size=(400, 16)), numbers.integers(0, 4, 400)
    assert measured(features, labels, 4) < 0.1


def test_separability_is_one_for_clusters_far_apart() -> None:
    numbers = draw(2)
    labels = np.repeat(np.arange(4), 20)
    features = np.eye(4)[labels] * 10 + numbers.normal(0, 0.1, (80, 4))
    assert measured(features, labels, 4) == 1.0


def test_absent_classes_change_nothing() -> None:
    numbers = draw(4)
    labels = np.repeat([0, 1], 15)
    features = numbers.normal(0, 1, (30, 3)) + labels[:, None]
    assert measured(features, labels, 2) == measured(features, labels, 9) > 0


@pytest.mark.parametrize("labels", [[0, 1, 2], [1, 1, 1], [0]])
def test_nothing_to_compare_is_not_separable(labels: list[int]) -> None:
    assert measured(draw().normal(size=(len(labels), 3)), np.array(labels), 3) == 0.0


@pytest.mark.parametrize(("name", "value"), [("examples", 0), ("vectors", "zeros")])
def test_a_setting_out_of_range_is_named(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"head.start.{name} is") as caught:
        StartConfig(**{name: value})  # type: ignore[arg-type]
    assert caught.value.fix.startswith(("Give", "Choose"))
