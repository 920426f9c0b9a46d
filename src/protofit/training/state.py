"""Everything that must survive a kill, in one dataclass with one save and one load.

Not in it, because they are functions of (seed, step): batch order, dropout, learning rate.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from protofit.errors import InputError
from protofit.storage.atomic import recover, replace_folder, sweep
from protofit.storage.manifest import read_manifest, write_manifest
from protofit.storage.tensors import load_tensors, save_tensors, writing_folder
from protofit.storage.trace import Row

CHECKPOINT_FORMAT = 1
MANIFEST = "checkpoint.json"
TENSORS = ("model", "optimiser", "best_weights")


@dataclass
class RunState:
    """A run between two steps."""

    fingerprint: str  # of data, settings and encoder: a checkpoint of another run is refused
    step: int = 0  # optimiser steps done
    model: dict[str, Tensor] = field(default_factory=dict)  # encoder, bank, window, clock
    optimiser: dict[str, Tensor] = field(default_factory=dict)  # flat moments and counters
    best_weights: dict[str, Tensor] = field(default_factory=dict)  # early stopping
    best_score: list[float] | None = None
    bad_epochs: int = 0
    stopped: bool = False
    seconds: float = 0.0  # spent in the loop so far
    trace: list[Row] = field(default_factory=list)
    head: dict[str, Any] = field(default_factory=dict)  # head settings as the start resolved them

    def save(self, folder: Path) -> None:
        """Replace the checkpoint at `folder` in one step."""
        with writing_folder(folder), replace_folder(folder) as fresh:
            for name in TENSORS:
                save_tensors(fresh / f"{name}.safetensors", getattr(self, name))
            rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in TENSORS}
            rest["trace"] = [list(row.items()) for row in self.trace]  # JSON keys lose their order
            write_manifest(fresh, {"state": rest}, name=MANIFEST, format_version=CHECKPOINT_FORMAT)

    @classmethod
    def load(cls, folder: Path, fingerprint: str) -> RunState | None:
        """The checkpoint at `folder`; None where nothing was written yet."""
        recover(folder)
        sweep(folder)
        if not folder.exists():
            return None
        content = read_manifest(folder, name=MANIFEST, supported=CHECKPOINT_FORMAT)
        rest = content["state"]
        if not isinstance(rest, dict) or rest.get("fingerprint") != fingerprint:
            raise InputError(
                "the unfinished run here had other data, settings or another encoder",
                where=str(folder.parent),
                fix="Resume with the same arguments, or delete that folder to start anew.",
            )
        tensors: dict[str, Any] = {
            name: load_tensors(folder / f"{name}.safetensors") for name in TENSORS
        }
        rest["trace"] = [dict(row) for row in rest["trace"]]
        return cls(**rest, **tensors)


def describe(value: Any) -> str:
    """Stable JSON of plain settings, for fingerprints."""
    return json.dumps(value, sort_keys=True, default=str)
