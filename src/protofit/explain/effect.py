"""What an edit does to the predictions of an evaluation set; the encoder runs only once.

Before and after are measured on the same texts: those whose class the model knows both times.
Texts of a class that an edit adds are counted apart, as `examples_new` and `accuracy_new`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit.data.labels import ClassOrder, is_missing
from protofit.errors import InputError
from protofit.evaluation.metrics import classification_metrics, regression_metrics
from protofit.explain.results import ChangedRow, Label, Text
from protofit.model.bundle import Bundle

UNKNOWN = -1  # label of a text whose class the model does not know
BLOCK = 1024  # texts predicted together
MOVED = 0.01  # of the standard deviation of the targets: a value that counts as changed


@dataclass(frozen=True)
class Jury:
    """An evaluation set as features: every head is judged on the same ones."""

    inputs: Sequence[Text]
    truths: Sequence[Any]  # (n,) labels, or targets
    features: Tensor  # (n, D)


@dataclass(frozen=True)
class Verdict:
    """What one head says of the evaluation set."""

    outputs: np.ndarray  # (n, C) log-probabilities, or (n, 1) values
    labels: np.ndarray  # (n,) class indices (`UNKNOWN`), or targets
    predicted: list[Label]  # (n,)

    @property
    def known(self) -> np.ndarray:
        """Texts whose class the model knows (n,)."""
        if self.labels.dtype.kind == "f":
            return np.ones(len(self.labels), dtype=bool)
        return np.asarray(self.labels != UNKNOWN)

    def figures(self, rows: np.ndarray) -> dict[str, Any]:
        """Figures over the rows (n,) of a mask; {} where it is empty."""
        if not rows.any():
            return {}
        if self.labels.dtype.kind == "f":
            return regression_metrics(self.outputs[rows, 0], self.labels[rows])
        found = classification_metrics(self.outputs[rows], self.labels[rows])
        del found["confusion"]
        return found


@torch.no_grad()
def judge(bundle: Bundle, jury: Jury) -> Verdict:
    """Predictions of the bundle's head as it is now."""
    blocks = [bundle.model.head(some).double() for some in torch.split(jury.features, BLOCK)]
    outputs = torch.cat(blocks).cpu().numpy()
    if bundle.classes is None:
        config = bundle.model.config
        outputs = outputs * config.target_scale + config.target_mean
        targets = np.asarray(jury.truths, dtype=np.float64)
        return Verdict(outputs, targets, [float(value) for value in outputs[:, 0]])
    names = bundle.classes.classes
    labels = encoded(bundle.classes, jury.truths)
    return Verdict(outputs, labels, [names[i] for i in outputs.argmax(axis=1)])


def encoded(classes: ClassOrder, labels: Sequence[Any]) -> np.ndarray:
    """Class indices; `UNKNOWN` for labels of classes the model does not have."""
    index: dict[Any, int] = {}
    for i, label in enumerate(labels):
        if label not in index:
            index[label] = _index(classes, label, i)
    return np.asarray([index[label] for label in labels], dtype=np.int64)


def _index(classes: ClassOrder, label: Any, i: int) -> int:
    if is_missing(label):
        raise InputError(f"label {i} is missing", fix="Remove the row or fill it.")
    try:
        return int(classes.encode([label])[0])
    except InputError:
        return UNKNOWN


def compare(before: Verdict, after: Verdict) -> tuple[dict[str, Any], dict[str, Any]]:
    """Figures on the texts known both times, and those of classes that are new."""
    both = before.known & after.known
    old, new = before.figures(both), after.figures(both)
    fresh = after.known & ~before.known
    if fresh.any():
        right = after.outputs[fresh].argmax(axis=1) == after.labels[fresh]
        new.update(examples_new=int(fresh.sum()), accuracy_new=float(right.mean()))
    return old, new


def changed_rows(bundle: Bundle, jury: Jury, before: Verdict, after: Verdict) -> list[ChangedRow]:
    """Texts that are predicted differently now."""
    least = MOVED * bundle.model.config.target_scale if bundle.classes is None else 0.0
    return [
        ChangedRow(row=i, text=jury.inputs[i], truth=jury.truths[i], before=old, after=new)
        for i, (old, new) in enumerate(zip(before.predicted, after.predicted, strict=True))
        if _differs(old, new, least)
    ]


def _differs(old: Label, new: Label, least: float) -> bool:
    if least and isinstance(old, float) and isinstance(new, float):
        return abs(old - new) > least
    return old != new
