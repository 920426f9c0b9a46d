"""`PFitClassifier`: classes, probabilities, seeds, saving, what it refuses."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.quick import exactly, few_tickets, quick_classifier, quick_regressor
from protofit import PFitClassifier
from protofit.errors import InputError, ModelFolderError, ProtoFitWarning

TEXTS, LABELS = few_tickets()
NEW = few_tickets(12)[0][16:]


@pytest.fixture(scope="module")
def fitted(tiny_bert: Path) -> Any:
    return quick_classifier(tiny_bert).fit(TEXTS, LABELS)


KINDS = [
    (["returns", "billing"], np.str_, ["billing", "returns"]),
    ([True, False], np.bool_, [False, True]),
    ([10, -2], np.int64, [-2, 10]),
    (list(np.array([7, 300], dtype=np.int16)), np.int64, [7, 300]),
    (list(np.array([True, False])), np.bool_, [False, True]),
    (["b", "a", "é"], np.str_, ["a", "b", "é"]),
]


@pytest.mark.parametrize(("names", "kind", "ordered"), KINDS)
def test_classes_are_sorted_and_predictions_have_their_type(
    tiny_bert: Path, names: list[Any], kind: type, ordered: list[Any]
) -> None:
    labels = [names[i % len(names)] for i in range(len(TEXTS))]
    model = quick_classifier(tiny_bert).fit(TEXTS, labels)
    assert model.classes_.tolist() == ordered
    predicted = model.predict(NEW)
    assert issubclass(predicted.dtype.type, kind)
    assert predicted.dtype == model.classes_.dtype
    probability = model.predict_proba(NEW)
    assert probability.shape == (len(NEW), len(ordered))
    assert predicted.tolist() == [ordered[i] for i in probability.argmax(axis=1)]


def test_a_text_without_tokens_has_a_prediction(tiny_bert: Path, tmp_path: Path) -> None:
    """Where the tokenizer frames no text: alone and beside others it is the same."""
    bare = shutil.copytree(tiny_bert, tmp_path / "bare")
    facts = json.loads((bare / "tokenizer.json").read_text())
    (bare / "tokenizer.json").write_text(json.dumps({**facts, "post_processor": None}))
    model = quick_classifier(bare).fit(["", *TEXTS[1:]], LABELS)
    alone, beside = model.predict_proba([""]), model.predict_proba(["", *NEW])
    np.testing.assert_allclose(alone[0], beside[0], rtol=1e-5)


def test_columns_follow_classes_whatever_the_order_of_the_rows(tiny_bert: Path) -> None:
    settings = {**exactly(20), "train.learning_rate": 3e-3, "encoder.dropout": 0.0}
    backwards = slice(None, None, -1)
    one = quick_classifier(tiny_bert, settings).fit(TEXTS, LABELS)
    other = quick_classifier(tiny_bert, settings).fit(TEXTS[backwards], LABELS[backwards])
    assert one.classes_.tolist() == other.classes_.tolist() == ["billing", "returns"]
    for model in (one, other):
        billing = model.predict_proba(TEXTS)[:, 0]
        own = np.array([label == "billing" for label in LABELS])
        assert billing[own].min() > 0.5 > billing[~own].max()


def test_probabilities_are_normalised_and_agree_with_their_logarithms(fitted: Any) -> None:
    probability, logarithm = fitted.predict_proba(NEW), fitted.predict_log_proba(NEW)
    assert probability.dtype == np.float64
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(np.exp(logarithm), probability)


def test_score_is_the_accuracy(fitted: Any) -> None:
    answers = fitted.predict(TEXTS)
    expected = np.mean([a == b for a, b in zip(answers, LABELS, strict=True)])
    assert fitted.score(TEXTS, LABELS) == expected
    assert fitted.score(TEXTS, answers) == 1.0


def test_no_texts_give_no_predictions(fitted: Any) -> None:
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba([]).shape == (0, 2)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_fitted_estimator_predicts_the_same(fitted: Any, copied: Any) -> None:
    twin = copied(fitted)
    np.testing.assert_array_equal(twin.predict_proba(NEW), fitted.predict_proba(NEW))
    assert twin.trace_ == fitted.trace_
    assert twin.get_params() == fitted.get_params()


def test_the_same_seed_gives_the_same_model_and_another_seed_another(tiny_bert: Path) -> None:
    def train(seed: Any) -> np.ndarray:
        model = quick_classifier(tiny_bert, random_state=seed).fit(TEXTS, LABELS)
        return np.asarray(model.predict_proba(NEW))

    np.testing.assert_array_equal(train(3), train(np.int64(3)))
    assert not np.array_equal(train(3), train(4))
    np.testing.assert_array_equal(train(np.random.RandomState(5)), train(np.random.RandomState(5)))
    shared_state = np.random.RandomState(5)
    assert not np.array_equal(train(shared_state), train(shared_state))
    assert not np.array_equal(train(None), train(None))


def test_a_saved_model_predicts_bitwise_the_same(fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = PFitClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_log_proba(NEW), fitted.predict_log_proba(NEW))
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert [row["step"] for row in loaded.trace_] == [1, 2, 3, 4]
    for old, new in zip(fitted.trace_, loaded.trace_, strict=True):
        assert new == pytest.approx(old, rel=1e-5)


def test_saved_classes_keep_their_type(tiny_bert: Path, tmp_path: Path) -> None:
    labels = [label == "billing" for label in LABELS]
    quick_classifier(tiny_bert).fit(TEXTS, labels).save(tmp_path / "model")
    loaded = PFitClassifier.load(str(tmp_path / "model"))
    assert loaded.classes_.tolist() == [False, True]
    assert loaded.predict(NEW).dtype == np.bool_


def test_loading_the_model_of_the_other_task_says_which_class_to_use(
    tiny_bert: Path, tmp_path: Path
) -> None:
    quick_regressor(tiny_bert).fit(TEXTS, np.arange(len(TEXTS))).save(tmp_path / "numbers")
    with pytest.raises(ModelFolderError, match=r"regression.*PFitRegressor") as caught:
        PFitClassifier.load(tmp_path / "numbers")
    assert "numbers" in str(caught.value)


REFUSED = [
    (TEXTS, LABELS[:-1], "16 texts and 15 labels"),
    ([], [], "no texts"),
    (TEXTS, ["one"] * 16, "at least two classes"),
    (TEXTS, [0.5, 1.5] * 8, "decimal"),
    (TEXTS, ["a", None] * 8, "missing"),
    (TEXTS, ["a", 1] * 8, "whole number"),
    (TEXTS, [["a", "b"]] * 16, "more than one column"),
]


@pytest.mark.parametrize(("texts", "labels", "words"), REFUSED)
def test_what_cannot_be_learned_is_refused(
    tiny_bert: Path, texts: list[str], labels: list[Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        quick_classifier(tiny_bert).fit(texts, labels)


def test_a_fit_that_fails_leaves_no_model_and_the_same_parameters(tiny_bert: Path) -> None:
    model = quick_classifier(tiny_bert)
    before = copy.deepcopy(model.get_params())
    with pytest.raises(InputError):
        model.fit(TEXTS, LABELS[:3])
    assert model.get_params() == before
    assert not hasattr(model, "bundle_")


def test_a_lonely_class_and_a_cut_text_are_warned_about(tiny_bert: Path) -> None:
    model = quick_classifier(tiny_bert, max_length=8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit([*TEXTS, "short"], [*LABELS, "alone"])
    found = [str(w.message) for w in caught if issubclass(w.category, ProtoFitWarning)]
    assert any("only one example of: alone" in text for text in found)
    assert any("cut at 8 tokens" in text for text in found)


def test_classes_that_look_the_same_are_warned_about(tiny_bert: Path) -> None:
    """They stay two classes: the data is not changed."""
    labels = [*["billing", "billing "] * 4, *LABELS[8:]]
    with pytest.warns(ProtoFitWarning, match="white space around their names: 'b.*g', 'b.*g '$"):
        model = quick_classifier(tiny_bert).fit(TEXTS, labels)
    assert model.classes_.tolist() == ["billing", "billing ", "returns"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProtoFitWarning)
        quick_classifier(tiny_bert).fit(TEXTS, ["new york", "newyork"] * 8)


def test_an_unknown_setting_is_refused_when_fitting_not_before(tiny_bert: Path) -> None:
    model = quick_classifier(tiny_bert, {"head.betta": 3})
    with pytest.raises(InputError, match=r"head\.beta"):
        model.fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"encoder": None}, "encoder: the encoder is None. Give 'embedded'"),
        ({"encoder": 3}, "the encoder is 3"),
        ({"settings": ["head.beta"]}, r"settings is \['head.beta'\]. Give None or a dictionary"),
        ({"settings": "head.beta=3"}, "settings is 'head.beta=3'"),
        ({"settings": {3: 4}}, "the name of a setting is 3"),
    ],
)
def test_parameters_of_another_type_are_refused_in_words(
    tiny_bert: Path, wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        quick_classifier(tiny_bert).set_params(**wrong).fit(TEXTS, LABELS)


def test_settings_win_over_the_short_parameters(tiny_bert: Path) -> None:
    model = quick_classifier(tiny_bert, {"train.learning_rate": 0.5}, learning_rate=0.1, epochs=7)
    assert model.resolved_settings().train.learning_rate == 0.5
    assert model.resolved_settings().train.epochs == 7
