"""`PFitRegressor`: numbers in their own unit."""

from __future__ import annotations

import copy
import pickle
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.quick import exactly, few_tickets, quick_classifier, quick_regressor
from protofit import PFitRegressor
from protofit.errors import InputError, ModelFolderError, ProtoFitWarning

TEXTS, LABELS = few_tickets()
PRICES = np.linspace(1000, 1300, len(TEXTS))  # whole numbers
VISIBLE = np.array([1000.0 if label == "billing" else 1300.0 for label in LABELS])
LONGER = {**exactly(80), "train.learning_rate": 3e-3, "encoder.dropout": 0.0}


@pytest.fixture(scope="module")
def fitted(tiny_bert: Path) -> Any:
    return quick_regressor(tiny_bert).fit(TEXTS, PRICES)


def test_predictions_are_in_the_unit_of_the_targets(fitted: Any) -> None:
    predicted = fitted.predict(TEXTS)
    assert predicted.shape == (len(TEXTS),)
    assert predicted.dtype == np.float64
    assert PRICES.min() <= predicted.min() <= predicted.max() <= PRICES.max()


def test_it_learns_and_score_is_r_squared(tiny_bert: Path) -> None:
    model = quick_regressor(tiny_bert, LONGER).fit(TEXTS, VISIBLE)
    error = np.square(model.predict(TEXTS) - VISIBLE).sum()
    expected = 1 - error / np.square(VISIBLE - VISIBLE.mean()).sum()
    assert model.score(TEXTS, VISIBLE) == pytest.approx(expected, abs=1e-12)
    assert model.score(TEXTS, VISIBLE) > 0.8


def test_shifting_and_scaling_the_targets_shifts_and_scales_the_predictions(
    tiny_bert: Path,
) -> None:
    small = quick_regressor(tiny_bert).fit(TEXTS, np.linspace(-1, 1, len(TEXTS)))
    large = quick_regressor(tiny_bert).fit(TEXTS, 512 * np.linspace(-1, 1, len(TEXTS)) + 4096)
    expected = 512 * small.predict(TEXTS) + 4096
    np.testing.assert_allclose(large.predict(TEXTS), expected, rtol=0, atol=0.05)


def test_equal_targets_are_predicted_as_they_are(tiny_bert: Path) -> None:
    with pytest.warns(ProtoFitWarning, match="^all 16 targets are 7.5: there is nothing"):
        model = quick_regressor(tiny_bert).fit(TEXTS, [7.5] * len(TEXTS))
    np.testing.assert_allclose(model.predict(TEXTS), 7.5, rtol=0, atol=1e-3)


def test_a_single_target_is_warned_about(tiny_bert: Path) -> None:
    with pytest.warns(ProtoFitWarning, match="^the only target is 7.5: there is nothing"):
        quick_regressor(tiny_bert).fit(TEXTS[:1], [7.5])
    weights = [1.0, 1.0, *[0.0] * (len(TEXTS) - 2)]
    with pytest.warns(ProtoFitWarning, match="^all 2 targets are 3:"):
        quick_regressor(tiny_bert).fit(TEXTS, [3, 3, *PRICES[2:]], sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProtoFitWarning)
        quick_regressor(tiny_bert).fit(TEXTS, PRICES)


@pytest.mark.parametrize(
    "targets",
    [
        PRICES.tolist(),
        PRICES.astype(np.float32),
        [Decimal(str(value)) for value in PRICES],
        PRICES.reshape(-1, 1),
        PRICES.astype(int),
    ],
    ids=["list", "float32", "decimals", "column", "integers"],
)
def test_numbers_of_every_kind(tiny_bert: Path, fitted: Any, targets: Any) -> None:
    model = quick_regressor(tiny_bert).fit(TEXTS, targets)
    np.testing.assert_array_equal(model.predict(TEXTS), fitted.predict(TEXTS))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_predicts_the_same(fitted: Any, copied: Any) -> None:
    np.testing.assert_array_equal(copied(fitted).predict(TEXTS), fitted.predict(TEXTS))


def test_a_saved_model_predicts_bitwise_the_same(fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = PFitRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(TEXTS), fitted.predict(TEXTS))


def test_loading_a_classifier_says_which_class_to_use(tiny_bert: Path, tmp_path: Path) -> None:
    quick_classifier(tiny_bert).fit(TEXTS, LABELS).save(tmp_path / "classes")
    with pytest.raises(ModelFolderError, match=r"classification.*PFitClassifier"):
        PFitRegressor.load(tmp_path / "classes")


REFUSED = [
    (["1"] * 16, "not a number"),
    ([True] * 16, "not a number"),
    ([None] * 16, "target 0 is missing"),
    (pd.Series([None] * 16, dtype="Int64"), "target 0 is missing"),
    (pd.Series([pd.Timestamp(0)] * 16), "not a number"),
    ([1j] * 16, "not a number"),
    ([float("nan")] * 16, "nan"),
    ([float("inf")] * 16, "inf"),
    ([1.0] * 15, "16 texts and 15 labels"),
    ([1e300] * 16, "target 0"),
    ([10**400] * 16, "target 0"),
]


@pytest.mark.parametrize(("targets", "words"), REFUSED)
def test_what_is_no_finite_number_is_refused(tiny_bert: Path, targets: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        quick_regressor(tiny_bert).fit(TEXTS, targets)


def test_the_first_bad_target_is_named(tiny_bert: Path) -> None:
    with pytest.raises(InputError, match="target 3"):
        quick_regressor(tiny_bert).fit(TEXTS, [1.0, 2.0, 3.0, "four", *[1.0] * 12])


def test_the_raw_method_does_regression_too(tiny_bert: Path) -> None:
    model = quick_regressor(tiny_bert, {**LONGER, "head.dropout": 0.0}, method="raw").fit(
        TEXTS, VISIBLE
    )
    assert model.score(TEXTS, VISIBLE) > 0.8
