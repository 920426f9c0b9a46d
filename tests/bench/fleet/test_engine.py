"""A fleet gives what the training loop gives, run by run."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from protofit.bench.fleet.engine import FleetEngine, VoyagePace
from protofit.bench.fleet.members import make_schedule
from protofit.bench.loop_engine import LoopEngine
from protofit.bench.trial import Trial
from protofit.bench.workbench import Workbench
from protofit.errors import ProtoFitWarning


def trials(arms: list[str], data: str = "topics", size: int = 250) -> list[Trial]:
    return [Trial(data, size, arm, "dry", 1e-3, seed, "paper") for arm in arms for seed in (0, 1)]


def both(dry_bench: Workbench, asked: list[Trial], copies: int) -> list[tuple[Any, Any]]:
    loop = {json.dumps(r["trial"]): r for r in LoopEngine().run(asked, dry_bench)}
    fleet = {json.dumps(r["trial"]): r for r in FleetEngine(copies).run(asked, dry_bench)}
    assert loop.keys() == fleet.keys()
    return [(loop[key], fleet[key]) for key in loop]


@pytest.mark.parametrize("size", [250, 100])
def test_a_fleet_gives_what_the_loop_gives(dry_bench: Workbench, size: int) -> None:
    arms = ["pfit", "pfit-paper", "pfit-sc", "protonet"]
    for loop, fleet in both(dry_bench, trials(arms, size=size), copies=3):
        assert "error" not in loop
        assert fleet["subset"] == loop["subset"]
        assert fleet["steps"] == loop["steps"]
        assert fleet["best_step"] == loop["best_step"]
        assert fleet["K"][-1] == loop["K"][-1] if loop["K"] else fleet["K"] is None
        assert (fleet["created"], fleet["pruned"]) == (loop["created"], loop["pruned"])
        for name, figure in loop["dev"]["validation"].items():
            assert fleet["dev"]["validation"][name] == pytest.approx(figure, abs=0.02), name
        assert (loop["slice"] is None) == (size == 100)
        if loop["slice"]:
            assert fleet["slice"]["log_loss"] == pytest.approx(loop["slice"]["log_loss"], abs=5e-3)


def test_regression_in_a_fleet(dry_bench: Workbench) -> None:
    for loop, fleet in both(dry_bench, trials(["pfit", "raw"], data="scores"), copies=4):
        assert fleet["steps"] == loop["steps"]
        for name in ("pearson", "spearman"):
            assert fleet["dev"]["validation"][name] == pytest.approx(
                loop["dev"]["validation"][name], abs=0.05
            )


def test_methods_without_steps_sail_too(dry_bench: Workbench) -> None:
    for loop, fleet in both(dry_bench, trials(["probe"]), copies=2):
        assert fleet["steps"] == loop["steps"] == 0
        assert fleet["dev"]["validation"]["accuracy"] == loop["dev"]["validation"]["accuracy"]


def test_a_run_that_diverges_is_recorded_alone(dry_bench: Workbench) -> None:
    wild = Trial("topics", 250, "raw", "dry", 1e18, 0, "paper")
    tame = trials(["raw"])[0]
    records = list(FleetEngine(2).run([wild, tame], dry_bench))
    assert "error" in records[0]
    assert "error" not in records[1]


def test_every_row_once_an_epoch(dry_bench: Workbench) -> None:
    import torch

    from protofit.bench.fleet.engine import Chunk
    from protofit.bench.fleet.fleet import Fleet
    from protofit.bench.fleet.task import FleetTask

    asked = trials(["raw"], size=300)
    task = FleetTask(asked, dry_bench)
    fleet = Fleet(task.shape, task.small_base(), task.texts, 2, 32, torch.float32)
    chunk = Chunk(asked, task, fleet, dry_bench)
    members = [chunk.member(trial) for trial in asked]
    schedule = make_schedule(members, task.texts.widths)
    for r, member in enumerate(members):
        each = member.plan.steps_per_epoch
        for epoch in range(2):
            part = slice(epoch * each, (epoch + 1) * each)
            real = schedule.weights[part, r] > 0
            assert sorted(schedule.rows[part, r][real]) == sorted(member.rows)
            np.testing.assert_allclose(schedule.weights[part, r].mean(axis=1), 1, rtol=1e-6)


ALL = ["raw", "raw-init", "raw-snn", "protonet", "prosenet", "dpmeans", "imp", "imp-exact",
       "vibert", "bss", "pfit", "pf-i", "pf-s", "pf-d", "pf-f"]  # fmt: skip


def test_every_method_sails(dry_bench: Workbench) -> None:
    asked = [trial for trial in trials(ALL) if trial.seed == 0]
    for record in FleetEngine(len(ALL)).run(asked, dry_bench):
        assert "error" not in record, record
        assert 16 <= record["steps"] <= 40  # the slice may end it
        assert record["dev"]["validation"]["accuracy"] > 0.3


class Storm:
    """Lets voyages of fleets break: those whose number is named, or all of a kind."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, breaks: Any, error: Exception) -> None:
        from protofit.bench.fleet import engine, fleet

        self.fast: list[bool] = []
        real = engine.Chunk.records

        def records(chunk: Any) -> Any:
            self.fast.append(chunk.fleet.fast)
            if breaks(len(self.fast), chunk.fleet.fast):
                raise error
            return real(chunk)

        monkeypatch.setattr(engine.Chunk, "records", records)
        wanted = property(lambda harbour: harbour.breaks < engine.BREAKS)
        monkeypatch.setattr(engine.Harbour, "fast", wanted)
        plain = fleet.StackedEncoder
        for name, like in (("StackedEncoder", plain), ("StackedAdam", fleet.StackedAdam)):
            slow = functools.partial(_slowly, like)
            monkeypatch.setattr(fleet, name, slow)
        monkeypatch.setattr(fleet.Fleet, "make_pool", lambda _: None)


