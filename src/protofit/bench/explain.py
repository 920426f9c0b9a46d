"""What the figures add up to: outcomes per cell, differences over many cells, optimism, ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from protofit.bench.board import Board, Values, compare_cell, difference
from protofit.bench.labels import PAPER_TASKS, Task
from protofit.bench.stats import Comparison, Outcome, RankTest, compare, mean_sd, rank_test

Place = tuple[Task, int]  # a cell of the paper's tables: data set and size


@dataclass(frozen=True)
class Verdict:
    """A method against the best baseline of one cell."""

    task: Task
    size: int
    baseline: str
    comparison: Comparison

    @property
    def outcome(self) -> Outcome:
        """By the bootstrap interval."""
        return self.comparison.outcome

    @property
    def strict(self) -> Outcome:
        """By the paired t interval."""
        interval = self.comparison.student
        return interval.outcome if interval else "tie"


@dataclass(frozen=True)
class Pooled:
    """A paired difference averaged over cells, seed by seed: seeds are the unit."""

    comparison: Comparison
    where: tuple[Place, ...]

    @property
    def cells(self) -> int:
        """How many cells it is averaged over."""
        return len(self.where)


def places(board: Board, sizes: Callable[[int], bool] = lambda _: True) -> list[Place]:
    """The planned cells of the paper's four columns."""
    return [
        (task, size)
        for task in board.tasks
        if task in PAPER_TASKS
        for size in board.sizes(task.data)
        if sizes(size)
    ]


def verdicts(board: Board, arm: str) -> list[Verdict]:
    """The arm against the best baseline, in the cells where it and all baselines are settled."""
    found = []
    for task, size in judged(board, arm):
        best = board.best_baseline(task, size)
        comparison = compare_cell(board, task, size, arm, best) if best else None
        if best and comparison:
            found.append(Verdict(task, size, best, comparison))
    return found


def judged(board: Board, arm: str) -> list[Place]:
    """Cells where the arm and every planned baseline of the paper have all their seeds."""
    return [
        (task, size)
        for task, size in places(board)
        if board.settled(task, size, arm, *board.baselines(task.data, size))
    ]


def pooled(
    first: tuple[Board, str], second: tuple[Board, str], where: Iterable[Place]
) -> Pooled | None:
    """Mean over settled cells of (first − second), per seed; only cells that have all the seeds."""
    (board, arm), (other_board, other) = first, second
    found = {
        (task, size): difference(first, second, task, size)
        for task, size in where
        if board.settled(task, size, arm) and other_board.settled(task, size, other)
    }
    seeds = {seed for values in found.values() for seed in values}
    whole = {place: values for place, values in found.items() if values.keys() == seeds}
    if not whole or len(seeds) < 2:
        return None
    means = [float(np.mean([each[seed] for each in whole.values()])) for seed in sorted(seeds)]
    return Pooled(compare(means), tuple(whole))


def against(board: Board, arm: str, other: str, where: Iterable[Place]) -> list[Comparison]:
    """The arm against another, cell by cell."""
    found = (compare_cell(board, task, size, arm, other) for task, size in where)
    return [comparison for comparison in found if comparison]


def tally(outcomes: Iterable[Outcome]) -> tuple[int, int, int]:
    """Wins, ties, losses."""
    counted = list(outcomes)
    return counted.count("win"), counted.count("tie"), counted.count("loss")


def optimism(board: Board, task: Task, size: int, arm: str) -> Values:
    """Seed → oracle − reported accuracy, in points: never below 0."""
    best = board.values(task, size, arm, oracle=True)
    mine = board.values(task, size, arm)
    return {seed: best[seed] - mine[seed] for seed in mine}


def settled_places(board: Board, where: Iterable[Place], arms: Sequence[str]) -> list[Place]:
    """The cells where all these arms that are planned are settled: means over them compare."""
    planned = [arm for arm in arms if arm in board.arms]
    return [(task, size) for task, size in where if board.settled(task, size, *planned)]


def mean_optimism(board: Board, where: Sequence[Place], arms: Sequence[str]) -> float | None:
    """Mean over cells, arms and seeds; None without a figure."""
    found = [
        value
        for task, size in where
        for arm in arms
        for value in optimism(board, task, size, arm).values()
    ]
    return float(np.mean(found)) if found else None


def ranked(board: Board, arms: Sequence[str]) -> tuple[list[str], RankTest] | None:
    """Arms by average rank over the cells where all of them are settled, best first."""
    rows = []
    for task, size in settled_places(board, places(board), arms):
        values = [board.values(task, size, arm) for arm in arms]
        if all(values):
            rows.append([mean_sd(list(found.values()))[0] for found in values])
    if len(arms) < 3 or len(rows) < 2:
        return None
    test = rank_test(np.array(rows))
    order = [arms[i] for i in np.argsort(test.average, kind="stable")]
    return order, test
