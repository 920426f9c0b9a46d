"""Every method loses the same in a fleet as in the training loop, at every single step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from protofit.bench.arms import ARMS
from protofit.bench.fleet.engine import Chunk
from protofit.bench.fleet.fleet import Fleet
from protofit.bench.fleet.task import FleetTask
from protofit.bench.fleet.voyage import Voyage
from protofit.bench.loop_engine import _outcome
from protofit.bench.trial import Trial
from protofit.bench.workbench import Workbench

TRAINED = [name for name, arm in ARMS.items() if arm.method and arm.rated]
LINEAR = ["raw", "raw-init", "bss", "vibert", "pfit", "pfit-paper"]


def asked(arms: list[str], data: str, size: int) -> list[Trial]:
    return [Trial(data, size, arm, "dry", 3e-4, 1, "paper") for arm in arms]


def in_a_fleet(trials: list[Trial], bench: Workbench) -> np.ndarray:
    """Losses (S, R) of the runs side by side."""
    task = FleetTask(trials, bench)
    fleet = Fleet(task.shape, task.small_base(), task.texts, len(trials), 32, torch.float32)
    chunk = Chunk(trials, task, fleet, bench)
    return Voyage(fleet, [chunk.member(trial) for trial in trials], task.labels).run()


def alone(trial: Trial, bench: Workbench) -> list[float]:
    """Loss of every step in the training loop."""
    return [row["loss"] for row in _outcome(trial, bench).trace or []]


@pytest.fixture
def without_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads draw nothing while they train: the engines draw in another order."""

    def half(*shape: Any, dtype: Any = None, device: Any = None) -> Tensor:
        size = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return torch.full(tuple(size), 0.5, dtype=dtype, device=device)

    monkeypatch.setattr("torch.nn.Dropout.forward", lambda _, features: features)
    monkeypatch.setattr("protofit.methods.vibert.torch.randn", half)


def same(found: np.ndarray, wanted: list[float], trial: Trial) -> None:
    """Equal but for rounding: Adam's first steps follow the sign of even the least gradient."""
    assert len(wanted) >= 16
    found = found[: len(wanted)]
    assert found[0] == pytest.approx(wanted[0], rel=1e-5), trial
    np.testing.assert_allclose(found, wanted, rtol=5e-3, atol=1.5e-3, err_msg=str(trial))


@pytest.mark.usefixtures("without_chance")
@pytest.mark.parametrize("size", [100, pytest.param(250, marks=pytest.mark.slow)])
def test_losses_of_every_method(dry_bench: Workbench, size: int) -> None:
    """Without and with a held-back slice; in both the last batch of an epoch is short."""
    trials = asked(TRAINED, "topics", size)
    together = in_a_fleet(trials, dry_bench)
    for r, trial in enumerate(trials):
        same(together[:, r], alone(trial, dry_bench), trial)


@pytest.mark.usefixtures("without_chance")
def test_losses_in_regression(dry_bench: Workbench) -> None:
    trials = asked(LINEAR, "scores", 100)
    together = in_a_fleet(trials, dry_bench)
    for r, trial in enumerate(trials):
        same(together[:, r], alone(trial, dry_bench), trial)


@pytest.mark.usefixtures("without_chance")
def test_a_wrong_rate_would_be_seen(dry_bench: Workbench) -> None:
    """The comparison can fail: twice the rate does not pass."""
    (trial,) = asked(["raw-init"], "topics", 100)
    together = in_a_fleet([trial], dry_bench)
    with pytest.raises(AssertionError):
        same(together[:, 0], alone(replace(trial, rate=2 * trial.rate), dry_bench), trial)
