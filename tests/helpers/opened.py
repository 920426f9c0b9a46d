"""Trained estimators of every prototype method, in a moment: for explanations and edits."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np

from helpers.quick import ROOMY, exactly, few_tickets, quick_classifier, quick_regressor
from protofit.model.index import TrainingIndex

CLASSES = ("billing", "delivery", "returns")
KINDS = ("texts", "pairs", "numbers")
METHODS = ("pfit", "protonet", "prosenet", "imp", "imp-exact", "dpmeans")
TEXTS, LABELS = few_tickets(6, CLASSES)
PAIRS = list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True))
NUMBERS = [float(i % 5) for i in range(len(TEXTS))]
OTHERS = few_tickets(10, CLASSES)  # the first 18 of these are TEXTS
_SEVERAL = {"head.variance": 0.02, "head.alpha": 0.9, "head.capacity": 16}
SETTINGS: dict[str, dict[str, Any]] = {
    "pfit": ROOMY,
    "protonet": {},
    "prosenet": {"head.prototypes": 7},
    "imp": _SEVERAL,
    "imp-exact": _SEVERAL,
    "dpmeans": _SEVERAL,
}


def data_of(kind: str) -> tuple[list[Any], list[Any]]:
    """What a kind of model was trained on."""
    return (PAIRS if kind == "pairs" else TEXTS), (NUMBERS if kind == "numbers" else LABELS)


def fitted(method: str, kind: str, encoder: Path) -> Any:
    """Trained for three steps, with an index that holds the texts."""
    make = quick_regressor if kind == "numbers" else quick_classifier
    estimator = make(encoder, {**SETTINGS[method], **exactly(3)}, method=method, keep_texts=True)
    return estimator.fit(*data_of(kind))


def indexed(estimator: Any, features: np.ndarray, labels: Any, texts: Any = None) -> Any:
    """A copy of the estimator whose index holds these features (n, D) and labels."""
    changed = copy.deepcopy(estimator)
    kept = None if texts is None else tuple(texts)
    changed.bundle_.index = TrainingIndex(
        np.asarray(features), np.asarray(labels), np.arange(len(features)), None, kept
    )
    return changed


def said(estimator: Any, inputs: Any) -> np.ndarray:
    """P(y|x) (n, C), or values (n, 1), by the way predictions go."""
    if estimator.task == "regression":
        return np.asarray(estimator.predict(inputs))[:, None]
    return np.asarray(estimator.predict_proba(inputs))


def state(estimator: Any) -> dict[str, np.ndarray]:
    """Every tensor of the model, as it is now."""
    return {
        name: value.detach().numpy().copy()
        for name, value in estimator.bundle_.model.state_dict().items()
    }


def same_state(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    """Whether two models are equal bit for bit."""
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name])
        for name in one
    )
