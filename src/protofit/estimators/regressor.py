"""`PFitRegressor`: texts or pairs of texts → a number."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from protofit.data.columns import LARGEST_TARGET
from protofit.data.labels import is_missing, shown
from protofit.errors import InputError
from protofit.estimators.base import PFitEstimator


class PFitRegressor(RegressorMixin, PFitEstimator):  # type: ignore[misc,unused-ignore]
    """Prototypical fine-tuning for numbers: ŷ = Σ_k z_k l_k.

    Parameters and attributes are those of `PFitClassifier`, without classes.
    """

    task: ClassVar[str] = "regression"

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
        self.keep_index = keep_index
        self.keep_texts = keep_texts
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PFitRegressor:
        """Train on texts (or pairs) and finite numbers."""
        self._fit(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The predicted value of each text (n,)."""
        return self._logits(X)[:, 0].astype(np.float64)

    def _labels(self, values: list[Any]) -> tuple[np.ndarray, None]:
        targets = np.empty(len(values), dtype=np.float32)
        for i, value in enumerate(values):
            targets[i] = _number(value, i)
        return targets, None


def _number(value: Any, i: int) -> float:
    if is_missing(value):
        raise InputError(f"target {i} is missing ({value})", fix="Remove or correct the row.")
    number = None if isinstance(value, (bool, np.bool_, str)) else _as_float(value)
    if number is None:
        raise InputError(f"target {i} is {shown(value)}, not a number", fix="Give finite numbers.")
    if not np.isfinite(number) or abs(number) > LARGEST_TARGET:
        raise InputError(f"target {i} is {shown(value)}", fix="Remove or correct the row.")
    return number


def _as_float(value: Any) -> float | None:
    """The number that a value is, infinite where it is too large; None if it is none."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None
