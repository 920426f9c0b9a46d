"""Sample weights and class weights: equal ones are none, zero ones are absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.quick import exactly, few_tickets, quick_classifier, quick_regressor
from protofit.errors import InputError
from protofit.estimators.fitting import normalised_weights

TEXTS, LABELS = few_tickets(7)
UNEVEN = [*LABELS[:10], *["returns"] * 4]  # 5 billing, 9 returns
PRICES = np.linspace(10, 20, len(TEXTS))
STRAY = few_tickets(3, ("technical", "account"))[0]
WRONG = ["returns", "billing"] * 3
KEPT = np.array([1.0] * len(TEXTS) + [0.0] * len(STRAY))
STILL = {  # one step that moves nothing, on one batch of everything
    **exactly(1),
    "train.learning_rate": 1e-30,
    "train.batch_size": 64,
    "train.validation_share": 0.0,
    "train.precision": "float32",
    "encoder.dropout": 0.0,
}
NO_CREATION = {"head.creation.rule": "off"}


def probabilities(encoder: Path, weights: Any = None, **named: Any) -> np.ndarray:
    model = quick_classifier(encoder, **named).fit(TEXTS, UNEVEN, sample_weight=weights)
    return np.asarray(model.predict_log_proba(TEXTS))


@pytest.fixture(scope="module")
def unweighted(tiny_bert: Path) -> np.ndarray:
    return probabilities(tiny_bert)


@pytest.mark.parametrize("weight", [1.0, 0.1, 3, 1e-9])
def test_equal_weights_are_none(tiny_bert: Path, unweighted: np.ndarray, weight: float) -> None:
    weights = [weight] * len(TEXTS)
    np.testing.assert_array_equal(probabilities(tiny_bert, weights), unweighted)


def test_weights_average_to_one() -> None:
    weights = np.array([0.0, 3.0, 9.0])
    np.testing.assert_allclose(normalised_weights(weights), [0, 0.75, 2.25])
    assert normalised_weights(np.full(3, 0.2)) is None
    assert normalised_weights(None) is None


def test_equal_class_weights_are_none(tiny_bert: Path, unweighted: np.ndarray) -> None:
    equal = {"billing": 0.3, "returns": 0.3}
    np.testing.assert_array_equal(probabilities(tiny_bert, class_weight=equal), unweighted)
    np.testing.assert_array_equal(probabilities(tiny_bert, class_weight={}), unweighted)


def test_only_the_ratios_of_weights_count(tiny_bert: Path, unweighted: np.ndarray) -> None:
    weights = np.arange(1.0, len(TEXTS) + 1)
    once = probabilities(tiny_bert, weights)
    np.testing.assert_array_equal(once, probabilities(tiny_bert, 4 * weights))
    assert not np.array_equal(once, unweighted)


def test_class_weights_are_sample_weights(tiny_bert: Path) -> None:
    by_hand = np.where(np.array(UNEVEN) == "returns", 5.0, 1.0)
    expected = probabilities(tiny_bert, by_hand)
    found = probabilities(tiny_bert, class_weight={"returns": 5.0})  # silence about billing is 1
    np.testing.assert_array_equal(found, expected)


def test_balanced_weights_are_inverse_to_the_counts(tiny_bert: Path) -> None:
    by_hand = np.where(np.array(UNEVEN) == "returns", 14 / (2 * 9), 14 / (2 * 5))
    expected = probabilities(tiny_bert, by_hand)
    found = probabilities(tiny_bert, class_weight="balanced")
    np.testing.assert_array_equal(found, expected)


def test_class_and_sample_weights_multiply(tiny_bert: Path) -> None:
    own = np.arange(1.0, len(TEXTS) + 1)
    by_hand = own * np.where(np.array(UNEVEN) == "returns", 2.0, 1.0)
    expected = probabilities(tiny_bert, by_hand)
    found = probabilities(tiny_bert, own, class_weight={"returns": 2})
    np.testing.assert_array_equal(found, expected)


def test_a_heavy_class_is_predicted_more(tiny_bert: Path) -> None:
    settings = {**exactly(15), "train.learning_rate": 1e-3}
    one, other = (
        probabilities(tiny_bert, settings=settings, class_weight={name: 100})
        for name in ("billing", "returns")
    )
    assert one[:, 0].mean() > other[:, 0].mean() + 0.1


def test_class_weights_name_classes_of_any_type(tiny_bert: Path) -> None:
    numbers = [0 if label == "billing" else 1 for label in UNEVEN]
    model = quick_classifier(tiny_bert, class_weight={1: 5.0, 0: 1.0}).fit(TEXTS, numbers)
    expected = probabilities(tiny_bert, class_weight={"returns": 5.0})
    np.testing.assert_array_equal(model.predict_log_proba(TEXTS), expected)


def head_of(model: Any) -> dict[str, torch.Tensor]:
    return {name: t.clone() for name, t in model.bundle_.model.head.state_dict().items()}


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_rows_of_weight_zero_are_absent_from_the_start(tiny_bert: Path, preset: str) -> None:
    settings = {**STILL, **NO_CREATION, "head.start.examples": "all"}
    without = quick_classifier(tiny_bert, settings, preset=preset).fit(TEXTS, LABELS)
    weighted = quick_classifier(tiny_bert, settings, preset=preset)
    weighted.fit([*TEXTS, *STRAY], [*LABELS, *WRONG], sample_weight=KEPT)
    full = quick_classifier(tiny_bert, settings, preset=preset)
    full.fit([*TEXTS, *STRAY], [*LABELS, *WRONG])
    expected, found, mixed = head_of(without), head_of(weighted), head_of(full)
    for name in ("bank.vectors", "log_variance", "spread", "neighbour_variance"):
        torch.testing.assert_close(found[name], expected[name], rtol=1e-4, atol=1e-5)
    assert (mixed["bank.vectors"] - expected["bank.vectors"]).abs().max() > 1e-3


def test_rows_of_weight_zero_are_absent_from_the_start_of_a_regression(tiny_bert: Path) -> None:
    settings = {**STILL, **NO_CREATION, "head.regression.bins": 2}
    without = quick_regressor(tiny_bert, settings).fit(TEXTS, PRICES)
    weighted = quick_regressor(tiny_bert, settings)
    weighted.fit([*TEXTS, *STRAY], [*PRICES, *[900.0] * len(STRAY)], sample_weight=KEPT)
    np.testing.assert_allclose(weighted.predict(TEXTS), without.predict(TEXTS), rtol=1e-4)
    scales = [model.bundle_.model.config.target_scale for model in (weighted, without)]
    assert scales[0] == pytest.approx(scales[1], rel=1e-5)  # the unit of the loss


def test_rows_of_weight_zero_never_become_prototypes(tiny_bert: Path) -> None:
    settings = {
        **STILL,
        "head.start.vectors": "random",
        "head.creation.start_share": 0.0,
        "head.scale.variance": 1e-6,
        "head.creation.capacity": 64,
        "head.creation.rule": "sequential",
    }

    def distances(weights: Any) -> tuple[int, torch.Tensor]:
        model = quick_classifier(tiny_bert, settings, preset="paper")
        model.fit([*TEXTS, *STRAY], [*LABELS, *WRONG], sample_weight=weights)
        bundle, head = model.bundle_, model.bundle_.model.head
        tokens = bundle.tokens([*TEXTS, *STRAY])
        batch = tokens.batch(np.arange(len(tokens)), torch.device("cpu"))
        with torch.no_grad():
            features = bundle.model.features(**batch)
        created = head.bank.vectors[head.bank.active & (head.bank.born > 0)]
        return int(head.created), torch.cdist(features, created).amin(dim=1)

    created, nearest = distances(KEPT)
    assert created == len(TEXTS)
    assert nearest[: len(TEXTS)].max() < 1e-3 < 0.1 < nearest[len(TEXTS) :].min()
    created, nearest = distances(None)
    assert created == len(TEXTS) + len(STRAY)
    assert nearest.max() < 1e-3


@pytest.mark.parametrize("neighbour_weight", [0.0, 1.0])
def test_rows_of_weight_zero_teach_nothing(tiny_bert: Path, neighbour_weight: float) -> None:
    settings = {
        **STILL,
        **NO_CREATION,
        "train.learning_rate": 1e-3,
        "head.start.vectors": "random",
        "head.scale.kind": "shared",
        "head.neighbour_weight": neighbour_weight,
        "head.diversity.weight": 0.0,
    }

    def learned(texts: list[str], labels: list[str], weights: Any = None) -> np.ndarray:
        model = quick_classifier(tiny_bert, settings).fit(texts, labels, sample_weight=weights)
        return np.asarray(model.predict_log_proba(TEXTS))

    expected = learned(TEXTS, LABELS)
    found = learned([*TEXTS, *STRAY], [*LABELS, *WRONG], KEPT)
    mixed = learned([*TEXTS, *STRAY], [*LABELS, *WRONG])
    assert np.abs(found - expected).max() < 0.1 * np.abs(mixed - expected).max()


BAD = [
    ([1.0] * 13, "shape"),
    ([[1.0]] * 14, "shape"),
    ([0.0] * 14, "zeros"),
    ([-1.0, *[1.0] * 13], "negative"),
    ([float("nan"), *[1.0] * 13], "NaN"),
    ([float("inf"), *[1.0] * 13], "infinite"),
    (["heavy", *[1.0] * 13], "sample_weight holds what is no number"),
    ([[1.0], *[1.0] * 13], "sample_weight holds what is no number"),
]


@pytest.mark.parametrize(("weights", "words"), BAD)
def test_bad_sample_weights_are_refused(tiny_bert: Path, weights: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        probabilities(tiny_bert, weights)
    with pytest.raises(InputError, match=words):
        quick_regressor(tiny_bert).fit(TEXTS, PRICES, sample_weight=weights)


BAD_CLASS_WEIGHTS = [
    ("balance", "class_weight is 'balance'"),
    ({"billing": -1.0}, "negative"),
    ({"billing": float("nan")}, "infinite|NaN"),
    ({"nobody": 2.0}, "nobody"),
    ([1.0, 2.0], "class_weight is"),
    ({"billing": "heavy"}, "class_weight holds what is no number"),
    ({"billing": [1.0, 2.0]}, "class_weight has the shape"),
    ({"billing": 0.0, "returns": 0.0}, "zero"),
]


@pytest.mark.parametrize(("weights", "words"), BAD_CLASS_WEIGHTS)
def test_bad_class_weights_are_refused(tiny_bert: Path, weights: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        probabilities(tiny_bert, class_weight=weights)


def test_weights_that_are_zero_only_together_are_refused(tiny_bert: Path) -> None:
    only_billing = [1.0 if label == "billing" else 0.0 for label in UNEVEN]
    with pytest.raises(InputError, match="zero"):
        probabilities(tiny_bert, only_billing, class_weight={"billing": 0.0})
