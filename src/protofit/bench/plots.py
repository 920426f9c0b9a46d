"""Bars with intervals, accuracy against N, prototypes over the steps: small multiples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from protofit.bench.labels import arm_name
from protofit.bench.plot_data import Bar, Line, Panel
from protofit.bench.plot_style import Theme, colours, save, spread, styled

LOUD = 6  # at most so many highlighted lines
CURVES_ABREAST = 2
SHADES = ("#e0a030", "#d67236", "#c04a50", "#98417a", "#6d4b9e", "#4660b0")  # small N to large N


def draw_bars(
    panels: Sequence[Panel], folder: Path, name: str, theme: Theme, *, title: str, unit: str
) -> list[Path]:
    """Differences to a reference, a group of bars per size; whiskers are bootstrap intervals."""
    arms = list(dict.fromkeys(bar.arm for panel in panels for bar in panel.bars))
    with styled(theme) as figure_class:
        width = max(5.2, 0.8 + 2.2 * len(panels) + 0.3 * len(arms) * len(panels))
        figure = figure_class(figsize=(width, 3.2), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        palette = colours(arms)
        for axis, panel in zip(axes, panels, strict=True):
            _bars(axis, panel.bars, arms, palette, theme)
            axis.set_title(panel.title)
            axis.set_xlabel("training examples")
        axes[0].set_ylabel(unit)
        entries = [(arm_name(arm), palette[arm]) for arm in arms] if len(arms) > 1 else []
        _heading(figure, title, entries)
        return save(figure, folder, name, theme, panels)


def _bars(
    axis: Any, bars: Sequence[Bar], arms: Sequence[str], palette: dict[str, str], theme: Theme
) -> None:
    sizes = sorted({bar.size for bar in bars})
    thick = 0.8 / len(arms)
    for bar in bars:
        place = sizes.index(bar.size) + (arms.index(bar.arm) - (len(arms) - 1) / 2) * thick
        axis.bar(place, bar.mean, thick * 0.86, color=palette[bar.arm], linewidth=0)
        axis.plot([place, place], [bar.low, bar.high], color=theme.ink, linewidth=1)
    axis.axhline(0, color=theme.ink, linewidth=0.9)
    axis.set_xticks(range(len(sizes)), [_short(size) for size in sizes])
    axis.grid(axis="y")
    axis.spines[["bottom", "left"]].set_visible(False)


def draw_curves(
    panels: Sequence[Panel], folder: Path, name: str, theme: Theme, *, title: str,
    unit: str,
    loud: Sequence[str],
) -> list[Path]:  # fmt: skip
    """Accuracy against N: highlighted lines are named at their end, the others are grey."""
    loud = list(loud)[:LOUD]
    rows = -(-len(panels) // CURVES_ABREAST)
    with styled(theme) as figure_class:
        figure = figure_class(figsize=(9.2, 0.6 + 3.2 * rows), layout="constrained")
        grid = figure.subplots(rows, CURVES_ABREAST, squeeze=False).ravel()
        palette = colours(loud)
        for axis, panel in zip(grid, panels, strict=False):
            _curves(axis, panel.lines, loud, palette, theme)
            axis.set_title(panel.title)
        for axis in grid[len(panels) :]:
            axis.set_visible(False)
        for axis in grid[::CURVES_ABREAST]:
            axis.set_ylabel(unit)
        _heading(figure, title, [])
        return save(figure, folder, name, theme, panels)


def _curves(
    axis: Any, lines: Sequence[Line], loud: Sequence[str], palette: dict[str, str], theme: Theme
) -> None:
    for line in lines:
        if line.arm not in loud:
            axis.plot(line.x, line.y, color=theme.faint, linewidth=1)
    named = [line for line in lines if line.arm in loud]
    for line in sorted(named, key=lambda line: -loud.index(line.arm)):
        colour = palette[line.arm]
        axis.plot(line.x, line.y, color=colour, marker="o", markersize=3.5)
    if any(y < 0 for line in lines for y in line.y):  # differences: far lines leave the frame
        axis.axhline(0, color=theme.ink, linewidth=0.9, zorder=1)
        _fit(axis, named)
    axis.set_xscale("log")
    sizes = sorted({x for line in lines for x in line.x})
    axis.set_xticks(sizes, [_short(size) for size in sizes])
    axis.minorticks_off()
    axis.grid(axis="y")
    axis.set_xlabel("training examples")
    if named:
        _name_ends(axis, named, palette)


def _fit(axis: Any, lines: Sequence[Line]) -> None:
    """Limits that show the highlighted lines."""
    places = [0.0, *(y for line in lines for y in line.y)]
    margin = 0.25 * (max(places) - min(places)) or 1.0
    axis.set_ylim(min(places) - margin, max(places) + margin)


def _name_ends(axis: Any, lines: Sequence[Line], palette: dict[str, str]) -> None:
    """Labels right of the last points, moved apart where they would touch, with a thin leader."""
    low, high = axis.get_ylim()
    places = spread([line.y[-1] for line in lines], (high - low) * 0.066, low, high)
    across = axis.get_yaxis_transform()
    to_axis = axis.transData + axis.transAxes.inverted()
    for line, place in zip(lines, places, strict=True):
        colour = palette[line.arm]
        right = to_axis.transform((line.x[-1], low))[0]
        axis.plot(
            [right, 1.04], [line.y[-1], place], color=colour, linewidth=0.7, transform=across,
            clip_on=False,
        )  # fmt: skip
        axis.text(
            1.05, place, line.label, transform=across, color=colour, va="center", fontsize=8,
            fontweight="bold",
        )  # fmt: skip
    axis.set_ylim(low, high)


def draw_prototypes(
    panels: Sequence[Panel], folder: Path, name: str, theme: Theme, *, title: str
) -> list[Path]:
    """K over the share of the steps, a line per N, named at its end; a row per arm."""
    arms = list(dict.fromkeys(panel.lines[0].arm for panel in panels))
    columns = max(sum(panel.lines[0].arm == arm for panel in panels) for arm in arms)
    labels = sorted(
        {line.label for panel in panels for line in panel.lines},
        key=lambda n: int(n.replace(",", "")),
    )
    step = (len(SHADES) - 1) / max(1, len(labels) - 1)
    shades = {label: SHADES[round(place * step)] for place, label in enumerate(labels)}
    with styled(theme) as figure_class:
        size = (0.8 + 2.9 * columns, 0.8 + 2.6 * len(arms))
        figure = figure_class(figsize=size, layout="constrained")
        grid = figure.subplots(len(arms), columns, squeeze=False)
        for row, arm in zip(grid, arms, strict=True):
            mine = [panel for panel in panels if panel.lines[0].arm == arm]
            for axis, panel in zip(row, mine, strict=False):
                _prototype_lines(axis, panel, shades)
            for axis in row[len(mine) :]:
                axis.set_visible(False)
            row[0].set_ylabel("prototypes K")
        for axis in grid[-1]:
            axis.set_xlabel("share of the steps")
        _heading(figure, title, [(f"N = {n}", shades[n]) for n in labels])
        return save(figure, folder, name, theme, panels)


def _prototype_lines(axis: Any, panel: Panel, shades: dict[str, str]) -> None:
    for line in panel.lines:
        axis.plot(line.x, line.y, color=shades[line.label], drawstyle="steps-post")
    axis.set_title(panel.title)
    axis.set_xlim(0, 1)
    axis.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    axis.set_ylim(bottom=0)
    axis.grid(axis="y")


def _heading(figure: Any, title: str, entries: Sequence[tuple[str, str]]) -> None:
    """The title, and under it the names of what is drawn in their colours."""
    from matplotlib.lines import Line2D

    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    if entries:
        handles = [
            Line2D([], [], color=colour, marker="s", linestyle="none", label=name)
            for name, colour in entries
        ]
        figure.legend(
            handles=handles, loc="outside lower left", ncols=len(handles), frameon=False,
            fontsize=8.5, handletextpad=0.2, columnspacing=1.4,
        )  # fmt: skip


def _short(size: float) -> str:
    """500, 2k."""
    return f"{size / 1000:g}k" if size >= 1000 else f"{size:g}"
