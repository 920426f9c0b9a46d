"""Which default: variants of PFit's head on texts that no reported figure is measured on.

    python benchmarks/default_study.py --shared ../shared --weights-dir ../shared/weights \
        --out benchmarks/records/default_study.json

For sst2, qnli and mnli the texts to measure on are 2,000 rows of the train file, kept out of every
training subset here; cr, trec6, ag_news and banking77 are measured on their test file, which
no other page reports. All arms of a cell train on the same subsets (protocol `fair`, fixed rate).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch

from protofit.bench import arms, protocols
from protofit.bench.data import POOL_SOURCES
from protofit.bench.engines import fleet_engine, loop_engine
from protofit.bench.trial import Trial
from protofit.bench.workbench import Places, Workbench
from protofit.presets import PRESETS, Preset

OWN_TEST = ("cr", "trec6", "ag_news", "banking77")
KEPT_OUT = 2000
VARIANTS = {  # settings on top of the first default
    "scale 0.15, certainty": {"head.neighbour_scale": 0.15, "head.beta": None},
    "scale 0.15, beta 2": {"head.neighbour_scale": 0.15, "head.beta": 2.0},
    "scale 0.4, certainty": {"head.neighbour_scale": 0.4, "head.beta": None},
    "scale 1, certainty": {"head.neighbour_scale": 1.0, "head.beta": None},
    "scale 1, beta 2": {"head.neighbour_scale": 1.0, "head.beta": 2.0},
    "scale 1, beta 2, gap 3": {
        "head.neighbour_scale": 1.0, "head.beta": 2.0, "head.scale.gap": 3.0,
    },
    "scale 1, weight 3": {"head.neighbour_scale": 1.0, "head.neighbour_weight": 3.0},
    "no neighbours": {"head.neighbour_weight": 0.0},
}  # fmt: skip
CELLS = [("sst2", 100), ("sst2", 500), ("qnli", 500), ("mnli", 500), ("cr", 100), ("trec6", 100),
         ("trec6", 500), ("ag_news", 100), ("banking77", 1000), ("cr", 500),
         ("qnli", 2000), ("sst2", 2000)]  # fmt: skip


def write_study_sets(shared: Path, folder: Path) -> None:
    for name in {cell[0] for cell in CELLS}:
        target = folder / f"study-{name}"
        target.mkdir()
        table = pq.read_table(shared / "data" / name / "train.parquet")
        if name in POOL_SOURCES:
            source = np.array(table["source"].to_pylist())
            table = table.take(np.flatnonzero(np.isin(source, POOL_SOURCES[name])))
        if name in OWN_TEST:
            pq.write_table(table, target / "train.parquet")
            test = pq.read_table(shared / "data" / name / "test.parquet")
            pq.write_table(test, target / "test.parquet")
            continue
        order = np.random.default_rng(7).permutation(len(table))
        pq.write_table(table.take(order[KEPT_OUT:]), target / "train.parquet")
        pq.write_table(table.take(order[:KEPT_OUT]), target / "validation.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--weights-dir", type=Path, default=Path("../shared/weights"))
    parser.add_argument("--encoder", default="e5-small")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--cells", type=int, default=len(CELLS))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    for name, overrides in VARIANTS.items():
        PRESETS[name] = Preset("default", overrides, "pfit")
        arms.ARMS[name] = arms.Arm("pfit", name)
    study_arms = [*VARIANTS, "raw", "raw-snn", "raw-init", "protonet"]
    for name, protocol in protocols.PROTOCOLS.items():
        protocols.PROTOCOLS[name] = replace(protocol)
    began, found = time.perf_counter(), {}
    with tempfile.TemporaryDirectory() as folder:
        write_study_sets(args.shared, Path(folder))
        bench = Workbench(Places(data_dir=Path(folder), weights_dir=args.weights_dir))
        engine = fleet_engine() if torch.cuda.is_available() else loop_engine()
        for data, size in CELLS[: args.cells]:
            if time.perf_counter() - began > 60 * args.minutes:
                break
            trials = [
                Trial(f"study-{data}", size, arm, args.encoder, args.rate, seed, "fair")
                for arm in study_arms
                for seed in range(args.seeds)
            ]
            for record in engine.run(trials, bench):
                key = f"{data} {size}|{record['trial']['arm']}"
                figures = record.get("dev", {"": {"accuracy": None}})
                figure = next(iter(figures.values()))["accuracy"]
                found.setdefault(key, []).append(figure)
            print(f"{data} {size}  ({time.perf_counter() - began:.0f} s)", flush=True)
            for arm in study_arms:
                figures = found[f"{data} {size}|{arm}"]
                print(f"   {arm:26s} {100 * np.mean(figures):6.2f}  {figures}", flush=True)
    record = {"encoder": args.encoder, "rate": args.rate, "accuracy": found,
              "seconds": round(time.perf_counter() - began, 1)}  # fmt: skip
    if args.out:
        args.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
