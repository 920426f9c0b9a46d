"""Specs and their records → boards, with what is still missing of each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from protofit.bench.arms import arm_of
from protofit.bench.board import Board, Planned
from protofit.bench.labels import PAIR_SETS
from protofit.bench.records import read_runs
from protofit.bench.select import Cell, Record, one_version, without_repeats
from protofit.bench.spec import Spec, read_spec
from protofit.bench.trial import trials_of

MAIN_ENCODER = "e5-small"  # the one on which all arms run


@dataclass(frozen=True)
class Experiment:
    """A spec with its plan and its records."""

    spec: Spec
    planned: tuple[Planned, ...]
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Coverage:
    """How far an experiment is."""

    name: str
    encoder: str
    protocol: str
    cells: int  # data set × size × arm
    missing_cells: int  # with at least one missing run
    runs: int
    missing_runs: int
    failed_runs: int


@dataclass(frozen=True)
class Boards:
    """Everything the tables are made from."""

    experiments: tuple[Experiment, ...]
    boards: dict[tuple[str, str], Board]

    def board(self, encoder: str, protocol: str) -> Board | None:
        """The board of an encoder under a protocol, if it is planned."""
        return self.boards.get((encoder, protocol))

    @property
    def main(self) -> str:
        """The encoder of the main tables: MAIN_ENCODER, or the one with the most planned runs."""
        runs = Counter[str]()
        for (encoder, _), board in self.boards.items():
            runs[encoder] += sum(len(seeds) for seeds in board.plan.values())
        if MAIN_ENCODER in runs or not runs:
            return MAIN_ENCODER
        return runs.most_common(1)[0][0]

    @property
    def others(self) -> list[Board]:
        """Boards of the other encoders."""
        return [board for (encoder, _), board in self.boards.items() if encoder != self.main]

    @property
    def records(self) -> list[Record]:
        """All records that count."""
        return [record for board in self.boards.values() for record in board.records]

    def coverage(self) -> list[Coverage]:
        """A line per experiment."""
        return [_coverage(experiment) for experiment in self.in_order]

    @property
    def in_order(self) -> list[Experiment]:
        """Experiments with the main encoder first."""
        return sorted(self.experiments, key=lambda each: each.spec.encoder != self.main)


def load_experiment(path: Path, records_dir: Path) -> Experiment:
    """Read a spec and the records it names in `records_dir`."""
    spec = read_spec(path)
    planned = tuple(
        (Cell.of(trial.to_dict()), trial.rate, trial.seed)
        for trial in trials_of(spec)
        if arm_of(trial.arm).pairs or trial.data not in PAIR_SETS
    )
    records = read_runs(spec.records_path(path, records_dir)).records
    return Experiment(spec, planned, tuple(records))


def gather(
    experiments: Sequence[Experiment], *, code: str | None = None, mix: bool = False
) -> Boards:
    """Boards of the experiments; figures that are compared come from one code version."""
    groups: dict[tuple[str, str], list[Experiment]] = {}
    for experiment in experiments:
        key = (experiment.spec.encoder, experiment.spec.protocol)
        groups.setdefault(key, []).append(experiment)
    if not mix:
        groups = {key: _same_version(members, code) for key, members in groups.items()}
    boards = {
        key: Board(
            *key,
            planned=[run for member in members for run in member.planned],
            records=[record for member in members for record in member.records],
        )
        for key, members in groups.items()
    }
    return Boards(tuple(member for members in groups.values() for member in members), boards)


def _same_version(members: Sequence[Experiment], code: str | None) -> list[Experiment]:
    records = [record for member in members for record in member.records]
    one_version(records, code, " and ".join(member.spec.name for member in members))
    return [
        replace(member, records=tuple(one_version(member.records, code, member.spec.name)))
        for member in members
    ]


def _coverage(experiment: Experiment) -> Coverage:
    done, failed = set(), 0
    for record in without_repeats(experiment.records):
        trial = record["trial"]
        done.add((Cell.of(trial), float(trial["rate"]), int(trial["seed"])))
        failed += "error" in record
    planned = set(experiment.planned)
    missing = planned - done
    return Coverage(
        name=experiment.spec.name,
        encoder=experiment.spec.encoder,
        protocol=experiment.spec.protocol,
        cells=len({cell for cell, _, _ in planned}),
        missing_cells=len({cell for cell, _, _ in missing}),
        runs=len(planned),
        missing_runs=len(missing),
        failed_runs=failed,
    )
