"""What the plots show, taken from the boards; matplotlib is not needed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from protofit.bench.board import Board, compare_cell, difference
from protofit.bench.explain import ranked
from protofit.bench.labels import BASELINES, OURS, PAPER_TASKS, Task, arm_name
from protofit.bench.stats import cliques, mean_sd

SHARES = tuple(i / 20 for i in range(21))  # of the steps, at which K is read
DIGITS = 4


@dataclass(frozen=True)
class Bar:
    """A difference with its interval, in points."""

    arm: str
    size: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """A curve with a label at its end."""

    arm: str
    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    """One small plot: bars or lines."""

    title: str
    bars: tuple[Bar, ...] = ()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class RankPlot:
    """Arms by average rank, and the groups that do not differ."""

    labels: tuple[str, ...]
    arms: tuple[str, ...]
    ranks: tuple[float, ...]
    critical: float
    groups: tuple[tuple[int, int], ...]
    blocks: int


def difference_panels(
    board: Board, arms: Sequence[str], reference: str, tasks: Sequence[str]
) -> list[Panel]:
    """Per task: arm − reference at every size."""
    panels = []
    for task in board.tasks:
        bars = [
            Bar(arm, size, *_rounded(found.mean, found.bootstrap.low, found.bootstrap.high))
            for size in board.sizes(task.data)
            for arm in arms
            if task.name in tasks
            and board.settled(task, size, arm, reference)
            and (found := compare_cell(board, task, size, arm, reference))
        ]
        if bars:
            panels.append(Panel(task.name, bars=tuple(bars)))
    return panels


def curve_panels(board: Board, reference: str | None = None) -> list[Panel]:
    """Per task of the paper: accuracy against N (minus that of `reference`), a line per arm."""
    panels = []
    for task in board.tasks:
        if task in PAPER_TASKS:
            lines = [_curve(board, task, arm, reference) for arm in board.arms]
            panels.append(Panel(task.name, lines=tuple(line for line in lines if line.x)))
    return [panel for panel in panels if panel.lines]


def _curve(board: Board, task: Task, arm: str, reference: str | None) -> Line:
    means = {}
    for size in board.sizes(task.data):
        main = [each for each in (*BASELINES, *OURS) if each in board.arms_on(task.data)]
        if not board.settled(task, size, arm, *main):
            continue  # a mean over other seeds would bend the curve
        values = board.values(task, size, arm)
        if reference:
            values = difference((board, arm), (board, reference), task, size)
        if values:
            means[float(size)] = mean_sd(list(values.values()))[0]
    return Line(arm, arm_name(arm), tuple(means), _rounded(*means.values()))


def prototype_panels(board: Board, arms: Sequence[str] = OURS) -> list[Panel]:
    """Per data set and arm: the mean number of prototypes over the share of the steps, per N."""
    panels = []
    names = {task.data: task.name.partition("-m")[0] for task in board.tasks if task in PAPER_TASKS}
    for arm in arms:
        for data, name in names.items():
            lines = []
            for size in board.sizes(data):
                curve = _prototypes(board, data, size, arm)
                if curve:
                    lines.append(Line(arm, f"{size:,}", SHARES, curve))
            if lines:
                panels.append(Panel(f"{name}, {arm_name(arm)}", lines=tuple(lines)))
    return panels


def _prototypes(board: Board, data: str, size: int, arm: str) -> tuple[float, ...]:
    """Mean over seeds of K at SHARES of the steps of the chosen runs; once all seeds are there."""
    curves, cell = [], board.cell(data, size, arm)
    choices = board.choices.get(cell, {})
    if len(choices) < len(board.plan.get(cell, {})):
        return ()
    for choice in choices.values():
        if choice.chosen and choice.chosen.get("K"):
            steps, counts = np.array(choice.chosen["K"]).T
            places = np.array(SHARES) * steps[-1]
            before = np.searchsorted(steps, places, side="right") - 1
            curves.append(counts[before.clip(0)])
    return _rounded(*np.mean(curves, axis=0)) if curves else ()


def rank_plot(board: Board) -> RankPlot | None:
    """The seven baselines and PFit by average rank."""
    arms = [arm for arm in (*BASELINES, *OURS) if arm in board.arms]
    found = ranked(board, arms)
    if found is None:
        return None
    order, test = found
    ranks = sorted(test.average)
    groups = cliques(ranks, test.critical)
    labels = tuple(map(arm_name, order))
    critical = round(test.critical, DIGITS)
    return RankPlot(labels, tuple(order), _rounded(*ranks), critical, tuple(groups), test.blocks)


def _rounded(*values: float) -> tuple[float, ...]:
    return tuple(round(float(value), DIGITS) for value in values)
