"""Small data and estimators that train in a fraction of a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.tickets import read_tickets

ROOMY = {  # everything far from its class becomes a prototype, from the first step
    "head.creation.alpha": 0.9,
    "head.creation.start_share": 0.0,
    "head.scale.quantile": 0.5,
}


def exactly(steps: int) -> dict[str, Any]:
    """Settings for this number of optimiser steps, whatever the data."""
    return {"train.min_steps": steps, "train.max_steps": steps}


SHORT = exactly(4)


def few_tickets(
    each: int = 8, classes: tuple[str, ...] = ("billing", "returns")
) -> tuple[list[str], list[str]]:
    """The first `each` tickets of every class, the classes taking turns."""
    texts, labels = read_tickets("train")
    rows = zip(*(_of(label, texts, labels)[:each] for label in classes), strict=True)
    return [text for row in rows for text in row], [*classes] * each


def _of(label: str, texts: list[str], labels: list[str]) -> list[str]:
    return [text for text, own in zip(texts, labels, strict=True) if own == label]


def quick_classifier(encoder: Path, settings: dict[str, Any] | None = None, **named: Any) -> Any:
    """A classifier of four steps."""
    from protofit import PFitClassifier

    named.setdefault("batch_size", 8)
    return PFitClassifier(str(encoder), settings={**SHORT, **(settings or {})}, **named)


def quick_regressor(encoder: Path, settings: dict[str, Any] | None = None, **named: Any) -> Any:
    """A regressor of four steps."""
    from protofit import PFitRegressor

    named.setdefault("batch_size", 8)
    return PFitRegressor(str(encoder), settings={**SHORT, **(settings or {})}, **named)
