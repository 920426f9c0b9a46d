"""The first screen of the results page: sentences whose every number comes from the records."""

from __future__ import annotations

from collections.abc import Sequence

from protofit.bench.board import Board
from protofit.bench.boards import Boards
from protofit.bench.explain import (
    Verdict,
    against,
    mean_optimism,
    places,
    pooled,
    settled_places,
    tally,
    verdicts,
)
from protofit.bench.labels import BASELINES, arm_name, pair_name
from protofit.bench.markdown import NOT_YET, bracketed, counted, listed, plain
from protofit.bench.paper_facts import cells
from protofit.bench.paper_tables import gain
from protofit.bench.protocols import PROTOCOLS, SMALL
from protofit.bench.stats import Outcome
from protofit.bench.summary_tables import baselines_of, shared_places

VERBS: dict[str, Outcome] = {"Wins": "win", "Ties": "tie", "Loses": "loss"}
PRESETS = {"pfit": "PFit, `default` preset", "pfit-paper": "PFit, `paper` preset"}


def headline(boards: Boards) -> str:
    """A bullet per protocol and preset: where PFit wins, ties and loses."""
    bullets, absent = [], []
    for protocol in ("fair", "paper"):
        board = boards.board(boards.main, protocol)
        for arm, name in PRESETS.items():
            if board and verdicts(board, arm):
                bullets.append(f"- **{name}, {protocol} protocol.** {_standing(board, arm)}")
            elif board and arm in board.arms:
                absent.append(f"- **{name}, {protocol} protocol.** {NOT_YET}")
    if not bullets:
        return NOT_YET
    return "\n".join([f"{in_short(boards)}\n", *bullets, *absent])


def in_short(boards: Boards) -> str:
    """The counts of the fair protocol beside the paper's, in one sentence each."""
    board = boards.board(boards.main, "fair")
    said = []
    for arm, name in PRESETS.items():
        found = verdicts(board, arm) if board else []
        wins, ties, losses = tally(verdict.outcome for verdict in found)
        if board and found:
            said.append(
                f"{name}, is above the best of {len(baselines_of(board))} baselines in {wins} of "
                f"{counted(len(found), 'judged cell')}, cannot be told from it in {ties}, and is "
                f"below it in {losses}."
            )
    printed = [gain(task, size) for task, size in cells()]
    ahead = sum(value > 0 for value in printed)
    return " ".join([*said, f"The paper has PFit ahead in {ahead} of {len(printed)}."])


def _standing(board: Board, arm: str) -> str:
    found = verdicts(board, arm)
    wins, ties, losses = tally(verdict.outcome for verdict in found)
    strict = " / ".join(map(str, tally(verdict.strict for verdict in found)))
    text = (
        f"Against the best baseline of each cell: {counted(wins, 'win')}, {counted(ties, 'tie')}, "
        f"{counted(losses, 'loss', 'losses')} in the {len(found)} of "
        f"{counted(len(places(board)), 'cell')} that can be judged "
        f"(by the stricter t interval {strict})."
    )
    text += "".join(
        f" {verb}: {where}."
        for verb, outcome in VERBS.items()
        if (where := by_task(found, outcome))
    )
    gap = pooled((board, arm), (board, "raw"), [(each.task, each.size) for each in found])
    if gap:
        text += (
            f" Against Raw {bracketed(gap.comparison.bootstrap)} points on average over "
            f"{counted(gap.cells, 'cell')}."
        )
    missing = [arm_name(other) for other in BASELINES if other not in baselines_of(board)]
    return f"{text} Not run as a baseline: {listed(missing)}." if missing else text


def by_task(found: Sequence[Verdict], outcome: Outcome) -> str:
    """`SST-2 at 100 and 200; QNLI at 500`."""
    sizes: dict[str, list[str]] = {}
    for verdict in found:
        if verdict.outcome == outcome:
            sizes.setdefault(verdict.task.name, []).append(str(verdict.size))
    return "; ".join(f"{name} at {listed(values)}" for name, values in sizes.items())


def steps_effect(boards: Boards) -> str:
    """What a fair number of optimiser steps gives to Raw and to PFit, and to the gap.

    All of it over the same cells: those that both protocols have all seeds of, for both.
    """
    paper, fair = (boards.board(boards.main, name) for name in ("paper", "fair"))
    if not paper or not fair:
        return NOT_YET
    arms = [arm for arm in ("raw", "pfit-paper") if arm in paper.arms and arm in fair.arms]
    where = [place for place in shared_places(paper, fair) if _steps_differ(place[1])]
    where = settled_places(fair, settled_places(paper, where, arms), arms)
    gains = {arm: pooled((fair, arm), (paper, arm), where) for arm in arms}
    parts = [
        f"{arm_name(arm)} {bracketed(gain.comparison.bootstrap)}"
        for arm, gain in gains.items()
        if gain
    ]
    if not parts:
        return NOT_YET
    sizes = listed([str(size) for size in sorted({size for _, size in where})])
    text = (
        f"Where five epochs are fewer than {PROTOCOLS['fair'].min_steps} steps, training on to "
        f"that floor changes accuracy by: {', '.join(parts)} points "
        f"(over {counted(len(where), 'cell')}, at {sizes} examples)."
    )
    gaps = {
        name: pooled((board, "pfit-paper"), (board, "raw"), where)
        for name, board in (("paper", paper), ("fair", fair))
    }
    said = [
        f"{bracketed(gap.comparison.bootstrap)} under `{name}`" for name, gap in gaps.items() if gap
    ]
    return f"{text} The gap PFit (paper) − Raw there: {listed(said)}." if said else text


def _steps_differ(size: int) -> bool:
    return PROTOCOLS["paper"].planned_steps(size) != PROTOCOLS["fair"].planned_steps(size)


def control_effect(boards: Boards, arm: str, other: str = "raw") -> str:
    """One method minus another under the fair protocol, over the cells both have all seeds of."""
    board = boards.board(boards.main, "fair")
    gap = pooled((board, arm), (board, other), places(board)) if board else None
    if not board or not gap:
        return NOT_YET
    wins, ties, losses = tally(each.outcome for each in against(board, arm, other, gap.where))
    return (
        f"{pair_name(arm, other)}: {bracketed(gap.comparison.bootstrap)} points over "
        f"{counted(gap.cells, 'cell')} ({counted(wins, 'win')}, {counted(ties, 'tie')}, "
        f"{counted(losses, 'loss', 'losses')})."
    )


def selection_effect(boards: Boards) -> str:
    """How much higher the figures would be, had the learning rate been chosen on dev."""
    bullets = []
    for protocol in PROTOCOLS:
        board = boards.board(boards.main, protocol)
        said = _optimism(board) if board else ""
        if said:
            bullets.append(f"under `{protocol}` {said}")
    if not bullets:
        return NOT_YET
    return (
        f"Choosing the learning rate on dev instead of on the slice would raise the figures "
        f"above {SMALL} examples by, on average, {'; '.join(bullets)}."
    )


def _optimism(board: Board) -> str:
    groups = {"the baselines": BASELINES, "PFit (paper)": ("pfit-paper",), "PFit": ("pfit",)}
    every = [arm for arms in groups.values() for arm in arms]
    where = settled_places(board, places(board, lambda size: size > SMALL), every)
    means = {name: mean_optimism(board, where, arms) for name, arms in groups.items()}
    said = [f"{name} {plain(mean, 2)}" for name, mean in means.items() if mean is not None]
    return f"{listed(said)} points ({counted(len(where), 'cell')})" if said else ""
