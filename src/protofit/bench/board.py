"""All figures of one encoder and protocol: what tables, plots and sentences ask.

Only planned runs count, and a seed counts once all its planned learning rates have been run: a
choice among some of the rates would not be the choice the plan describes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from protofit.bench.labels import BASELINES, KNOWN_TASKS, STSB, Task, in_order
from protofit.bench.select import Cell, Choice, Record, select
from protofit.bench.stats import Comparison, compare, mean_sd
from protofit.errors import InputError

Planned = tuple[Cell, float, int]  # cell, learning rate, seed
Values = dict[int, float]  # seed → figure
AS_PERCENT = frozenset({"accuracy", "macro_f1", "pearson", "spearman"})


@dataclass(frozen=True)
class Score:
    """Mean and deviation over the seeds that are there."""

    mean: float
    sd: float | None
    seeds: int
    planned: int  # seeds planned
    failed: int  # seeds without any run that ended well

    @property
    def complete(self) -> bool:
        """Every planned seed has been run (failed or not)."""
        return self.seeds + self.failed >= self.planned


class Board:
    """Choices of one (encoder, protocol), restricted to the plan."""

    def __init__(
        self, encoder: str, protocol: str, planned: Iterable[Planned], records: Iterable[Record]
    ) -> None:
        self.encoder = encoder
        self.protocol = protocol
        self.plan: dict[Cell, dict[int, set[float]]] = {}
        for cell, rate, seed in planned:
            if (cell.encoder, cell.protocol) == (encoder, protocol):
                self.plan.setdefault(cell, {}).setdefault(seed, set()).add(rate)
        self.records = [record for record in records if self._is_planned(record)]
        self.choices = self._complete_choices()

    def _is_planned(self, record: Record) -> bool:
        trial = record["trial"]
        rates = self.plan.get(Cell.of(trial), {}).get(int(trial["seed"]), set())
        return float(trial["rate"]) in rates

    def _complete_choices(self) -> dict[Cell, dict[int, Choice]]:
        return {
            cell: {
                seed: choice
                for seed, choice in seeds.items()
                if len(choice.runs) + len(choice.failures) == len(self.plan[cell][seed])
            }
            for cell, seeds in select(self.records).items()
        }

    @cached_property
    def tasks(self) -> list[Task]:
        """Known tasks in the paper's order, then other (data, split) pairs of the records."""
        data = {cell.data for cell in self.plan}
        known = [task for task in KNOWN_TASKS if task.data in data]
        others = {
            (str(record["trial"]["data"]), str(split))
            for record in self.records
            for split in record.get("dev", {})
            if record["trial"]["data"] not in {task.data for task in KNOWN_TASKS}
        }
        single = {name: sum(other == name for other, _ in others) == 1 for name, _ in others}
        return known + [
            Task(name, split, name if single[name] else f"{name} {split}")
            for name, split in sorted(others)
        ]

    @property
    def classification_tasks(self) -> list[Task]:
        """Tasks measured by accuracy."""
        return [task for task in self.tasks if task != STSB]

    @cached_property
    def arms(self) -> list[str]:
        """Planned arms in the order of the tables."""
        return in_order({cell.arm for cell in self.plan})

    def arms_on(self, data: str) -> list[str]:
        """Planned arms of a data set."""
        return in_order({cell.arm for cell in self.plan if cell.data == data})

    def sizes(self, data: str) -> list[int]:
        """Planned sizes of a data set."""
        return sorted({cell.size for cell in self.plan if cell.data == data})

    def cell(self, data: str, size: int, arm: str) -> Cell:
        """The cell of this board."""
        return Cell(data, size, arm, self.encoder, self.protocol)

    def seeds(self, task: Task, size: int, arm: str) -> Mapping[int, Choice]:
        """Finished seeds of a cell."""
        return self.choices.get(self.cell(task.data, size, arm), {})

    def values(
        self, task: Task, size: int, arm: str, metric: str = "accuracy", *, oracle: bool = False
    ) -> Values:
        """Seed → reported (or oracle) figure; accuracies and correlations in percent."""
        scale = 100.0 if metric in AS_PERCENT else 1.0
        found: Values = {}
        for seed, choice in self.seeds(task, size, arm).items():
            read = choice.oracle if oracle else choice.reported
            value = read(task.split, metric)
            if value is not None:
                found[seed] = scale * value
        return found

    def score(self, task: Task, size: int, arm: str, metric: str = "accuracy") -> Score | None:
        """Mean ± sd of a cell; None where no seed is finished."""
        seeds = self.seeds(task, size, arm)
        if not seeds:
            return None
        values = list(self.values(task, size, arm, metric).values())
        failed = sum(choice.chosen is None for choice in seeds.values())
        planned = len(self.plan[self.cell(task.data, size, arm)])
        mean, sd = mean_sd(values) if values else (float("nan"), None)
        return Score(mean, sd, len(values), planned, failed)

    def settled(self, task: Task, size: int, *arms: str) -> bool:
        """Whether every planned seed of these arms has been run, failed or not."""
        scores = [self.score(task, size, arm) for arm in arms]
        return all(score is not None and score.complete for score in scores)

    def baselines(self, data: str, size: int) -> list[str]:
        """The paper's seven, as far as they are planned for this cell."""
        return [arm for arm in BASELINES if self.cell(data, size, arm) in self.plan]

    def best_baseline(self, task: Task, size: int, metric: str = "accuracy") -> str | None:
        """The arm of the highest mean among the paper's seven baselines that are there."""
        means = {}
        for arm in BASELINES:
            values = self.values(task, size, arm, metric)
            if values:
                means[arm] = mean_sd(list(values.values()))[0]
        return max(means, key=means.__getitem__) if means else None


def difference(
    first: tuple[Board, str], second: tuple[Board, str], task: Task, size: int,
    metric: str = "accuracy",
) -> Values:  # fmt: skip
    """Seed → first arm minus second arm, over the seeds both have, on the same subsets."""
    (board, arm), (other_board, other) = first, second
    mine = board.values(task, size, arm, metric)
    theirs = other_board.values(task, size, other, metric)
    common = sorted(mine.keys() & theirs.keys())
    for seed in common:
        subset = board.seeds(task, size, arm)[seed].subset
        if subset != other_board.seeds(task, size, other)[seed].subset:
            raise InputError(
                f"{arm} and {other} were trained on different subsets at seed {seed}",
                where=f"{task.name} {size} ({board.encoder}, {board.protocol})",
                fix="Run one of them again: a comparison needs the same subset.",
            )
    return {seed: mine[seed] - theirs[seed] for seed in common}


def compare_cell(board: Board, task: Task, size: int, arm: str, other: str) -> Comparison | None:
    """Paired comparison of two arms of a cell; None below two common seeds."""
    values = difference((board, arm), (board, other), task, size)
    return compare(list(values.values())) if len(values) > 1 else None
