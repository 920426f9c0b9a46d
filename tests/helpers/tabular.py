"""The estimators as scikit-learn's checks want them: rows of numbers in, turned into texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from protofit import PFitClassifier, PFitRegressor

WORDS = ("invoice", "parcel", "refund", "screen", "password", "charge", "driver", "late")


def as_texts(rows: Any) -> list[str]:
    """One word per column, repeated up to four times as its number is large."""
    numbers = np.asarray(check_array(rows), dtype=float)
    counts = np.clip(np.abs(numbers) * 2, 0, 4).astype(int)
    return [
        " ".join(WORDS[i % len(WORDS)] for i, count in enumerate(row) for _ in range(count))
        for row in counts
    ]


class _Tabular:
    """Says that it takes arrays, and hands on texts."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(as_texts(X), y, sample_weight)  # type: ignore[misc]

    def _logits(self, X: Any) -> Any:
        self._fitted()  # type: ignore[attr-defined]
        return super()._logits(as_texts(X))  # type: ignore[misc]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = True
        return tags


class TabularClassifier(_Tabular, PFitClassifier):
    """A classifier of rows of numbers."""


class TabularRegressor(_Tabular, PFitRegressor):
    """A regressor of rows of numbers."""