def _slowly(kind: Any, *arguments: Any, fast: bool) -> Any:
    """No kernels on a processor, whatever is asked for."""
    return kind(*arguments)


FOUR = [Trial("topics", 100, "raw", "dry", 1e-3, seed, "paper") for seed in range(4)]


def test_what_breaks_in_fast_code_is_done_by_plain_operations(
    dry_bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only RuntimeErrors: compilers of kernels have their own. Twice is enough."""
    storm = Storm(monkeypatch, lambda _, fast: fast, ValueError("no kernel image"))
    with pytest.warns(ProtoFitWarning, match="ValueError: no kernel image"):
        records = list(FleetEngine(1).run(FOUR, dry_bench))
    assert [record["trial"]["seed"] for record in records] == [0, 1, 2, 3]
    assert storm.fast == [True, False, True, False, False, False]


def test_one_broken_voyage_does_not_slow_the_others(
    dry_bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    storm = Storm(monkeypatch, lambda number, _: number == 2, RuntimeError("out of memory"))
    with pytest.warns(ProtoFitWarning, match="out of memory"):
        records = list(FleetEngine(2).run(FOUR, dry_bench))
    assert len(records) == 4
    assert storm.fast == [True, True, False]


def test_a_voyage_that_fails_for_good_is_left_out(
    dry_bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    Storm(monkeypatch, lambda number, _: number in (3, 4), RuntimeError("singular"))
    with pytest.warns(ProtoFitWarning, match="1 runs are left for another time"):
        records = list(FleetEngine(1).run(FOUR, dry_bench))
    assert [record["trial"]["seed"] for record in records] == [0, 1, 3]


def test_a_device_that_is_gone_ends_the_run(
    dry_bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    storm = Storm(monkeypatch, lambda *_: True, RuntimeError("illegal memory access"))
    with pytest.warns(ProtoFitWarning), pytest.raises(RuntimeError, match="illegal"):
        list(FleetEngine(1).run(FOUR, dry_bench))
    assert len(storm.fast) == 4


def test_longer_voyages_are_expected_to_take_longer() -> None:
    pace = VoyagePace()
    short, long = FOUR[0], replace(FOUR[0], size=5000)
    assert pace.seconds(long) == 0
    pace.note(short, 2.0)
    ratio = long.planned_steps() / short.planned_steps()
    assert pace.seconds(short) == 2.0
    assert pace.seconds(long) == pytest.approx(2.0 * ratio)
    pace.note(long, 9.0)
    assert pace.seconds(short) == 9.0
