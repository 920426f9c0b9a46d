"""What a run gave, as the record keeps it: the same for every engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np

from protofit._version import __version__
from protofit.bench.records import Record
from protofit.bench.trial import Trial
from protofit.evaluation.metrics import classification_metrics, regression_metrics
from protofit.storage.trace import Row

POINTS = 20  # of K over the steps
DIGITS = 6
REPORTED = ("accuracy", "macro_f1", "log_loss", "ece", "mse", "pearson", "spearman")
CHOSEN_BY = ("accuracy", "log_loss", "mse")  # figures of the slice


class Diverged(Exception):  # noqa: N818
    """The run left the finite numbers; the sentence goes into the record."""


@dataclass(frozen=True)
class Outcome:
    """Figures of one finished run."""

    subset: str  # hash of the rows it was trained on
    steps: int
    dev: dict[str, dict[str, Any]]  # split → figures
    slice: dict[str, Any] | None = None  # figures on the held-back slice
    best_step: int | None = None  # whose weights were kept, where the slice chose them
    parameters: int | None = None
    trace: list[Row] | None = None


def figures(logits: np.ndarray, labels: np.ndarray, *, regression: bool) -> dict[str, Any]:
    """Figures of log-probabilities (n, C) or values (n, 1); `Diverged` where one is not finite."""
    if not np.isfinite(logits).all():
        raise Diverged("the predictions are not finite")
    if regression:
        full = regression_metrics(logits[:, 0], labels)
    else:
        full = classification_metrics(logits, labels)
    return {"n": len(labels), **{k: _short(full[k]) for k in REPORTED if k in full}}


def slice_figures(logits: np.ndarray, labels: np.ndarray, *, regression: bool) -> dict[str, Any]:
    """What rates are compared by: accuracy, then log-loss; or MSE."""
    full = figures(logits, labels, regression=regression)
    return {k: v for k, v in full.items() if k in ("n", *CHOSEN_BY)}


def _short(value: float | None) -> float | None:
    return None if value is None else round(float(value), DIGITS)


def prototypes_over_steps(trace: list[Row], points: int = POINTS) -> list[list[int]] | None:
    """[[step, K], …]: the first, the last, and evenly chosen ones between; None without K."""
    rows = [row for row in trace if "prototypes" in row]
    if not rows:
        return None
    places = np.unique(np.linspace(0, len(rows) - 1, min(points, len(rows))).round().astype(int))
    return [[int(rows[i]["step"]), int(rows[i]["prototypes"])] for i in places]


def record_of(
    trial: Trial, code: str, outcome: Outcome, *, seconds: float, engine: str, device: str
) -> Record:
    """The record of a finished run."""
    trace = outcome.trace or []
    last = trace[-1] if trace else {}
    return {
        **_head(trial, code),
        "subset": outcome.subset,
        "steps": outcome.steps,
        "best_step": outcome.best_step,
        "parameters": outcome.parameters,
        "slice": outcome.slice,
        "dev": outcome.dev,
        "K": prototypes_over_steps(trace),
        "created": _count(last, "created"),
        "pruned": _count(last, "pruned"),
        **_foot(seconds, engine, device),
    }


def error_record(
    trial: Trial, code: str, error: str, *, seconds: float, engine: str, device: str
) -> Record:
    """The record of a run that diverged: it is done, and has no figures."""
    sentence = " ".join(error.split())
    return {**_head(trial, code), "error": sentence, **_foot(seconds, engine, device)}


def _head(trial: Trial, code: str) -> Record:
    return {"key": trial.key(code), "code": code, "trial": trial.to_dict()}


def _foot(seconds: float, engine: str, device: str) -> Record:
    import torch
    import transformers

    versions = {
        "protofit": __version__, "torch": torch.__version__,
        "transformers": transformers.__version__,
    }  # fmt: skip
    return {
        "seconds": round(seconds, 3), "ended": datetime.now(timezone.utc).isoformat("T", "seconds"),
        "engine": engine, "device": device, "versions": versions,
    }  # fmt: skip


def _count(row: Row, name: str) -> int | None:
    return int(row[name]) if name in row and math.isfinite(row[name]) else None
