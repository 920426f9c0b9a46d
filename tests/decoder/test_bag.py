"""The bag-of-words baseline against references that take their time."""

from __future__ import annotations

import numpy as np
import pytest

from protofit.decoder.bag import PENALTIES, Bag, WordMap, penalty, ridge, words_of


def problem(count: int = 12, dimension: int = 5, words: int = 4) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    z = draw.normal(size=(count, dimension))
    y = (z @ draw.normal(size=(dimension, words)) + draw.normal(size=(count, words)) > 0) * 1.0
    return z - z.mean(axis=0), y


def slow_ridge(z: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    """Least squares on data with √α · I and zeros appended, word by word."""
    stacked = np.vstack([z, np.sqrt(alpha) * np.eye(z.shape[1])])
    columns = []
    for word in range(y.shape[1]):
        target = np.concatenate([y[:, word] - y[:, word].mean(), np.zeros(z.shape[1])])
        columns.append(np.linalg.lstsq(stacked, target, rcond=None)[0])
    return np.array(columns).T


@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_ridge(alpha: float) -> None:
    z, y = problem()
    np.testing.assert_allclose(ridge(z, y, alpha), slow_ridge(z, y, alpha), atol=1e-10)


@pytest.mark.parametrize("scale", [0.05, 0.3, 3.0, 30.0])
def test_penalty_is_the_best_when_each_text_is_left_out_in_turn(scale: float) -> None:
    """Fitted again without each text, mean and all."""
    z, y = problem()
    z = z * scale
    errors = []
    for alpha in PENALTIES:
        total = 0.0
        for i in range(len(z)):
            rest = np.arange(len(z)) != i
            mean_z, mean_y = z[rest].mean(axis=0), y[rest].mean(axis=0)
            weights = slow_ridge(z[rest] - mean_z, y[rest], alpha)
            total += float(np.square(y[i] - mean_y - (z[i] - mean_z) @ weights).sum())
        errors.append(total)
    assert penalty(z, y) == PENALTIES[int(np.argmin(errors))]


def test_the_penalties_of_the_test_above_differ() -> None:
    z, y = problem()
    assert len({penalty(z * scale, y) for scale in (0.05, 0.3, 3.0, 30.0)}) > 2


def test_words_are_different_words_in_lower_case() -> None:
    assert words_of("The lamp's cord, the LAMP; 24 V_2 naïve") == [
        "the", "lamp's", "cord", "lamp", "24", "v", "2", "naïve",
    ]  # fmt: skip


def test_written_are_the_likeliest_words_as_many_as_a_text_has() -> None:
    """Three words a text; each pair of dimensions says one of them."""
    texts = ["a red lamp", "a red kettle", "a blue lamp", "a blue kettle"] * 5
    z = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]] * 5, float)
    found = WordMap.fit(z, texts)
    assert found.count == 3
    for row, text in zip(found.write(z[:4]), texts, strict=False):
        assert row.split()[0] == "a"
        assert set(row.split()) == set(text.split())


def test_a_pair_has_a_map_for_each_side() -> None:
    z = np.array([[1.0], [-1.0]] * 5)
    bag = Bag.fit(z, [("red", "lamp"), ("blue", "old kettle")] * 5)
    one, other = bag.write(z[:2])
    assert (one[0], one[1].split()[0]) == ("red", "lamp")
    assert (other[0], set(other[1].split())) == ("blue", {"kettle", "old"})


def test_texts_without_words_give_an_empty_bag() -> None:
    bag = Bag.fit(np.eye(3), ["!", "?", "…"])
    assert bag.write(np.eye(3)) == ["", "", ""]
