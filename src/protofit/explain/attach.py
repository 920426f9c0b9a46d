"""Attach an index of texts to a model after training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from protofit.model.bundle import Bundle
from protofit.model.index import make_index


def attach_index(
    bundle: Bundle,
    inputs: Sequence[Any],
    labels: np.ndarray,
    *,
    keep_texts: bool = False,
    rows: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> None:
    """Encode texts and keep their features with the model; the texts only with `keep_texts`.

    `labels` are class indices, or targets. An index that is there already is replaced.
    """
    bundle.index = make_index(
        bundle.model,
        bundle.tokens(inputs),
        labels,
        rows=rows,
        weights=weights,
        texts=list(inputs) if keep_texts else None,
    )
    # an undone edit must not cut an index that was made after it
    bundle.history = [replace(version, indexed=None) for version in bundle.history]
    bundle.cache.clear()
