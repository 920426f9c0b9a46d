"""The critical-difference diagram: average ranks on a line, bars over what does not differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from protofit.bench.plot_data import RankPlot
from protofit.bench.plot_style import COLOURS, Theme, save, styled

ROW = 0.24  # height of a label, in inches
HIGHLIGHTED = ("pfit", "pfit-paper")


def draw_ranks(data: RankPlot, folder: Path, name: str, theme: Theme, *, title: str) -> list[Path]:
    """Best on the left; names of the better half on the left side, of the others on the right."""
    count = len(data.ranks)
    rows = (count + 1) // 2
    depth = 0.75 + 0.14 * len(data.groups)  # from the line to the first label, in rows
    with styled(theme) as figure_class:
        height = ROW * (rows + depth + 4.1) + 0.2
        figure = figure_class(figsize=(7.4, height), layout="constrained")
        axis = figure.subplots()
        axis.set_xlim(0.6 - 0.28 * count, count + 0.4 + 0.28 * count)
        axis.set_ylim(-(rows + depth + 0.6), 2.8)
        axis.axis("off")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        _scale(axis, count, data.critical, theme)
        _groups(axis, data, theme)
        for place in range(count):
            _label(axis, data, place, rows, depth, theme)
        return save(figure, folder, name, theme, data)


def _scale(axis: Any, count: int, critical: float, theme: Theme) -> None:
    axis.plot([1, count], [0, 0], color=theme.quiet, linewidth=1)
    for rank in range(1, count + 1):
        axis.plot([rank, rank], [0, 0.18], color=theme.quiet, linewidth=1)
        axis.text(rank, 0.35, str(rank), ha="center", va="bottom", color=theme.quiet, fontsize=8)
    axis.plot([1, 1 + critical], [2, 2], color=theme.ink, linewidth=1.2)
    for end in (1, 1 + critical):
        axis.plot([end, end], [1.85, 2.15], color=theme.ink, linewidth=1.2)
    axis.text(
        1 + critical + 0.1, 2, f"critical difference {critical:.2f}", va="center", fontsize=8.5
    )


def _groups(axis: Any, data: RankPlot, theme: Theme) -> None:
    for level, (first, last) in enumerate(data.groups):
        height = -0.3 - 0.3 * level
        ends = [data.ranks[first] - 0.06, data.ranks[last] + 0.06]
        axis.plot(ends, [height, height], color=theme.ink, linewidth=3.2)


def _label(axis: Any, data: RankPlot, place: int, rows: int, depth: float, theme: Theme) -> None:
    rank, arm, count = data.ranks[place], data.arms[place], len(data.ranks)
    left = place < rows
    row = place if left else count - 1 - place
    height = -(depth + 0.6 + row)
    edge = 0.7 if left else count + 0.3
    loud = arm in HIGHLIGHTED
    colour = COLOURS[arm] if loud else theme.quiet
    axis.plot(
        [rank, rank, edge], [0, height, height], color=colour, linewidth=1.6 if loud else 0.8,
        solid_joinstyle="round", zorder=3 if loud else 2,
    )  # fmt: skip
    axis.text(
        edge + (-0.08 if left else 0.08), height, f"{data.labels[place]}  {rank:.2f}",
        ha="right" if left else "left", va="center", fontsize=8.5,
        color=colour if loud else theme.ink, fontweight="bold" if loud else "normal",
    )  # fmt: skip
