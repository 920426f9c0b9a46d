"""The engine that is the library's own training loop, one run after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from protofit.bench.outcome import (
    Diverged,
    Outcome,
    error_record,
    figures,
    record_of,
    slice_figures,
)
from protofit.bench.records import Record
from protofit.bench.trial import Trial
from protofit.bench.version import code_version
from protofit.bench.workbench import Workbench, take_tokens
from protofit.errors import InputError, ProtoFitError
from protofit.estimators.fitting import standardise
from protofit.model.build import build_model, suit_attention
from protofit.model.inference import predict_logits
from protofit.randomness import stream_seed
from protofit.training.loop import Run, RunOptions, TrainData
from protofit.training.reporter import Reporter

LinAlgError: type[Exception] = torch.linalg.LinAlgError  # type: ignore[attr-defined]


class LoopEngine:
    """Trains with `training/loop.py`."""

    name = "loop"

    def accepts(self, trial: Trial) -> bool:
        """Every method of the library."""
        return not trial.external

    def run(self, trials: Sequence[Trial], bench: Workbench) -> Iterator[Record]:
        """In the given order."""
        for trial in trials:
            if not bench.clock.allows():
                return
            yield run_trial(trial, bench)


def run_trial(trial: Trial, bench: Workbench) -> Record:
    """Train, measure, record; a run that diverges gives a record that says so."""
    began = time.perf_counter()
    code = code_version()
    where = {"engine": LoopEngine.name, "device": bench.device_name}
    try:
        outcome = _outcome(trial, bench)
    except InputError:
        raise
    except (Diverged, ProtoFitError, LinAlgError) as error:
        seconds = time.perf_counter() - began
        return error_record(trial, code, str(error), seconds=seconds, **where)
    return record_of(trial, code, outcome, seconds=time.perf_counter() - began, **where)


def _outcome(trial: Trial, bench: Workbench) -> Outcome:
    labelled, tokens = bench.set(trial.data), bench.tokens(trial)
    rows = labelled.subset(trial.size, trial.seed)
    data = TrainData(take_tokens(tokens.pool, rows), labelled.train.labels[rows])
    model = _model(trial, bench, data)
    run = Run(model, data, trial.settings().train, trial.seed,
              RunOptions(device=bench.places.device), Reporter())  # fmt: skip
    result = run.run()
    regression = labelled.classes is None
    dev = {
        split: figures(predict_logits(model, tokens.dev[split]), part.labels, regression=regression)
        for split, part in labelled.dev.items()
    }
    held = None
    if len(run.held):
        logits = predict_logits(model, data.tokens, run.held)
        held = slice_figures(logits, data.labels[run.held], regression=regression)
    return Outcome(
        subset=labelled.subset_hash(rows),
        steps=result.steps,
        dev=dev,
        slice=held,
        best_step=_best_step(run, result.steps),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        trace=result.trace,
    )


def _model(trial: Trial, bench: Workbench, data: TrainData) -> Any:
    """A fresh model; what it draws depends on the trial's seed alone."""
    classes = bench.set(trial.data).classes
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(trial.seed, "build"))
        model, _ = build_model(bench.encoder(trial.encoder), trial.settings(), classes)
    if classes is None:
        standardise(model, np.asarray(data.labels))
    suit_attention(model, bench.device.type)
    return model


def _best_step(run: Run, steps: int) -> int | None:
    """The last step of the epoch whose weights were kept."""
    if run.stopping.best is None:
        return None
    epoch = run.plan.steps_per_epoch
    return (steps // epoch - run.stopping.bad_epochs) * epoch
