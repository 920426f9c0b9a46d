"""How far the experiments are: in a sentence, per experiment, and cell by cell."""

from __future__ import annotations

from protofit.bench.board import Board
from protofit.bench.boards import Boards
from protofit.bench.explain import places
from protofit.bench.labels import BASELINES, OURS, arm_name
from protofit.bench.markdown import MISSING, counted, grid, listed

ALL, SOME, NONE = "all", "some", "none"


def state_text(boards: Boards) -> str:
    """What is there, before anything is said about it."""
    lines = boards.coverage()
    runs, missing = (sum(getattr(one, name) for one in lines) for name in ("runs", "missing_runs"))
    failed = sum(one.failed_runs for one in lines)
    ended = f"{failed:,} of them failed." if failed else "None of them failed."
    if not missing:
        return f"All {runs:,} planned trainings are done. {ended}"
    done = runs - missing
    text = (
        f"Incomplete: {done:,} of {runs:,} planned trainings ({100 * done / runs:.0f} %) are done. "
        f"{ended}"
    )
    board = boards.board(boards.main, "fair")
    if board and board.records:
        text += f" {_cells_text(board)}"
    absent = [one.name for one in lines if one.missing_runs == one.runs]
    return f"{text} Not begun: {listed(absent)}." if absent else text


def _cells_text(board: Board) -> str:
    found = [seeds_there(board, data, size) for data, size in _cells(board)]
    return (
        f"Of the {counted(len(found), 'cell')} of Tables 1 and 2 ({board.encoder}, "
        f"{board.protocol} protocol) {found.count(ALL)} have all seeds of every baseline and of "
        f"both presets, {found.count(SOME)} have some, {found.count(NONE)} have none; only the "
        f"first are judged."
    )


def _cells(board: Board) -> list[tuple[str, int]]:
    return [(task.data, size) for task, size in places(board)]


def seeds_there(board: Board, data: str, size: int) -> str:
    """Whether the methods of the paper's tables have all their seeds in this cell."""
    cells = [board.cell(data, size, arm) for arm in (*BASELINES, *OURS)]
    planned = {cell: len(board.plan[cell]) for cell in cells if cell in board.plan}
    done = {cell: len(board.choices.get(cell, {})) for cell in planned}
    if done == planned:
        return ALL
    return SOME if any(done.values()) else NONE


def coverage_table(boards: Boards) -> str:
    """A row per experiment: planned, done, missing, failed."""
    rows = [
        [
            one.name, one.encoder, one.protocol, str(one.cells), str(one.missing_cells),
            f"{one.runs:,}", f"{one.missing_runs:,}", f"{one.failed_runs:,}",
        ]
        for one in boards.coverage()
    ]  # fmt: skip
    header = ["spec", "encoder", "protocol", "cells", "of these not finished", "trainings",
              "missing", "failed"]  # fmt: skip
    return grid(header, rows, first_left=3)


def cells_tables(boards: Boards) -> str:
    """Per encoder and protocol with records: finished seeds of every cell that has some."""
    return "\n".join(
        f"Finished seeds, {board.encoder}, {board.protocol} protocol:\n\n{_cells_table(board)}"
        for board in boards.boards.values()
        if board.records
    )


def _cells_table(board: Board) -> str:
    sets = dict.fromkeys(cell.data for cell in board.plan)
    begun = {(cell.data, cell.size) for cell in board.choices}
    everything = [(data, size) for data in sets for size in board.sizes(data)]
    arms = [arm for arm in board.arms if any(cell.arm == arm for cell in board.choices)]
    rows = [
        [data, str(size), *(_seeds(board, data, size, arm) for arm in arms)]
        for data, size in everything
        if (data, size) in begun
    ]
    table = grid(["data", "N", *map(arm_name, arms)], rows)
    absent = [f"{data} at {size}" for data, size in everything if (data, size) not in begun]
    missing = [arm_name(arm) for arm in board.arms if arm not in arms]
    notes = [
        f"{what} without any: {listed(names)}."
        for what, names in (("Methods", missing), ("Cells", absent))
        if names
    ]
    return f"{table}\n{' '.join(notes)}\n" if notes else table


def _seeds(board: Board, data: str, size: int, arm: str) -> str:
    cell = board.cell(data, size, arm)
    if cell not in board.plan:
        return ""
    done = len(board.choices.get(cell, {}))
    return f"{done}/{len(board.plan[cell])}" if done else MISSING
