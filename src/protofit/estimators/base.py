"""What the classifier and the regressor share: parameters, fitting, saving."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from protofit.data.labels import shown
from protofit.errors import InputError, ModelFolderError
from protofit.estimators.explained import Explained
from protofit.estimators.fitting import Request, check_lengths, keep_of, train
from protofit.estimators.inputs import as_inputs, as_values, as_weights
from protofit.estimators.progress import make_reporter
from protofit.model.bundle import Bundle
from protofit.settings import Settings
from protofit.training.loop import RunOptions

DIRECT = {  # parameters that are settings under a shorter name
    "epochs": "train.epochs",
    "batch_size": "train.batch_size",
    "learning_rate": "train.learning_rate",
    "max_length": "encoder.max_length",
}


class PFitEstimator(Explained, BaseEstimator):  # type: ignore[misc,unused-ignore]
    """Base of the estimators: stores parameters untouched, fits a `Bundle`."""

    task: ClassVar[str]
    bundle_: Bundle

    encoder: Any
    preset: str
    method: str
    settings: dict[str, Any] | None
    keep_index: bool
    keep_texts: bool
    device: str | None
    random_state: Any
    verbose: int

    def resolved_settings(self) -> Settings:
        """The preset, then the direct parameters, then `settings`."""
        if not isinstance(self.settings, (dict, type(None))):
            raise InputError(
                f"settings is {shown(self.settings)}",
                where="settings",
                fix="Give None or a dictionary such as {'head.beta': 3}.",
            )
        overrides = {
            key: getattr(self, name)
            for name, key in DIRECT.items()
            if getattr(self, name) is not None
        }
        overrides.update(self.settings or {})
        plain = {
            key: value.item() if isinstance(value, np.generic) else value
            for key, value in overrides.items()
        }  # a grid made by numpy holds its numbers
        return Settings.build(self.preset, self.method, plain)

    def _fit(self, texts: Any, y: Any, sample_weight: Any) -> None:
        if y is None:
            name = type(self).__name__  # scikit-learn looks for these words
            raise InputError(f"{name} requires y to be passed, but the target y is None")
        settings = self.resolved_settings()
        inputs, values = as_inputs(texts), as_values(y)
        check_lengths(inputs, values)
        labels, classes = self._labels(values)
        request = Request(
            inputs=inputs,
            labels=labels,
            classes=classes,
            settings=settings,
            encoder=self.encoder,
            weights=self._weights(labels, classes, sample_weight),
            seed=self._seed(),
            options=RunOptions(device=self.device),
            keep=keep_of(index=self.keep_index, texts=self.keep_texts),
        )
        self.bundle_ = train(request, make_reporter(self.verbose))

    def _labels(self, values: list[Any]) -> tuple[np.ndarray, Any]:
        raise NotImplementedError

    def _encoded(self, values: list[Any]) -> np.ndarray:
        """Indices of known classes, or targets."""
        classes = self._fitted().classes
        return self._labels(values)[0] if classes is None else classes.encode(values)

    def _weights(
        self,
        labels: np.ndarray,
        classes: Any,  # noqa: ARG002 - the classifier weighs by them
        sample_weight: Any,
    ) -> np.ndarray | None:
        """Checked sample weights."""
        if sample_weight is None:
            return None
        weights = as_weights(sample_weight, len(labels), "sample_weight")
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise InputError(
                "sample_weight holds NaN, infinite or negative numbers, or only zeros",
                fix="Give finite numbers that are not negative.",
            )
        return weights

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _logits(self, texts: Any) -> np.ndarray:
        bundle = self._fitted()
        return bundle.logits(bundle.tokens(as_inputs(texts)))

    def _fitted(self) -> Bundle:
        if not hasattr(self, "bundle_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} instance is not fitted yet. Call 'fit' first.")
        return self.bundle_

    @property
    def trace_(self) -> list[dict[str, float]]:
        """One row per optimiser step: loss, K, λ, σ, created, pruned and more."""
        return self._fitted().trace

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model folder in one step, over a model that was there; no other is replaced."""
        self._fitted().save(Path(folder))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Any:
        """Read a model folder, checked byte by byte, with the parameters that fitted it.

        Not kept: `device` and `verbose`, which belong to a machine and a session. A `random_state`
        that was no number comes back as the seed that was drawn from it.
        """
        bundle = Bundle.load(Path(folder))
        if bundle.task != cls.task:
            raise ModelFolderError(
                f"this is a {bundle.task} model",
                where=os.fspath(folder),
                fix="Load it with PFitRegressor or PFitClassifier as fits.",
            )
        estimator = cls(**cls._parameters(bundle))
        estimator._adopt(bundle)
        return estimator

    @classmethod
    def _parameters(cls, bundle: Bundle) -> dict[str, Any]:
        """What a model was fitted with, as far as its folder knows."""
        changed = bundle.settings.differences()
        direct = {name: changed.pop(key, None) for name, key in DIRECT.items()}
        index = bundle.index
        return {
            "encoder": bundle.record.get("encoder_asked", "embedded"),
            "preset": bundle.settings.preset,
            "method": bundle.settings.method,
            **direct,
            "settings": changed or None,
            "keep_index": index is not None,
            "keep_texts": index is not None and index.texts is not None,
            "random_state": bundle.record.get("seed", 0),
        }

    def _adopt(self, bundle: Bundle) -> None:
        self.bundle_ = bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "bundle_")
