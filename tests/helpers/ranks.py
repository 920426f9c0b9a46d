"""The runs that every data-parallel process of the test does: `ranks.py <encoder> <folder>`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers.quick import ROOMY, exactly, few_tickets
from helpers.runs import make_run

TEXTS, LABELS = few_tickets(24)  # 48
WEIGHTS = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(TEXTS))
SAME = {  # what two processes do alike but for rounding
    **ROOMY,
    **exactly(8),
    "encoder.dropout": 0.0,
    "head.neighbour_weight": 0.0,
    "train.precision": "float32",
    "train.learning_rate": 3e-4,
}
RUNS: dict[str, dict[str, Any]] = {
    "even": {**SAME, "train.batch_size": 8},
    "odd": {**SAME, "train.batch_size": 7},
    "accumulated": {**SAME, "train.batch_size": 9, "train.accumulate": 2},
    "weighted": {**SAME, "train.batch_size": 7},
    "free": {**ROOMY, **exactly(8), "train.batch_size": 7},
    "stopping": {
        **SAME,
        "train.batch_size": 9,
        "train.min_steps": 0,
        "train.max_steps": None,
        "train.epochs": 6,
        "train.validation_share": 0.25,
        "train.patience": 1,
    },
}


def run_of(name: str, encoder: Path) -> Any:
    """The run of this name, not begun."""
    weights = WEIGHTS / WEIGHTS.mean() if name == "weighted" else None
    return make_run(encoder, TEXTS, LABELS, RUNS[name], weights=weights)


def main(encoder: Path, folder: Path) -> None:
    """Do all runs and write what came out on this rank."""
    from safetensors.torch import save_file

    rank = os.environ["RANK"]
    for name in RUNS:
        run = run_of(name, encoder)
        result = run.run()
        save_file(dict(run.model.state_dict()), str(folder / f"{name}-{rank}.safetensors"))
        facts = {"processes": run.accelerator.num_processes, "steps": result.steps}
        facts["score"] = result.best_score
        (folder / f"{name}-{rank}.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
