"""Figures against scikit-learn, scipy and arithmetic by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from protofit.evaluation.metrics import (
    calibration_error,
    classification_metrics,
    regression_metrics,
)


def predictions(seed: int, size: int = 80, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    logits = draw.normal(0, 1, (size, classes))
    truth = draw.integers(0, classes, size)
    truth[:classes] = np.arange(classes)
    logits[np.arange(size), truth] += 1
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), truth


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(3))
def test_classification_against_scikit_learn(seed: int, dtype: type) -> None:
    log_prob, truth = predictions(seed)
    got = classification_metrics(log_prob.astype(dtype), truth)
    guess = log_prob.argmax(axis=1)
    assert got["examples"] == 80
    assert got["accuracy"] == pytest.approx(metrics.accuracy_score(truth, guess))
    assert got["macro_f1"] == pytest.approx(metrics.f1_score(truth, guess, average="macro"))
    expected = metrics.log_loss(truth, np.exp(log_prob), labels=range(4))
    assert got["log_loss"] == pytest.approx(expected, rel=1e-5)
    assert got["confusion"] == metrics.confusion_matrix(truth, guess, labels=range(4)).tolist()


def test_a_class_that_does_not_occur_keeps_its_place_in_the_confusion() -> None:
    prob = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.2, 0.1, 0.7], [0.8, 0.1, 0.1]])
    got = classification_metrics(np.log(prob), np.array([0, 2, 2, 2]))
    assert got["confusion"] == [[1, 0, 0], [0, 0, 0], [1, 0, 2]]
    # F1 of class 0: 2/3; of class 2: 4/5; the class that does not occur is not averaged
    assert got["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)


def test_one_example() -> None:
    got = classification_metrics(np.log([[0.25, 0.75]]), np.array([1]))
    assert got["accuracy"] == got["macro_f1"] == 1.0
    assert got["log_loss"] == pytest.approx(-math.log(0.75))
    assert got["ece"] == pytest.approx(0.25)


def test_calibration_error_by_hand() -> None:
    confidence = np.array([0.55, 0.58, 0.9, 0.95, 0.92])
    right = np.array([True, False, True, True, False])
    # ten bins: [0.5, 0.6) has 1 of 2 right at 0.565, [0.9, 1] has 2 of 3 at (0.9+0.95+0.92)/3
    expected = 2 / 5 * abs(0.5 - 0.565) + 3 / 5 * abs(2 / 3 - (0.9 + 0.95 + 0.92) / 3)
    assert calibration_error(confidence, right, bins=10) == pytest.approx(expected)


def slow_calibration_error(confidence: np.ndarray, right: np.ndarray, bins: int) -> float:
    total = 0.0
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        inside = (confidence >= low) & ((confidence < high) | (b == bins - 1))
        if inside.any():
            gap = abs(right[inside].mean() - confidence[inside].mean())
            total += inside.sum() / len(confidence) * gap
    return total


@pytest.mark.parametrize("bins", [1, 7, 15])
def test_calibration_error_against_a_loop(bins: int) -> None:
    draw = np.random.default_rng(bins)
    confidence = draw.random(200)
    right = draw.random(200) < confidence**2
    expected = slow_calibration_error(confidence, right, bins)
    assert expected > 0.02
    assert calibration_error(confidence, right, bins) == pytest.approx(expected)


def test_the_reported_calibration_error_is_of_the_guess() -> None:
    log_prob, truth = predictions(5)
    right = log_prob.argmax(axis=1) == truth
    expected = slow_calibration_error(np.exp(log_prob.max(axis=1)), right, 15)
    assert classification_metrics(log_prob, truth)["ece"] == pytest.approx(expected)


@pytest.mark.parametrize("confidence", [1.0, 1.0 + 1e-7])
def test_full_confidence_falls_into_the_last_bin(confidence: float) -> None:
    sure = np.full(4, confidence)
    assert calibration_error(sure, np.ones(4, bool)) == pytest.approx(0, abs=1e-6)
    assert calibration_error(sure, np.zeros(4, bool)) == pytest.approx(1, abs=1e-6)


def test_calibration_error_of_nothing_is_zero() -> None:
    assert calibration_error(np.zeros(0), np.zeros(0, bool)) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_regression_against_scikit_learn_and_scipy(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth = draw.normal(size=50).round(1)
    predicted = truth + draw.normal(size=50)
    got = regression_metrics(predicted, truth)
    assert got["examples"] == 50
    assert got["mse"] == pytest.approx(metrics.mean_squared_error(truth, predicted))
    assert got["pearson"] == pytest.approx(stats.pearsonr(predicted, truth)[0])
    assert got["spearman"] == pytest.approx(stats.spearmanr(predicted, truth)[0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("predicted", "truth"),
    [([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), ([1.0], [2.0])],
)
def test_correlation_with_a_constant_is_none(predicted: list[float], truth: list[float]) -> None:
    got = regression_metrics(np.array(predicted), np.array(truth))
    assert got["pearson"] is got["spearman"] is None
    assert got["mse"] == pytest.approx(metrics.mean_squared_error(truth, predicted))


def test_figures_are_plain_numbers_that_json_writes() -> None:
    log_prob, truth = predictions(0)
    numbers = np.arange(5, dtype=np.float32)
    for got in (classification_metrics(log_prob, truth), regression_metrics(numbers, numbers**2)):
        assert json.loads(json.dumps(got)) == got
