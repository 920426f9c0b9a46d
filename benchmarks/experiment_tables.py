"""Write the generated tables of docs/experiments.md from the committed records.

python benchmarks/experiment_tables.py

A table stands between `<!-- table: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import numpy as np

from protofit.bench.board import Board, compare_cell
from protofit.bench.boards import Experiment, gather, load_experiment
from protofit.bench.explain import places, pooled
from protofit.bench.markdown import MISSING, bracketed, compared, grid, plain
from protofit.bench.records import read_records
from protofit.bench.stats import student_interval
from protofit.bench.tables import score_text
from protofit.storage.atomic import write_file

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "records"
PAGE = ROOT / "docs" / "experiments.md"
DEFAULT = "scale 1, certainty"  # the variant that the preset has
SPOT = re.compile(r"(<!-- table: ([a-z0-9.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def default_study() -> str:
    """Mean accuracy of each variant in each cell, and over the cells minus that of the preset."""
    study = json.loads((RECORDS / "default_study.json").read_text(encoding="utf-8"))["accuracy"]
    found: dict[str, dict[str, list[float]]] = {}
    for key, values in study.items():
        cell, _, variant = key.partition("|")
        found.setdefault(variant, {})[cell] = [100 * value for value in values]
    cells = list(found[DEFAULT])
    by_seed = {name: np.array([own[cell] for cell in cells]) for name, own in found.items()}
    order = sorted(by_seed, key=lambda name: -by_seed[name].mean())
    rows = []
    for name in order:
        values = by_seed[name]
        gap = student_interval((values - by_seed[DEFAULT]).mean(axis=0).tolist())
        shown = f"**{name}**" if name == DEFAULT else name
        texts = [plain(mean) for mean in values.mean(axis=1)]
        rows.append([shown, *texts, plain(values.mean()),
                     "" if name == DEFAULT or gap is None else bracketed(gap)])  # fmt: skip
    return grid(["", *cells, "mean", "minus the preset, t interval"], rows)


def old_control() -> str:
    """Raw + SNN at the scale 0.15 against Raw and PFit, cell by cell."""
    spec = ROOT / "benchmarks" / "specs" / "e5-fair.toml"
    known = load_experiment(spec, RECORDS / "bench")
    aside = read_records(RECORDS / "bench" / "e5-fair-raw-snn-0.15.jsonl").records
    others = [record for record in known.records if record["trial"]["arm"] != "raw-snn"]
    experiment = Experiment(known.spec, known.planned, (*others, *aside))
    board = gather([experiment], mix=True).boards["e5-small", "fair"]
    rows = [_old_row(board, *place) for place in places(board)]
    averages = [pooled((board, "raw-snn"), (board, other), places(board))
                for other in ("raw", "pfit")]  # fmt: skip
    texts = [
        f"{bracketed(gap.comparison.bootstrap)}, {gap.cells} cells" if gap else MISSING
        for gap in averages
    ]
    rows.append(["**mean of whole cells**", "", "", "", *texts])
    header = ["data", "N", "Raw + SNN (0.15)", "Raw", "minus Raw", "minus PFit"]
    return grid(header, [row for row in rows if row])


def _old_row(board: Board, task, size: int) -> list[str]:
    score = board.score(task, size, "raw-snn")
    if score is None or not board.settled(task, size, "raw-snn", "raw", "pfit"):
        return []
    gaps = [compared(compare_cell(board, task, size, "raw-snn", o)) for o in ("raw", "pfit")]
    return [task.name, str(size), score_text(score),
            score_text(board.score(task, size, "raw")), *gaps]  # fmt: skip


def collapses(spec: str) -> str:
    """Trainings of each method that ended within 2 points of the share of the largest class."""
    records = read_records(RECORDS / "bench" / f"{spec}.jsonl").records
    chance = {"sst2": 50.9, "qnli": 50.5, "mnli": 35.4}  # of the development splits, in percent
    ended: dict[str, list[bool]] = {}
    for record in records:
        trial = record["trial"]
        best = max(100 * split["accuracy"] for split in record["dev"].values())
        ended.setdefault(trial["arm"], []).append(best < chance[trial["data"]] + 2)
    rows = [[arm, f"{sum(bad)} of {len(bad)}"] for arm, bad in ended.items() if any(bad)]
    return grid(["method", "trainings at chance"], rows)


TABLES = {
    "default-study": default_study, "raw-snn-0.15": old_control,
    "collapses": partial(collapses, "e5-fair"),
    "collapses-paper": partial(collapses, "e5-paper"),
}  # fmt: skip


def filled(text: str) -> str:
    """The page with every table as the records give it."""
    return SPOT.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n{m[3]}", text)


def main() -> None:
    write_file(PAGE, filled(PAGE.read_text(encoding="utf-8")))
    print(PAGE)


if __name__ == "__main__":
    main()
