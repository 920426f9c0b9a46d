"""Every figure of the results page: what it shows, how it is called, how it is embedded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from protofit.bench import plot_data, plots, rank_plot
from protofit.bench.board import Board
from protofit.bench.boards import Boards
from protofit.bench.labels import PAPER_TASKS
from protofit.bench.plot_data import Panel, RankPlot
from protofit.bench.plot_style import DARK, THEMES, Theme

FigureData = Sequence[Panel] | RankPlot
LOUD = ("pfit", "pfit-paper", "raw", "raw-snn", "raw-init", "imp")  # named in the curves
ALT = {  # name of the file → what a reader who cannot see it is told
    "ablations": "Accuracy of four ablations of PFit minus PFit (paper), per size",
    "skip": "Accuracy of PFit with skip connection minus PFit (paper), per size",
    "curves": "Accuracy against the number of training examples",
    "differences": "Accuracy minus that of Raw against the number of training examples",
    "prototypes": "Number of prototypes over the steps of training",
    "ranks": "Critical-difference diagram of average ranks",
}


def figure_data(boards: Boards) -> dict[str, FigureData]:
    """Name → what is drawn; only figures for which there are records."""
    board = boards.board(boards.main, "fair")
    if board is None:
        return {}
    names = [task.name for task in PAPER_TASKS]
    ablations = ("pf-i", "pf-s", "pf-d", "pf-f")
    found: dict[str, FigureData | None] = {
        "ablations": plot_data.difference_panels(board, ablations, "pfit-paper", ("SST-2", "QNLI")),
        "skip": plot_data.difference_panels(board, ("pfit-sc",), "pfit-paper", names),
        "curves": plot_data.curve_panels(board),
        "differences": plot_data.curve_panels(board, "raw") if "raw" in board.arms else [],
        "prototypes": plot_data.prototype_panels(board),
        "ranks": plot_data.rank_plot(board),
    }
    return {name: data for name, data in found.items() if data}


def draw_all(boards: Boards, folder: Path) -> list[Path]:
    """Draw every figure in every theme."""
    data = figure_data(boards)
    board = boards.board(boards.main, "fair")
    return [
        path
        for theme in THEMES
        for name in data
        if board
        for path in _draw(name, data[name], board, folder, theme)
    ]


def _draw(name: str, data: FigureData, board: Board, folder: Path, theme: Theme) -> list[Path]:
    where = f"({board.encoder}, {board.protocol} protocol)"
    unit = "points of accuracy"
    if isinstance(data, RankPlot):
        title = f"Average rank over {data.blocks} cells {where}"
        return rank_plot.draw_ranks(data, folder, name, theme, title=title)
    if name in ("ablations", "skip"):
        what = "Ablations" if name == "ablations" else "PFit-SC, with skip connection,"
        title = f"{what} minus PFit (paper) {where}"
        return plots.draw_bars(data, folder, name, theme, title=title, unit=unit)
    if name == "prototypes":
        title = f"Number of prototypes during training {where}"
        return plots.draw_prototypes(data, folder, name, theme, title=title)
    title = f"Accuracy {where}" if name == "curves" else f"Accuracy minus that of Raw {where}"
    unit = "accuracy on dev, %" if name == "curves" else unit
    return plots.draw_curves(data, folder, name, theme, title=title, unit=unit, loud=LOUD)


def embedded(name: str, folder: str) -> str:
    """HTML that shows the light or the dark figure, as the reader's page is."""
    return (
        f'<picture>\n  <source media="(prefers-color-scheme: dark)" '
        f'srcset="{folder}/{name}-{DARK.name}.svg">\n'
        f'  <img alt="{ALT[name]}" src="{folder}/{name}.svg">\n</picture>'
    )
