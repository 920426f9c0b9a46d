"""Neighbours and explanations over 1,000,000 texts: seconds, and memory beyond the index.

    python benchmarks/interpretability/scale.py            # FAISS cases only where it is installed

The index is made on the fly: float16 features around 1,000 random centres, written to a file and
read into memory by a fresh process for every case. `traced` is the peak that Python and numpy
allocated during the case (tracemalloc), `resident` how far the largest resident size went beyond
the size before it: that includes what torch and FAISS allocate. `agrees` compares the positions
found with those of blocked search on the first 10 queries.

explain     the first explanation, which looks once at all texts (`explain/survey.py`), with 100
            prototypes and 5 classes; explain_next is another one after it
interpret   cards of the 100 prototypes (after the survey)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from shelf import Record, arguments, fitted, read_set, recipe_of, rounded

DIMENSION, CENTRES, PROTOTYPES, NEAREST = 384, 1000, 100, 10
SEARCHES = ("blocked 100", "blocked 1000", "faiss 100", "faiss 1000")
MIB = 1 << 20


def write_index(path: Path, rows: int) -> None:
    """Clustered features (rows, D) in float16, block by block."""
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(CENTRES, DIMENSION)).astype(np.float32)
    out = np.lib.format.open_memmap(path, "w+", np.float16, (rows, DIMENSION))
    for start in range(0, rows, 50_000):
        block = out[start : start + 50_000]
        noise = draw.standard_normal(block.shape, dtype=np.float32)
        block[:] = centres[draw.integers(0, CENTRES, len(block))] + 0.5 * noise
    out.flush()


def resident(name: str) -> float:
    """MiB of this process in memory: now (VmRSS), or the most since the reset (VmHWM). Linux."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)


def measured(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result of the work with its seconds and peaks in MiB."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts from here
    before = resident("VmRSS")
    tracemalloc.start()
    began = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - began
    _, traced = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    beyond = resident("VmHWM") - before
    found = {"seconds": rounded(seconds), "traced_mib": rounded(traced / MIB)}
    return result, {**found, "resident_mib": rounded(beyond)}


def search_case(features: np.ndarray, engine: Any, count: int) -> dict[str, Any]:
    from protofit.explain.neighbours import nearest

    draw = np.random.default_rng(1)
    queries = features[draw.integers(0, len(features), count)].astype(np.float32)
    queries += 0.1 * draw.standard_normal(queries.shape, dtype=np.float32)
    nearest(queries[:2], features[:300_000], 2, engine=engine)  # loads what is loaded once
    (positions, _), found = measured(lambda: nearest(queries, features, NEAREST, engine=engine))
    exact, _ = nearest(queries[:10], features, NEAREST, engine="blocked")
    return {**found, "agrees": rounded((positions[:10] == exact).mean())}


def explain_cases(features: np.ndarray, folder: Path) -> dict[str, Any]:
    import torch

    from protofit import PFitClassifier
    from protofit.model.index import TrainingIndex

    model = PFitClassifier.load(folder)
    head = model.bundle_.model.head
    draw = np.random.default_rng(2)
    while int(head.bank.size) < PROTOTYPES:
        vector = features[draw.integers(len(features))].astype(np.float32)
        head.add(torch.from_numpy(vector), int(head.bank.size) % 5)
    model.explain("The parcel is late.")  # loads what is loaded once
    labels = draw.integers(0, 5, len(features))
    model.bundle_.cache.clear()
    model.bundle_.index = TrainingIndex(features, labels, np.arange(len(features)))
    cells = {}
    for name, work in (
        ("explain", lambda: model.explain("The parcel is late.")),
        ("explain_next", lambda: model.explain("I was charged twice.")),
        ("interpret", model.interpret),
    ):
        cells[name] = measured(work)[1]
    return cells


def in_fresh_process(case: str, index: Path, model: Path) -> dict[str, Any]:
    call = [sys.executable, __file__, "--case", case, "--index", str(index), "--model", str(model)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = arguments(__doc__ or "", "scale")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--case", help="run one case and print it (used by the script itself)")
    parser.add_argument("--index", type=Path)
    parser.add_argument("--model", type=Path)
    args = parser.parse_args()
    if args.case:
        features = np.load(args.index)
        engine, _, count = args.case.partition(" ")
        if engine == "explain":
            print(json.dumps(explain_cases(features, args.model)))
        else:
            print(json.dumps(search_case(features, engine, int(count))))
        return
    from protofit.explain.neighbours import BUDGET, has_faiss

    record = Record(args.out, "search and explanations over a large index", args.minutes)
    with tempfile.TemporaryDirectory() as folder:
        index, model = Path(folder) / "index.npy", Path(folder) / "model"
        todo = [f"{case}|{args.rows}" for case in (*SEARCHES, "explain")]
        for key in record.todo(todo):
            case = key.partition("|")[0]
            if case.startswith("faiss") and not has_faiss():
                print(f"{case}: FAISS is not installed")
                continue
            if not index.is_file():
                write_index(index, args.rows)
                args.steps = args.steps or 10
                train, _ = read_set("tickets", args.shared)
                fitted(recipe_of(args, "default", 0), train, args.shelf).save(model)
            found = in_fresh_process(case, index, model)
            size = args.rows * DIMENSION * 2 / MIB
            facts = {"index_mib": rounded(size), "budget_mib": BUDGET / MIB}
            record.add(key, {**found, **facts})


if __name__ == "__main__":
    main()
