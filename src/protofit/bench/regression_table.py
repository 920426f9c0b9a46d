"""STS-B: correlations of PFit and of a linear regression head."""

from __future__ import annotations

from protofit.bench.board import Board, Values, difference
from protofit.bench.labels import STSB, arm_name
from protofit.bench.markdown import MISSING, NOT_YET, bracketed, grid
from protofit.bench.stats import bootstrap_interval
from protofit.bench.tables import best_arms, score_text

METRICS = {"pearson": "Pearson", "spearman": "Spearman"}


def regression_table(board: Board, reference: str = "raw") -> str:
    """A row per size and correlation (× 100); differences to the linear head with intervals."""
    planned = board.arms_on(STSB.data)
    ours = [arm for arm in planned if arm != reference]
    columns = [*ours, reference] if reference in planned else ours
    header = ["N", "× 100", *map(arm_name, columns)]
    header += [f"{arm_name(arm)} − {arm_name(reference)}" for arm in ours]
    rows = []
    for size in board.sizes(STSB.data):
        if not any(board.score(STSB, size, arm, "pearson") for arm in columns):
            continue
        for metric, name in METRICS.items():
            scores = {arm: board.score(STSB, size, arm, metric) for arm in columns}
            best = best_arms(scores)
            cells = [score_text(scores[arm], bold=arm in best) for arm in columns]
            gaps = [
                _gap(difference((board, arm), (board, reference), STSB, size, metric))
                for arm in ours
            ]
            rows.append([str(size), name, *cells, *gaps])
    return grid(header, rows, first_left=2) if rows else f"{NOT_YET}\n"


def _gap(values: Values) -> str:
    if len(values) < 2:
        return MISSING
    return bracketed(bootstrap_interval(list(values.values())))
