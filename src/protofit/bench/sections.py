"""Every generated part of the results page, by the name of its placeholder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from protofit.bench.board import Board
from protofit.bench.boards import Boards
from protofit.bench.coverage import cells_tables, coverage_table, state_text
from protofit.bench.growth_table import growth_table
from protofit.bench.headline import (
    control_effect,
    headline,
    selection_effect,
    steps_effect,
)
from protofit.bench.labels import (
    ABLATIONS,
    BASELINES,
    CONTROLS,
    EXTERNAL,
    OURS,
    STSB,
)
from protofit.bench.markdown import NOT_YET, listed
from protofit.bench.overhead_table import overhead_table
from protofit.bench.paper_facts import misprints, paper_says
from protofit.bench.provenance import commands, provenance, versions_mixed
from protofit.bench.regression_table import regression_table
from protofit.bench.speed_table import speed_tables
from protofit.bench.summary_tables import (
    each_table,
    optimism_table,
    outcome_table,
    rank_table,
    steps_table,
)
from protofit.bench.tables import PAPER_LAYOUT, arms_table, difference_table, paper_table
from protofit.bench.timing_table import timing_table

Section = Callable[[Boards], str]
GROUPS = {"baselines": BASELINES, "PFit (paper)": ("pfit-paper",), "PFit": ("pfit",)}
GENERATED = "Written by `make results` from results.template.md and the records: do not edit."
CONTROL_PAIRS = (
    ("raw-init", "raw"), ("raw-snn", "raw"), ("pfit", "raw-init"), ("pfit", "raw-snn"),
)  # fmt: skip
_RANKED = (*BASELINES, *OURS)
ABLATION_PAIRS = tuple((arm, "pfit-paper") for arm in ABLATIONS)


def sections(records_dir: Path) -> dict[str, Section]:
    """Placeholder → what fills it."""
    return {
        "generated_note": lambda _: GENERATED,
        "headline": headline,
        "state": state_text,
        "versions_mixed": versions_mixed,
        "paper_says": lambda _: paper_says(),
        "steps_effect": steps_effect,
        "init_effect": lambda boards: control_effect(boards, "raw-init"),
        "neighbour_effect": lambda boards: control_effect(boards, "raw-snn"),
        "beyond_controls": lambda boards: control_effect(boards, "pfit", "raw-snn"),
        "beyond_init": lambda boards: control_effect(boards, "pfit", "raw-init"),
        "selection_effect": selection_effect,
        "coverage": lambda boards: f"{coverage_table(boards)}\n{cells_tables(boards)}",
        "outcomes": lambda boards: outcome_table(boards, ("pfit", "pfit-paper")),
        "each": lambda boards: _of_main(boards, "fair", _each),
        "table1_fair": lambda boards: paper_layout(boards, "Table 1", "fair"),
        "table2_fair": lambda boards: paper_layout(boards, "Table 2", "fair"),
        "table1_paper": lambda boards: paper_layout(boards, "Table 1", "paper"),
        "table2_paper": lambda boards: paper_layout(boards, "Table 2", "paper"),
        "tables_paper": _tables_paper,
        "ranks": lambda boards: _of_main(boards, "fair", lambda b: rank_table(b, _RANKED)),
        "steps": _steps,
        "controls": lambda boards: _arms(boards, (*CONTROLS, "raw", *OURS), CONTROL_PAIRS),
        "ablations": lambda boards: _arms(boards, ("pfit-paper", *ABLATIONS), ABLATION_PAIRS),
        "external": lambda boards: _arms(boards, (*EXTERNAL, "raw", "pfit"), ()),
        "optimism": lambda boards: optimism_table(boards, GROUPS),
        "regression": _regression,
        "timing": lambda _: timing_table(records_dir),
        "growth": lambda boards: _of_main(boards, "fair", growth_table),
        "speed": lambda _: speed_tables(records_dir.parent),
        "overhead": lambda _: overhead_table(records_dir.parent),
        "encoders": _encoders,
        "misprints": lambda _: _misprints(),
        "provenance": provenance,
        "commands": commands,
    }


def paper_layout(boards: Boards, name: str, protocol: str) -> str:
    """Table 1 or 2 of the main encoder."""
    lead = "pfit-paper" if protocol == "paper" else "pfit"
    return _of_main(boards, protocol, lambda board: _paper_layout(board, name, lead))


def _paper_layout(board: Board, name: str, lead: str) -> str:
    there = {(cell.data, cell.arm) for cell in board.choices}
    asked = {(task.data, arm) for task in PAPER_LAYOUT[name] for arm in _RANKED}
    return paper_table(board, PAPER_LAYOUT[name], lead) if there & asked else NOT_YET


def _tables_paper(boards: Boards) -> str:
    parts = {name: paper_layout(boards, name, "paper") for name in PAPER_LAYOUT}
    if set(parts.values()) == {NOT_YET}:
        return NOT_YET
    return "\n\n".join(
        f"{name}, {listed([task.name for task in PAPER_LAYOUT[name]])}: not yet run."
        if part == NOT_YET
        else part
        for name, part in parts.items()
    )


def _each(board: Board) -> str:
    return each_table(board, ("pfit", "pfit-paper"), (*BASELINES, *CONTROLS))


def _of_main(boards: Boards, protocol: str, make: Callable[[Board], str]) -> str:
    board = boards.board(boards.main, protocol)
    return make(board) if board else NOT_YET


def _arms(boards: Boards, arms: tuple[str, ...], pairs: tuple[tuple[str, str], ...]) -> str:
    """Accuracies of the arms under the fair protocol, and differences of the pairs."""

    def make(board: Board) -> str:
        own = set(arms).difference(("raw", *OURS)) & set(board.arms)
        if not own:
            return NOT_YET
        return f"{arms_table(board, arms, sorted(own))}\n{difference_table(board, pairs)}"

    return _of_main(boards, "fair", make)


def _steps(boards: Boards) -> str:
    paper, fair = (boards.board(boards.main, name) for name in ("paper", "fair"))
    if not (paper and fair and paper.records and fair.records):
        return NOT_YET
    return steps_table(paper, fair, _RANKED)


def _regression(boards: Boards) -> str:
    found = [
        f"{encoder}, {protocol} protocol:\n\n{regression_table(board)}"
        for (encoder, protocol), board in boards.boards.items()
        if STSB in board.tasks
        and any(record["trial"]["data"] == STSB.data for record in board.records)
    ]
    return "\n".join(found) or NOT_YET


def _encoders(boards: Boards) -> str:
    if not any(board.records for board in boards.others):
        return NOT_YET
    found = [
        f"### {board.encoder}, {board.protocol} protocol\n\n{arms_table(board, board.arms)}"
        for board in boards.others
        if board.classification_tasks
    ]
    return "\n".join(found) or NOT_YET


def _misprints() -> str:
    parts = [
        f"{task} at {size} (printed {stated:.1f}, recomputed {given:.1f})"
        for task, size, stated, given in misprints()
    ]
    return listed(parts)
