"""Tables of accuracies in Markdown: the paper's Tables 1 and 2, and other arms alike.

Rows and columns without any figure are left out and named below the table. Means over different
seeds do not compare, so a row gets a best method only once every method in it has all its seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

from protofit.bench.board import Board, Score, compare_cell
from protofit.bench.explain import Place
from protofit.bench.labels import (
    BASELINES,
    MNLI_M,
    MNLI_MM,
    OURS,
    QNLI,
    SST2,
    Task,
    arm_name,
    pair_name,
)
from protofit.bench.markdown import (
    FAILED,
    MISSING,
    NOT_YET,
    compared,
    grid,
    listed,
    plain,
    share_mark,
    signed,
    small,
)
from protofit.bench.paper_tables import gain, printed

PAPER_LAYOUT = {"Table 1": (MNLI_M, MNLI_MM), "Table 2": (SST2, QNLI)}


def score_text(score: Score | None, *, bold: bool = False, digits: int = 1) -> str:
    """`84.1 ± 0.8`; seeds that are missing or failed are said behind it."""
    if score is None:
        return MISSING
    if score.seeds == 0:
        return FAILED if score.failed else MISSING
    mean = plain(score.mean, digits)
    text = f"**{mean}**" if bold else mean
    if score.sd is not None:
        text += f" ± {score.sd:.{digits}f}"
    return text + share_mark(score.seeds, score.planned)


def best_arms(scores: dict[str, Score | None], digits: int = 1) -> set[str]:
    """The arms of the highest mean as printed; none while a planned seed has not been run."""
    if not all(score is not None and score.complete for score in scores.values()):
        return set()
    means = {
        arm: round(score.mean, digits)
        for arm, score in scores.items()
        if score is not None and score.seeds
    }
    return {arm for arm, mean in means.items() if mean == max(means.values())}


def paper_table(board: Board, tasks: Sequence[Task], lead: str) -> str:
    """Table 1 or 2: a row per size, a column per method, the lead's gain over the best baseline."""
    arms = [*BASELINES, *(arm for arm in OURS if arm in board.arms)]
    parts = []
    for task in tasks:
        header = [f"**{task.name}**", *map(arm_name, arms), f"{arm_name(lead)} − best baseline"]
        sizes = board.sizes(task.data)
        there = [size for size in sizes if _any(board, task, size, arms)]
        rows = [
            [str(size), *_paper_row(board, task, size, arms), _gain_text(board, task, size, lead)]
            for size in there
        ]
        absent = _not_run([(task, size) for size in sizes if size not in there])
        parts += [grid(header, rows), absent] if rows else [absent]
    return "\n".join(part for part in parts if part)


def _paper_row(board: Board, task: Task, size: int, arms: Sequence[str]) -> list[str]:
    scores = {arm: board.score(task, size, arm) for arm in arms}
    planned = [arm for arm in arms if board.cell(task.data, size, arm) in board.plan]
    best = best_arms({arm: scores[arm] for arm in planned})
    row = []
    for arm in arms:
        text = score_text(scores[arm], bold=arm in best)
        theirs = printed(task.name, size, arm) if arm != "pfit" else None
        row.append(text if theirs is None else f"{text} {small(f'(paper {theirs.mean:.1f})')}")
    return row


def _gain_text(board: Board, task: Task, size: int, lead: str) -> str:
    whole = board.settled(task, size, lead, *board.baselines(task.data, size))
    best = board.best_baseline(task, size) if whole else None
    comparison = compare_cell(board, task, size, lead, best) if best else None
    text = compared(comparison)
    if best and comparison:
        text += f" vs {arm_name(best)}"
    if printed(task.name, size, lead) is None:
        return text
    return f"{text} {small(f'(paper {signed(gain(task.name, size))})')}"


def arms_table(board: Board, arms: Sequence[str], needed: Sequence[str] | None = None) -> str:
    """A row per data set and size at which one of `needed` has a figure, a column per arm."""
    planned = [arm for arm in arms if arm in board.arms]
    wanted = [arm for arm in planned if needed is None or arm in needed]
    there = [place for place in _planned(board, wanted) if _any(board, *place, wanted)]
    shown = [arm for arm in planned if any(_any(board, *place, [arm]) for place in there)]
    if not there:
        return f"{NOT_YET}\n"
    rows = []
    for task, size in there:
        here = [arm for arm in shown if board.cell(task.data, size, arm) in board.plan]
        best = best_arms({arm: board.score(task, size, arm) for arm in here})
        texts = {a: score_text(board.score(task, size, a), bold=a in best) for a in here}
        rows.append([task.name, str(size), *(texts.get(arm, "") for arm in shown)])
    absent = [place for place in _planned(board, wanted) if place not in there]
    missing = [arm_name(arm) for arm in planned if arm not in shown]
    table = grid(["data", "N", *map(arm_name, shown)], rows)
    return table + "".join(f"\n{note}" for note in (_not_run(absent, missing),) if note)


def difference_table(board: Board, pairs: Sequence[tuple[str, str]]) -> str:
    """A row per data set and size, a column per pair `arm − other` with its interval."""
    pairs = [pair for pair in pairs if set(pair) <= set(board.arms)]
    arms = list(dict.fromkeys(arm for pair in pairs for arm in pair))
    found = {
        (place, pair): _difference(board, *place, *pair)
        for place in _planned(board, arms)
        for pair in pairs
    }
    shown = [pair for pair in pairs if any(found[at] for at in found if at[1] == pair)]
    rows = [
        [task.name, str(size), *(found[(task, size), pair] or MISSING for pair in shown)]
        for task, size in _planned(board, arms)
        if any(found[(task, size), pair] for pair in shown)
    ]
    header = ["data", "N", *(pair_name(arm, other) for arm, other in shown)]
    return grid(header, rows) if rows else ""


def _difference(board: Board, task: Task, size: int, arm: str, other: str) -> str:
    """The paired difference over the seeds both have; how many, where some are missing."""
    comparison = compare_cell(board, task, size, arm, other)
    if comparison is None:
        return ""
    planned = len(board.plan[board.cell(task.data, size, arm)])
    return compared(comparison) + share_mark(sum(comparison.signs), planned)


def _planned(board: Board, arms: Sequence[str]) -> list[Place]:
    """Cells of accuracies in which one of the arms is planned."""
    return [
        (task, size)
        for task in board.classification_tasks
        for size in board.sizes(task.data)
        if any(board.cell(task.data, size, arm) in board.plan for arm in arms)
    ]


def _any(board: Board, task: Task, size: int, arms: Sequence[str]) -> bool:
    return any(board.score(task, size, arm) is not None for arm in arms)


def _not_run(absent: Sequence[Place], arms: Sequence[str] = ()) -> str:
    """`Not yet run: IMP; QNLI at 1000 and 2000.`; nothing where nothing is missing."""
    sizes: dict[str, list[str]] = {}
    for task, size in absent:
        sizes.setdefault(task.name, []).append(str(size))
    parts = [listed(list(arms))] if arms else []
    parts += [f"{name} at {listed(values)}" for name, values in sizes.items()]
    return f"Not yet run: {'; '.join(parts)}.\n" if parts else ""
