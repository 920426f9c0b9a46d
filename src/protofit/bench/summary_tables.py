"""Tables that add up: outcomes against the best baseline, ranks, optimism, steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from protofit.bench.board import Board
from protofit.bench.boards import Boards
from protofit.bench.explain import (
    Place,
    against,
    mean_optimism,
    places,
    pooled,
    ranked,
    settled_places,
    tally,
    verdicts,
)
from protofit.bench.labels import BASELINES, arm_name
from protofit.bench.markdown import MISSING, NOT_YET, bracketed, counted, grid, plain
from protofit.bench.protocols import PROTOCOLS


def outcome_table(boards: Boards, arms: Sequence[str]) -> str:
    """A row per encoder, protocol and arm: wins/ties/losses, in cells with all their seeds."""
    rows = []
    for (encoder, protocol), board in boards.boards.items():
        for arm in arms:
            found = verdicts(board, arm)
            if found:
                crude = tally(verdict.outcome for verdict in found)
                strict = tally(verdict.strict for verdict in found)
                cells = f"{len(found)} of {len(places(board))}"
                rows.append([encoder, protocol, arm_name(arm), cells,
                             _three(crude), _three(strict)])  # fmt: skip
    header = ["encoder", "protocol", "method", "cells", "by bootstrap", "by paired t"]
    return grid(header, rows, first_left=3) if rows else f"{NOT_YET}\n"


def each_table(board: Board, arms: Sequence[str], others: Sequence[str]) -> str:
    """A row per other method: each arm minus it, averaged over the cells that have all seeds."""
    rows = []
    for other in others:
        texts = [_against(board, arm, other) for arm in arms]
        if any(texts):
            rows.append([arm_name(other), *(text or MISSING for text in texts)])
    header = ["", *(f"{arm_name(arm)} minus it" for arm in arms)]
    return grid(header, rows) if rows else f"{NOT_YET}\n"


def _against(board: Board, arm: str, other: str) -> str:
    """`+0.2 [−0.4, +0.8], 12 cells: 2 / 9 / 1`."""
    gap = pooled((board, arm), (board, other), places(board))
    if gap is None:
        return ""
    counts = _three(tally(each.outcome for each in against(board, arm, other, gap.where)))
    return f"{bracketed(gap.comparison.bootstrap)}, {counted(gap.cells, 'cell')}: {counts}"


def rank_table(board: Board, arms: Sequence[str]) -> str:
    """Average rank of each arm over the cells, with Friedman's test and Nemenyi's difference."""
    shown = [arm for arm in arms if arm in board.arms]
    result = ranked(board, shown)
    if result is None:
        return f"{NOT_YET}\n"
    order, test = result
    ranks = sorted(test.average)
    table = grid(
        ["method", "average rank"],
        [[arm_name(arm), f"{rank:.2f}"] for arm, rank in zip(order, ranks, strict=True)],
    )
    return (
        f"{table}\nOver {test.blocks} cells: Friedman χ² = {test.statistic:.1f}, "
        f"p = {test.p_value:.2g}; critical difference (Nemenyi, 5 %) {test.critical:.2f} ranks.\n"
    )


def optimism_table(boards: Boards, groups: Mapping[str, Sequence[str]]) -> str:
    """A row per encoder, protocol and size: oracle − reported accuracy in points, per group."""
    rows = []
    every = [arm for arms in groups.values() for arm in arms]
    for (encoder, protocol), board in boards.boards.items():
        for size in sorted({size for _, size in places(board)}):
            planned = [place for place in places(board) if place[1] == size]
            where = settled_places(board, planned, every)
            means = [mean_optimism(board, where, arms) for arms in groups.values()]
            if any(mean is not None for mean in means) and _has_choice(board, size):
                texts = [MISSING if mean is None else plain(mean, 2) for mean in means]
                cells = f"{len(where)} of {len(planned)}"
                rows.append([encoder, protocol, str(size), cells, *texts])
    header = ["encoder", "protocol", "N", "cells", *groups]
    return grid(header, rows, first_left=2) if rows else f"{NOT_YET}\n"


def _has_choice(board: Board, size: int) -> bool:
    return any(
        len(rates) > 1
        for cell, seeds in board.plan.items()
        if cell.size == size
        for rates in seeds.values()
    )


def steps_table(paper: Board, fair: Board, arms: Sequence[str]) -> str:
    """A row per size: optimiser steps of both protocols, and what the fair one adds per arm."""
    shown = [arm for arm in arms if arm in paper.arms and arm in fair.arms]
    rows = []
    for size in sorted({size for _, size in places(paper)} & {size for _, size in places(fair)}):
        steps = [str(PROTOCOLS[name].planned_steps(size)) for name in ("paper", "fair")]
        where = shared_places(paper, fair, size)
        gains = [pooled((fair, arm), (paper, arm), where) for arm in shown]
        texts = [bracketed(gain.comparison.bootstrap) if gain else MISSING for gain in gains]
        rows.append([str(size), *steps, *texts])
    header = ["N", "steps, paper", "steps, fair", *map(arm_name, shown)]
    return grid(header, rows, first_left=0)


def shared_places(first: Board, second: Board, size: int | None = None) -> list[Place]:
    """Cells planned on both boards, of one size if given."""
    both = [place for place in places(first) if place in places(second)]
    return [place for place in both if size is None or place[1] == size]


def baselines_of(board: Board) -> list[str]:
    """The paper's baselines that are planned."""
    return [arm for arm in BASELINES if arm in board.arms]


def _three(counts: tuple[int, int, int]) -> str:
    return " / ".join(map(str, counts))
