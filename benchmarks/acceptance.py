"""Train and evaluate with the command on four public sets; one record with figures and seconds.

    python benchmarks/acceptance.py --shared ../shared --out benchmarks/records/acceptance.json

Rows are drawn from the train file with a fixed seed; figures are on the validation file, which is
never seen in training. One seed each: these are checks that the command works, not comparisons.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

PAIR = ["--text-pair", "sentence2"]
RUNS = {  # name: (set, rows, encoder, more arguments, figure, least value)
    "sst2-500-minilm": ("sst2", 500, "embedded", [], "accuracy", 0.78),
    "sst2-500-bge": ("sst2", 500, "bge-small-en-v1.5", [], "accuracy", 0.84),
    "qnli-500-bge": ("qnli", 500, "bge-small-en-v1.5", PAIR, "accuracy", None),
    "stsb-1000-bge": (
        "stsb", 1000, "bge-small-en-v1.5", [*PAIR, "--task", "regression"], "pearson", 0.70,
    ),
    "sst2-1000-minilm-paper": ("sst2", 1000, "embedded", ["--preset", "paper"], "accuracy", None),
}  # fmt: skip


def command(*arguments: str) -> dict:
    call = [sys.executable, "-m", "protofit", *arguments, "--json"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(call, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(call)}\n{done.stderr}")
    return json.loads(done.stdout)


def one(name: str, shared: Path, folder: Path, seed: int) -> dict:
    dataset, rows, encoder, more, figure, least = RUNS[name]
    data = shared / "data" / dataset
    table = pq.read_table(data / "train.parquet")
    chosen = np.sort(np.random.default_rng(seed).permutation(len(table))[:rows])
    subset = folder / f"{name}.parquet"
    pq.write_table(table.take(chosen), subset)
    if encoder != "embedded":
        encoder = str(shared / "weights" / encoder)
    model = folder / name
    began = time.perf_counter()
    arguments = ["--text", "sentence1", "--encoder", encoder, "--out", str(model), *more]
    trained = command("train", str(subset), *arguments)
    trained_at = time.perf_counter()
    figures = command("evaluate", str(model), str(data / "validation.parquet"))
    ended = time.perf_counter()
    trace = command("info", str(model))["trace"]
    return {
        figure: round(figures[figure], 4),
        "least": least,
        "train_seconds": round(trained_at - began, 1),
        "evaluate_seconds": round(ended - trained_at, 1),
        "steps": trained["steps"],
        "K_start_most_end": [
            int(trace[0]["prototypes"]),
            int(max(row["prototypes"] for row in trace)),
            int(trace[-1]["prototypes"]),
        ],
        "created": int(trace[-1]["created"]),
        "pruned": int(trace[-1]["pruned"]),
    }


def shortfalls(results: dict[str, dict]) -> list[str]:
    """What falls short: a figure, or a bank that does not grow, shrink, or leave room."""
    short = []
    for name, result in results.items():
        figure, least = RUNS[name][4:]
        if least is not None and result[figure] < least:
            short.append(f"{name}: {figure} {result[figure]} is below {least}")
        most = result["K_start_most_end"][1]
        if name.endswith("paper") and not (result["created"] and result["pruned"] and most < 100):
            short.append(f"{name}: the bank did not grow, shrink and leave room: {result}")
    return short


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--only", choices=RUNS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = {}
        for name in args.only or RUNS:
            results[name] = one(name, args.shared, Path(folder), args.seed)
            print(name, results[name], flush=True)
    record = {"seed": args.seed, "cores": os.cpu_count(), "runs": results}
    if args.out:
        args.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    sys.exit("\n".join(shortfalls(results)) or None)


if __name__ == "__main__":
    main()
