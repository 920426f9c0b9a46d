"""Seeded records that look like those of real runs, for tests of tables, plots and the page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from protofit.bench.spec import Spec, parse_spec
from protofit.bench.trial import Trial, trials_of

CODE = "fakefakefake"
SPLITS = {
    "mnli": ("validation_matched", "validation_mismatched"),
    "stsb": ("validation",),
}
CEILING = {"sst2": 0.92, "qnli": 0.88, "mnli": 0.76, "stsb": 0.88}
BOTTOM = {"sst2": 0.70, "qnli": 0.50, "mnli": 0.33, "stsb": 0.40}
BONUS = {"pfit": 0.012, "pfit-paper": 0.004, "raw-snn": 0.008, "raw-init": 0.005, "probe": -0.09}


def spec_of(**changes: Any) -> Spec:
    values = {
        "name": "fake-fair",
        "encoder": "e5-small",
        "data": ["sst2", "qnli", "mnli"],
        "sizes": [100, 1000],
        "arms": ["raw", "protonet", "imp", "pfit", "pfit-paper"],
        "rates": [2e-5, 1e-4],
        "seeds": [0, 1, 2, 3, 4],
        "protocol": "fair",
        "records": "fake.jsonl",
    }
    return parse_spec({**values, **changes}, "fake")


def record_of(trial: Trial, code: str = CODE) -> dict[str, Any]:
    draw = np.random.default_rng([trial.seed, trial.size, sum(trial.arm.encode()),
                                  int(trial.rate * 1e6), sum(trial.data.encode())])  # fmt: skip
    shared = np.random.default_rng([trial.seed, trial.size]).normal(0, 1.2 / trial.size**0.5)
    rise = 1 - np.exp(-trial.size / 900)
    level = BOTTOM[trial.data] + (CEILING[trial.data] - BOTTOM[trial.data]) * rise
    level += BONUS.get(trial.arm, 0.001 * (sum(trial.arm.encode()) % 9 - 8)) + 0.1 * shared
    if trial.protocol == "paper" and trial.size < 2000:
        level -= 0.06 * (1 - trial.size / 2000)
    level -= 0.01 * (trial.rate < 3e-5)
    held = None
    if trial.size > 200:
        n = round(trial.size * 0.1)
        held = {"n": n, "log_loss": 1 - level}
        held |= {"mse": 1 - level} if trial.data == "stsb" else {"accuracy": round(level * n) / n}
    dev = {}
    for split in SPLITS.get(trial.data, ("validation",)):
        figure = round(float(level + draw.normal(0, 0.06 / trial.size**0.4)), 4)
        if trial.data == "stsb":
            dev[split] = {"n": 1500, "mse": 1.0, "pearson": figure, "spearman": figure - 0.01}
        else:
            dev[split] = {"n": 870, "accuracy": figure, "macro_f1": figure, "log_loss": 0.5,
                          "ece": 0.05}  # fmt: skip
    steps = trial.planned_steps()
    grows = trial.arm.startswith("pf")
    return {
        "key": trial.key(code), "code": code, "trial": trial.to_dict(),
        "subset": f"{trial.data}-{trial.size}-{trial.seed}", "steps": steps, "best_step": None,
        "parameters": 33_000_000, "slice": held, "dev": dev,
        "K": [[s, 2 + round(trial.size**0.3 * 1.5 * s / steps) - (s > steps * 0.8)] for s in
              np.linspace(1, steps, 20).astype(int).tolist()] if grows else None,
        "created": 8 if grows else None, "pruned": 1 if grows else None, "seconds": 1.5,
        "engine": "loop", "device": "cpu",
        "versions": {"protofit": "0", "torch": "2", "transformers": "5"},
    }  # fmt: skip


def failed_record(trial: Trial, code: str = CODE) -> dict[str, Any]:
    return {"key": trial.key(code), "code": code, "trial": trial.to_dict(),
            "error": "the loss of step 7 is nan"}  # fmt: skip


def write_experiment(
    folder: Path, specs: Sequence[Spec], leave_out: Iterable[Trial] = ()
) -> tuple[list[Path], Path]:
    """TOML files and records as the harness writes them."""
    records, absent = folder / "records" / "bench", set(leave_out)
    records.mkdir(parents=True, exist_ok=True)
    (folder / "specs").mkdir(exist_ok=True)
    paths = []
    for spec in specs:
        path = folder / "specs" / f"{spec.name}.toml"
        lines = [f"{key} = {json.dumps(value)}" for key, value in vars(spec).items()]
        path.write_text("\n".join(lines) + "\n")
        runs = [record_of(trial) for trial in trials_of(spec) if trial not in absent]
        with (records / spec.records).open("a") as file:
            file.writelines(json.dumps(run) + "\n" for run in runs)
        paths.append(path)
    return paths, records


FULL_SIZES = [100, 200, 500, 1000, 2000, 5000]
FULL_ARMS = [
    "raw", "protonet", "prosenet", "dpmeans", "imp", "vibert", "bss", "pfit", "pfit-paper",
    "raw-init", "raw-snn", "probe", "imp-exact", "pf-i", "pf-s", "pf-d", "pf-f", "pfit-sc",
]  # fmt: skip


def whole_experiment() -> list[Spec]:
    """Specs of the shape of the real ones."""
    return [
        spec_of(name="e5-fair", sizes=FULL_SIZES, arms=FULL_ARMS, rates=[2e-5, 5e-5, 1e-4],
                records="e5-fair.jsonl"),
        spec_of(name="e5-paper", sizes=FULL_SIZES, arms=[*FULL_ARMS[:9]], protocol="paper",
                rates=[2e-5, 5e-5, 1e-4], records="e5-paper.jsonl"),
        spec_of(name="bge-fair", encoder="bge-small-en-v1.5", sizes=[100, 500, 2000],
                arms=FULL_ARMS[:12], records="bge-fair.jsonl"),
        spec_of(name="stsb", data=["stsb"], arms=["raw", "pfit"], sizes=[100, 500, 5000],
                records="stsb.jsonl"),
    ]  # fmt: skip
