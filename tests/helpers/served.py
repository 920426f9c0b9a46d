"""Estimators for the server: with texts, without an index, of pairs, numbers, no prototypes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.quick import ROOMY, exactly, few_tickets, quick_classifier, quick_regressor

CLASSES = ("billing", "delivery", "returns")


def make(kind: str, encoder: Path) -> Any:
    """A trained estimator of a kind."""
    texts, labels = few_tickets(10, CLASSES)
    settings = {**ROOMY, **exactly(12)}
    if kind == "numbers":
        values = [float(CLASSES.index(label)) for label in labels]
        fitted = quick_regressor(encoder, settings).fit(texts, values)
        return fitted.index(texts, values, keep_texts=True)
    if kind == "pairs":
        pairs = list(zip(texts, texts[1:] + texts[:1], strict=True))
        fitted = quick_classifier(encoder, settings).fit(pairs, labels)
        return fitted.index(pairs, labels, keep_texts=True)
    if kind == "raw":
        return quick_classifier(encoder, method="raw").fit(texts, labels)
    fitted = quick_classifier(encoder, settings).fit(texts, labels)
    return fitted if kind == "bare" else fitted.index(texts, labels, keep_texts=True)
