"""External arms: programs of others, in their own environment, on the same subsets.

A program gets a folder with `job.json` and the texts as JSON lines, and leaves `result.json`:
log-probabilities (or values) of every split, which are measured here like everybody else's, its
steps, and the versions of what it used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from protofit.bench.arms import arm_of
from protofit.bench.data import LabelledSet
from protofit.bench.outcome import (
    Diverged,
    Outcome,
    error_record,
    figures,
    record_of,
    slice_figures,
)
from protofit.bench.protocols import PROTOCOLS
from protofit.bench.records import Record
from protofit.bench.trial import Trial
from protofit.bench.version import code_version
from protofit.bench.workbench import Places, Workbench
from protofit.data.batches import split_slice
from protofit.errors import ProtoFitError


class PeerEngine:
    """Starts a process for each trial."""

    name = "peer"

    def accepts(self, trial: Trial) -> bool:
        """The arms of others."""
        return trial.external

    def run(self, trials: Sequence[Trial], bench: Workbench) -> Iterator[Record]:
        """In the given order."""
        for trial in trials:
            if not bench.clock.allows():
                return
            yield _run(trial, bench)


def why_not(trial: Trial, places: Places, *, paired: bool) -> str | None:
    """Why a trial of an external arm cannot be run here; None if it can."""
    if not trial.external:
        return None
    if paired and not arm_of(trial.arm).pairs:
        return f"{trial.arm} takes single texts only, and {trial.data} holds pairs"
    if _script(trial, places) is None:
        return f"its script peers/{_script_name(trial)} is not beside the specs"
    if places.peers_python is None:
        return "no --peers-python was given"
    return None


def _script_name(trial: Trial) -> str:
    return f"{trial.arm.replace('-', '_')}_run.py"


def _script(trial: Trial, places: Places) -> Path | None:
    script = None if places.peers_dir is None else places.peers_dir / _script_name(trial)
    return script if script is not None and script.is_file() else None


def _run(trial: Trial, bench: Workbench) -> Record:
    began = time.perf_counter()
    code = code_version()
    where = {"engine": PeerEngine.name, "device": bench.device_name}
    try:
        outcome, versions = _outcome(trial, bench)
    except Diverged as error:
        seconds = time.perf_counter() - began
        return error_record(trial, code, str(error), seconds=seconds, **where)
    record = record_of(trial, code, outcome, seconds=time.perf_counter() - began, **where)
    return {**record, "versions": {"protofit": record["versions"]["protofit"], **versions}}


def _outcome(trial: Trial, bench: Workbench) -> tuple[Outcome, dict[str, str]]:
    """What it gave, and the versions of the packages it used."""
    labelled = bench.set(trial.data)
    rows = labelled.subset(trial.size, trial.seed)
    kept, held = _split(trial, labelled, rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_job(folder, trial, bench, kept, held)
        result = _call(trial, bench.places, folder)
    regression = labelled.classes is None
    logits = {split: np.asarray(values, np.float64) for split, values in result["logits"].items()}
    dev = {
        split: figures(logits[split], part.labels, regression=regression)
        for split, part in labelled.dev.items()
    }
    chosen = None
    if len(held):
        truth = labelled.train.labels[held]
        chosen = slice_figures(logits["slice"], truth, regression=regression)
    outcome = Outcome(
        subset=labelled.subset_hash(rows),
        steps=int(result["steps"]),
        dev=dev,
        slice=chosen,
        best_step=result.get("best_step"),
        parameters=result.get("parameters"),
    )
    return outcome, result["versions"]


def _split(trial: Trial, labelled: LabelledSet, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows to train on and the slice: those that every other method has at this seed."""
    share = PROTOCOLS[trial.protocol].train_config(trial.size, trial.rate).validation_share
    if not share or not arm_of(trial.arm).rated:
        return rows, rows[:0]
    strata = None if labelled.classes is None else labelled.train.labels[rows]
    kept, held = split_slice(strata, len(rows), share, trial.seed)
    return rows[kept], rows[held]


def _write_job(
    folder: Path, trial: Trial, bench: Workbench, kept: np.ndarray, held: np.ndarray
) -> None:
    labelled = bench.set(trial.data)
    train = PROTOCOLS[trial.protocol].train_config(trial.size, trial.rate)
    pool = labelled.train
    _write_rows(folder / "train.jsonl", pool.inputs, pool.labels, kept)
    splits = {"slice": (pool, held)} if len(held) else {}
    splits |= {name: (part, np.arange(len(part))) for name, part in labelled.dev.items()}
    for name, (part, rows) in splits.items():
        _write_rows(folder / f"{name}.jsonl", part.inputs, part.labels, rows)
    job = {
        "encoder": bench.encoder(trial.encoder).location,
        "classes": 0 if labelled.classes is None else len(labelled.classes),
        "splits": list(splits),
        "seed": trial.seed,
        "steps": trial.planned_steps(),
        "rate": trial.rate,
        "batch_size": train.batch_size,
        "patience": train.patience,
        "max_length": 128,
        "device": bench.device.type,
    }
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")


def _write_rows(path: Path, inputs: Sequence[Any], labels: np.ndarray, rows: np.ndarray) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            texts = inputs[row]
            parts = [texts] if isinstance(texts, str) else list(texts)
            file.write(json.dumps({"texts": parts, "label": labels[row].item()}) + "\n")


def _call(trial: Trial, places: Places, folder: Path) -> dict[str, Any]:
    command = [places.peers_python or sys.executable, str(_script(trial, places)), str(folder)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(  # noqa: S603 - the interpreter that the user named
        command, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise ProtoFitError(
            f"the program failed ({_reason(done.returncode, done.stderr)})",
            where=str(trial),
            fix="What is recorded is kept; run again when it is mended.",
        )
    result: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return result


def _reason(code: int, said: str) -> str:
    """The signal that ended it, or the last line of its complaint that is no progress bar."""
    if code < 0:
        return f"ended by signal {-code}"
    lines = [line.strip() for line in said.replace("\r", "\n").splitlines()]
    told = [line for line in lines if line and "it/s]" not in line and "s/it]" not in line]
    return (told or [f"exit code {code}"])[-1][:300]
