"""`PFitClassifier`: texts or pairs of texts → one of several classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from protofit.data.labels import ClassOrder
from protofit.errors import InputError
from protofit.estimators.base import PFitEstimator
from protofit.estimators.inputs import as_weights
from protofit.model.bundle import Bundle


class PFitClassifier(ClassifierMixin, PFitEstimator):  # type: ignore[misc,unused-ignore]
    """Prototypical fine-tuning of a text encoder.

    Parameters: `encoder` is "embedded", a Hugging Face folder or a Hub id; `preset` is "default",
    "paper" or "groups"; `method` a name of the registry; `settings` dotted overrides such as
    {"head.beta": 3}; `class_weight` None, "balanced" or {class: weight}; `random_state` a seed;
    `keep_index` keeps features of the training texts with the model, for evidence, and
    `keep_texts` the texts as well.

    After `fit`: `classes_` (sorted: False < True, numbers by value, texts by code point),
    `trace_` (a row per step) and `bundle_` (model, tokenizer, record).

    >>> clf = PFitClassifier().fit(["great", "awful"], ["good", "bad"])  # doctest: +SKIP
    """

    task: ClassVar[str] = "classification"
    classes_: np.ndarray

    def __init__(
        self,
        encoder: Any = "embedded",
        *,
        preset: str = "default",
        method: str = "pfit",
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        max_length: int | None = None,
        settings: dict[str, Any] | None = None,
        class_weight: Any = None,
        keep_index: bool = False,
        keep_texts: bool = False,
        device: str | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.encoder = encoder
        self.preset = preset
        self.method = method
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_length = max_length
        self.settings = settings
        self.class_weight = class_weight
        self.keep_index = keep_index
        self.keep_texts = keep_texts
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PFitClassifier:
        """Train on texts (or pairs) and labels (str, int or bool)."""
        self._fit(X, y, sample_weight)
        self._adopt(self.bundle_)
        remember_class_weight(self.bundle_, self.class_weight)
        return self

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log P(y|x), columns in the order of `classes_`: (n, C)."""
        log_prob = self._logits(X).astype(np.float64)
        return np.asarray(log_prob - np.logaddexp.reduce(log_prob, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(y|x), columns in the order of `classes_`: (n, C); rows sum to 1."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each text (n,)."""
        best = self._logits(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _labels(self, values: list[Any]) -> tuple[np.ndarray, ClassOrder]:
        classes = ClassOrder.of(values)
        return classes.encode(values), classes

    def _weights(self, labels: np.ndarray, classes: Any, sample_weight: Any) -> np.ndarray | None:
        weights = super()._weights(labels, classes, sample_weight)
        per_class = class_weights(self.class_weight, labels, classes)
        if per_class is None:
            return weights
        joint = np.asarray(per_class[labels] * (1 if weights is None else weights))
        if not joint.any():
            raise InputError(
                "sample_weight and class_weight together give every example the weight zero",
                fix="Give positives to the same examples.",
            )
        return joint

    @classmethod
    def _parameters(cls, bundle: Bundle) -> dict[str, Any]:
        known = bundle.record.get("class_weight")
        weights = dict(known) if isinstance(known, list) else known
        return {**super()._parameters(bundle), "class_weight": weights}

    def _adopt(self, bundle: Bundle) -> None:
        super()._adopt(bundle)
        if bundle.classes is not None:
            self.classes_ = bundle.classes.decode(np.arange(len(bundle.classes)))


def remember_class_weight(bundle: Bundle, wanted: Any) -> None:
    """Put the class weights into the record: classes that are no text are no keys of JSON."""
    if isinstance(wanted, dict) and bundle.classes is not None:
        names = bundle.classes.decode(bundle.classes.encode(list(wanted))).tolist()
        wanted = [[name, float(wanted[key])] for name, key in zip(names, wanted, strict=True)]
    if wanted is not None:
        bundle.record["class_weight"] = wanted


def class_weights(wanted: Any, labels: np.ndarray, classes: ClassOrder) -> np.ndarray | None:
    """Weight of each class (C,): N / (C n_c) if "balanced", 1 where a dictionary is silent."""
    if wanted is None:
        return None
    if isinstance(wanted, str) and wanted == "balanced":
        counts = classes.counts(labels)
        return np.asarray(len(labels) / (len(classes) * np.maximum(counts, 1)))
    if not isinstance(wanted, dict):
        raise InputError(
            f"class_weight is {wanted!r}", fix="Give None, 'balanced' or {class: weight}."
        )
    weights = np.ones(len(classes))
    given = as_weights(list(wanted.values()), len(wanted), "class_weight")
    weights[classes.encode(list(wanted))] = given
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("class_weight holds a negative or infinite number", fix="Give positives.")
    if not weights[labels].any():
        raise InputError("class_weight gives every example the weight zero", fix="Give positives.")
    return weights
