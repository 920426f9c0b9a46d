"""The estimators inside scikit-learn: parameters, cloning, searches, pipelines."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from helpers.quick import few_tickets, quick_classifier, quick_regressor
from protofit import PFitClassifier, PFitRegressor
from protofit.errors import InputError

TEXTS, LABELS = few_tickets()
PRICES = np.linspace(0, 1, len(TEXTS))
BOTH = pytest.mark.parametrize("kind", [PFitClassifier, PFitRegressor])


@BOTH
def test_every_parameter_is_kept_as_it_was_given(kind: Any) -> None:
    given = {
        name: object() for name in inspect.signature(kind.__init__).parameters if name != "self"
    }
    kept = kind(**given).get_params()
    assert {name: id(value) for name, value in kept.items()} == {
        name: id(value) for name, value in given.items()
    }


@BOTH
def test_a_clone_has_the_parameters_and_not_the_model(tiny_bert: Path, kind: Any) -> None:
    model = kind(str(tiny_bert), epochs=2, settings={"head.beta": 3.0}, random_state=7)
    model.bundle_ = "a model"
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.settings is not model.settings
    assert not hasattr(twin, "bundle_")
    assert twin.resolved_settings() == model.resolved_settings()


@BOTH
def test_set_params_changes_what_it_names(kind: Any) -> None:
    model = kind()
    assert model.set_params(epochs=9, settings={"train.clip_norm": None}) is model
    assert model.resolved_settings().train.epochs == 9
    assert model.resolved_settings().train.clip_norm is None
    with pytest.raises(ValueError, match="Invalid parameter 'epoch'"):
        model.set_params(epoch=9)


def test_scikit_learn_knows_which_is_which() -> None:
    assert is_classifier(PFitClassifier())
    assert not is_classifier(PFitRegressor())
    assert is_regressor(PFitRegressor())


UNFITTED = [
    (PFitClassifier, "predict"),
    (PFitClassifier, "predict_proba"),
    (PFitClassifier, "predict_log_proba"),
    (PFitRegressor, "predict"),
]


@pytest.mark.parametrize(("kind", "method"), UNFITTED)
def test_predicting_before_fitting_is_refused(kind: Any, method: str) -> None:
    with pytest.raises(NotFittedError, match=rf"{kind.__name__}.*not fitted yet"):
        getattr(kind(), method)(TEXTS)


@BOTH
def test_nothing_else_works_before_fitting(tmp_path: Path, kind: Any) -> None:
    with pytest.raises(NotFittedError):
        kind().save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        kind().trace_  # noqa: B018 - a property
    with pytest.raises(NotFittedError):
        kind().score(TEXTS, LABELS)
    with pytest.raises(NotFittedError):
        check_is_fitted(kind())
    assert list(tmp_path.iterdir()) == []


def test_check_is_fitted_passes_after_fitting(tiny_bert: Path) -> None:
    model = quick_classifier(tiny_bert)
    assert model.fit(TEXTS, LABELS) is model
    check_is_fitted(model)
    assert len(model.trace_) == 4


def test_cross_validation(tiny_bert: Path) -> None:
    model = quick_classifier(tiny_bert)
    scores = cross_val_score(model, TEXTS, LABELS, cv=2, error_score="raise")
    folds = list(StratifiedKFold(2).split(TEXTS, LABELS))
    for score, (train, test) in zip(scores, folds, strict=True):
        by_hand = clone(model).fit([TEXTS[i] for i in train], [LABELS[i] for i in train])
        assert score == by_hand.score([TEXTS[i] for i in test], [LABELS[i] for i in test])
    together = cross_val_predict(model, TEXTS, LABELS, cv=2, method="predict_proba")
    assert together.shape == (len(TEXTS), 2)


def test_cross_validation_of_a_regressor(tiny_bert: Path) -> None:
    scores = cross_val_score(
        quick_regressor(tiny_bert),
        np.array(TEXTS, dtype=object),
        PRICES,
        cv=KFold(2),
        scoring="neg_mean_squared_error",
        error_score="raise",
    )
    assert scores.shape == (2,)
    assert (scores < 0).all()


def test_grid_search_over_a_parameter_and_over_settings(tiny_bert: Path) -> None:
    base = dict(quick_classifier(tiny_bert).settings)
    grid = {
        "learning_rate": [1e-9, 3e-3],
        "settings": [base, {**base, "head.creation.rule": "off"}],
    }
    model = quick_classifier(tiny_bert)
    search = GridSearchCV(model, grid, cv=2, scoring="neg_log_loss", error_score="raise")
    search.fit(TEXTS, LABELS)
    assert len(set(np.round(search.cv_results_["mean_test_score"], 6))) >= 3
    best = search.best_estimator_
    assert {name: best.get_params()[name] for name in grid} == search.best_params_
    np.testing.assert_array_equal(search.predict(TEXTS), best.predict(TEXTS))
    assert model.settings == base
    assert not hasattr(model, "bundle_")


def test_numbers_of_a_numpy_grid_are_numbers(tiny_bert: Path) -> None:
    grid = {"batch_size": np.array([4, 8]), "learning_rate": np.geomspace(1e-4, 1e-3, 2)}
    search = GridSearchCV(quick_classifier(tiny_bert), grid, cv=2, error_score="raise")
    search.fit(TEXTS, LABELS)
    best = search.best_estimator_.bundle_.settings.train
    assert (best.batch_size, best.learning_rate) == tuple(search.best_params_.values())
    model = quick_classifier(tiny_bert, {"head.beta": np.float32(2.5)}).fit(TEXTS, LABELS)
    assert model.bundle_.settings.head.beta == 2.5


def test_a_bad_setting_in_a_grid_is_an_error_of_that_candidate_alone(tiny_bert: Path) -> None:
    grid = {"learning_rate": [1e-3, -1.0]}
    search = GridSearchCV(quick_classifier(tiny_bert), grid, cv=2, error_score=-9.0)
    with pytest.warns(FitFailedWarning, match="2 fits failed"):
        search.fit(TEXTS, LABELS)
    assert search.cv_results_["mean_test_score"][1] == -9.0
    assert search.best_params_ == {"learning_rate": 1e-3}


def shout(texts: list[str]) -> list[str]:
    return [text.upper() + " !" for text in texts]


def test_pipeline(tiny_bert: Path) -> None:
    pipe = make_pipeline(FunctionTransformer(shout), quick_classifier(tiny_bert))
    pipe.set_params(pfitclassifier__random_state=5)
    weights = np.arange(1, len(TEXTS) + 1)
    pipe.fit(TEXTS, LABELS, pfitclassifier__sample_weight=weights)
    alone = quick_classifier(tiny_bert, random_state=5)
    alone.fit(shout(TEXTS), LABELS, sample_weight=weights)
    np.testing.assert_array_equal(pipe.predict_proba(TEXTS), alone.predict_proba(shout(TEXTS)))
    assert pipe.classes_.tolist() == ["billing", "returns"]
    assert pipe.score(TEXTS, LABELS) == alone.score(shout(TEXTS), LABELS)


def test_a_loaded_estimator_and_its_clone_have_the_same_settings(
    tiny_bert: Path, tmp_path: Path
) -> None:
    settings = {"head.beta": 3.5, "encoder.pooling": "cls", "train.clip_norm": None}
    model = quick_classifier(
        tiny_bert, settings, preset="paper", learning_rate=2e-4, max_length=60, random_state=11
    )
    model.fit(TEXTS, LABELS).save(tmp_path / "model")
    loaded = PFitClassifier.load(tmp_path / "model")
    for estimator in (loaded, clone(loaded)):
        assert estimator.resolved_settings() == model.resolved_settings()
        assert estimator.random_state == 11
        assert (estimator.preset, estimator.method) == ("paper", "pfit")


ELSEWHERE = {"device", "verbose"}  # of a machine and a session, not of a model
CLASSES: dict[str, list[Any]] = {
    "text": LABELS,
    "numbers": [int(label == "billing") for label in LABELS],
    "booleans": [label == "billing" for label in LABELS],
}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_loaded_classifier_has_every_parameter(
    tiny_bert: Path, tmp_path: Path, kind: str
) -> None:
    """Also after JSON, which knows only text as keys; its clone fits the very same model."""
    labels = CLASSES[kind]
    settings = {"train.min_steps": 2, "train.max_steps": 2}
    model = PFitClassifier(
        str(tiny_bert), preset="paper", epochs=2, batch_size=8, learning_rate=2e-4, max_length=60,
        settings=settings, class_weight={labels[0]: 3, labels[1]: np.float32(0.5)},
        keep_index=True, keep_texts=True, random_state=11, device="cpu",
    )  # fmt: skip
    model.fit(TEXTS, labels).save(tmp_path / "model")
    loaded = PFitClassifier.load(tmp_path / "model")
    found, given = loaded.get_params(), model.get_params()
    assert {name: found[name] for name in given.keys() - ELSEWHERE} == {
        name: given[name] for name in given.keys() - ELSEWHERE
    }
    assert [type(key) for key in loaded.class_weight] == [type(label) for label in labels[:2]]
    again = clone(loaded).fit(TEXTS, labels)
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))


@pytest.mark.parametrize("weights", ["balanced", None, {}])
def test_a_loaded_classifier_weighs_classes_as_before(
    tiny_bert: Path, tmp_path: Path, weights: Any
) -> None:
    quick_classifier(tiny_bert, class_weight=weights).fit(TEXTS, LABELS).save(tmp_path / "model")
    assert PFitClassifier.load(tmp_path / "model").class_weight == weights


def test_a_loaded_regressor_has_every_parameter(tiny_bert: Path, tmp_path: Path) -> None:
    model = quick_regressor(tiny_bert, learning_rate=2e-4, keep_index=True, random_state=3)
    model.fit(TEXTS, PRICES).save(tmp_path / "model")
    found = PFitRegressor.load(tmp_path / "model").get_params()
    assert {name: found[name] for name in found.keys() - ELSEWHERE} == {
        name: value for name, value in model.get_params().items() if name not in ELSEWHERE
    }


def test_a_parameter_of_a_loaded_estimator_can_be_changed(tiny_bert: Path, tmp_path: Path) -> None:
    """Settings win over the short parameters, so those come back under their short names."""
    quick_classifier(tiny_bert, epochs=2).fit(TEXTS, LABELS).save(tmp_path / "model")
    loaded = PFitClassifier.load(tmp_path / "model").set_params(epochs=5)
    assert loaded.resolved_settings().train.epochs == 5


def test_a_loaded_estimator_does_not_claim_another_encoder(tiny_bert: Path, tmp_path: Path) -> None:
    quick_classifier(tiny_bert).fit(TEXTS, LABELS).save(tmp_path / "model")
    loaded = PFitClassifier.load(tmp_path / "model")
    assert loaded.encoder != "embedded"


def test_errors_are_value_errors_with_words(tiny_bert: Path) -> None:
    with pytest.raises(ValueError, match="requires y to be passed") as caught:
        quick_classifier(tiny_bert).fit(TEXTS, None)
    assert isinstance(caught.value, InputError)
