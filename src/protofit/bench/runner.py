"""Runs what a spec still asks for, and puts every record on disk before the next counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from protofit.bench.clock import Clock
from protofit.bench.engines import Engine, assign, check_engine, likely_engine
from protofit.bench.plan import Pace, Shard, Survey, counts, survey
from protofit.bench.progress import Listener
from protofit.bench.records import Record, RecordFile, Records, check_versions, read_runs
from protofit.bench.spec import Spec, read_spec
from protofit.bench.trial import Trial
from protofit.bench.version import code_version
from protofit.bench.workbench import Places, Workbench
from protofit.errors import InputError


@dataclass(frozen=True)
class Options:
    """How a spec is run on this machine."""

    places: Places = field(default_factory=Places)
    records_dir: Path | None = None
    workers: int = 1
    shard: Shard = field(default_factory=Shard)
    engine: str = "auto"
    ray: bool = False
    mix_versions: bool = False
    minutes: float | None = None  # begin no run after so long
    copies: int | None = None  # runs side by side in a fleet; None: as many as it finds good

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"--workers is {self.workers}", fix="Give at least 1.")
        if self.minutes is not None and not self.minutes > 0:
            raise InputError(f"--minutes is {self.minutes}", fix="Give a number above 0.")
        if self.copies is not None and self.copies < 1:
            raise InputError(f"--copies is {self.copies}", fix="Give at least 1.")
        check_engine(self.engine)
        if self.engine == "fleet" and (self.workers > 1 or self.ray):
            raise InputError(
                "the fleet engine runs in one process",
                where="--engine",
                fix="Leave out --workers and --ray.",
            )


class Bench:
    """A spec with its records: what `plan` and `run` share."""

    def __init__(self, path: Path, options: Options, known: Workbench | None = None) -> None:
        """`known`: a workbench at the same places, whose sets and tokens are used."""
        self.options = options
        self.spec: Spec = read_spec(path)
        self.records_path = self.spec.records_path(path, options.records_dir)
        self.records: Records = read_runs(self.records_path)
        clock = Clock(options.minutes)
        self.workbench = replace(known, clock=clock) if known else Workbench(options.places, clock)

    def survey(self) -> Survey:
        """What is done, waiting and impossible here."""
        options = self.options
        return survey(
            self.spec, self.records, self.workbench, options.shard, mix=options.mix_versions
        )

    def plan(self) -> dict[str, object]:
        """The plan as `bench plan --json` prints it."""
        found = self.survey()
        engine = likely_engine(self.spec.encoder, self._asked, self.workbench)
        pace = Pace(self._beside(), engine, self.workbench.device_name)
        seconds, unknown = pace.estimate(found.waiting)
        return {
            "spec": self.spec.name,
            "records": str(self.records_path),
            "code": code_version(),
            "other_codes": {c: n for c, n in self.records.codes.items() if c != code_version()},
            "torn_line": self.records.torn,
            **totals(found),
            **_elsewhere(found),
            "estimate_for": f"{engine} on {self.workbench.device_name}",
            "estimate_seconds": round(seconds / self.options.workers, 1),
            "recorded_by": pace.others(found.waiting),
            "runs_without_estimate": unknown,
            "skipped_because": _reasons(found),
            "cells": counts(self.spec, found),
        }

    def _beside(self) -> list[Record]:
        """All records of the folder: other specs ran on the same sets and encoders."""
        files = sorted(self.records_path.parent.glob("*.jsonl"))
        return [record for file in files for record in read_runs(file).records]

    def run(self, listener: Listener) -> dict[str, object]:
        """Run what is waiting; returns what `bench run --json` prints."""
        check_versions(
            self.records_path, self.records, code_version(), mix=self.options.mix_versions
        )
        found = self.survey()
        self._refuse_changed(found)
        listener.begin(len(found.waiting), sum(map(_weight, found.waiting)))
        began = time.perf_counter()
        file, failed, finished = RecordFile(self.records_path), 0, 0
        try:
            for record in self._records(found.waiting):
                file.append(record)
                finished += 1
                failed += "error" in record
                listener.advance(record, _weight(Trial(**record["trial"])))
        finally:
            listener.end()
        seconds = time.perf_counter() - began
        return {
            "spec": self.spec.name,
            "records": str(self.records_path),
            "code": code_version(),
            "already_done": len(found.done),
            "run_now": finished,
            "diverged_now": failed,
            "left": len(found.waiting) - finished,
            "skipped": len(found.skipped),
            "skipped_because": _reasons(found),
            "seconds": round(seconds, 1),
            "runs_per_minute": round(60 * finished / seconds, 2) if finished else None,
        }

    def _refuse_changed(self, found: Survey) -> None:
        """A second record of a trial, with other settings, could not be told from the first."""
        if not found.changed:
            return
        arms = ", ".join(sorted({trial.arm for trial in found.changed}))
        raise InputError(
            f"{len(found.changed)} of the records of other code versions have other settings than "
            f"those arms have today ({arms})",
            where=str(self.records_path),
            fix="Move them to another file: they are not the same runs.",
        )

    @property
    def _asked(self) -> str:
        """The engine asked for; side by side only the loop can run."""
        side_by_side = self.options.workers > 1 or self.options.ray
        return "loop" if side_by_side and self.options.engine == "auto" else self.options.engine

    def _records(self, trials: list[Trial]) -> Iterator[Record]:
        for engine, share in assign(trials, self._asked, self.workbench, self.options.copies):
            yield from self._share(engine, share)

    def _share(self, engine: Engine, trials: list[Trial]) -> Iterator[Record]:
        options, clock = self.options, self.workbench.clock
        if engine.name == "loop" and options.ray:
            from protofit.bench.ray_pool import over_ray

            return over_ray(trials, options.places, options.workers, clock)
        if engine.name == "loop" and options.workers > 1:
            from protofit.bench.pool import over_processes

            return over_processes(trials, options.places, options.workers, clock)
        return engine.run(trials, self.workbench)


def totals(found: Survey) -> dict[str, int]:
    """Numbers of runs."""
    done, waiting, skipped = len(found.done), len(found.waiting), len(found.skipped)
    return {
        "runs": done + waiting + skipped,
        "done": done,
        "diverged": len(found.failed),
        "waiting": waiting,
        "skipped": skipped,
    }


def _elsewhere(found: Survey) -> dict[str, int]:
    """What other code versions have run of what is waiting here; nothing where they have not."""
    numbers = {
        "done_by_other_versions": len(found.reusable),
        "done_with_other_settings": len(found.changed),
    }
    return {name: number for name, number in numbers.items() if number}


def _weight(trial: Trial) -> int:
    """Planned steps, for the time left; something even where nothing is trained."""
    return max(1, trial.planned_steps())


def _reasons(found: Survey) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for reason in found.skipped.values():
        reasons[reason] = reasons.get(reason, 0) + 1
    return reasons
