"""Predictions without evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protofit.data.tokens import Tokens
from protofit.explain.results import Explanation
from protofit.model.bundle import Bundle
from protofit.serve.answers import Scored


def scored(bundle: Bundle, inputs: Sequence[Any]) -> list[Scored]:
    """The prediction of each text or pair, from one pass over all."""
    tokens = bundle.tokens(inputs)
    logits = bundle.logits(tokens).astype(np.float64)
    cut = truncated(bundle, inputs, tokens)
    if bundle.classes is None:
        return [Scored(float(row[0]), None, [], i in cut) for i, row in enumerate(logits)]
    chances = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    labels = bundle.classes.to_json()
    return [
        Scored(labels[int(row.argmax())], float(row.max()), [float(p) for p in row], i in cut)
        for i, row in enumerate(chances)
    ]


def truncated(bundle: Bundle, inputs: Sequence[Any], tokens: Tokens) -> set[int]:
    """Which texts are longer than the model reads: only those at the limit are counted again."""
    if not tokens.truncated:
        return set()
    full = np.flatnonzero(tokens.lengths == tokens.lengths.max())
    return {i for i in map(int, full) if bundle.tokens([inputs[i]]).truncated}


def unexplained(
    bundle: Bundle, inputs: Sequence[Any], found: Sequence[Scored]
) -> list[Explanation]:
    """What can be said of texts where the method keeps no prototypes: no evidence, no place."""
    classes = [] if bundle.classes is None else list(bundle.classes.to_json())
    return [
        Explanation(
            text=text, task=bundle.task, method=bundle.settings.method, classes=list(classes),
            prediction=one.prediction, probability=one.probability,
            probabilities=one.probabilities, runner_up=_second(classes, one.probabilities),
            evidence=[], rest_count=0, rest_share=0.0, base=_whole(one), counter=None,
            novelty=None, log_density=None, distance=None, nearest=[], position=None,
            truncated=one.truncated,
        )
        for text, one in zip(inputs, found, strict=True)
    ]  # fmt: skip


def _whole(one: Scored) -> float:
    """The probability of the prediction, or the value: none of it is a prototype's."""
    return float(one.prediction) if one.probability is None else one.probability


def _second(classes: list[Any], chances: list[float]) -> Any:
    if len(chances) < 2:
        return None
    return classes[int(np.argsort(-np.array(chances), kind="stable")[1])]
