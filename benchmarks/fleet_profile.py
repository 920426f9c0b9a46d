"""Where the time of a fleet goes: parts of a step, kernels, evaluation, for several fleet sizes.

    python benchmarks/fleet_profile.py --data-dir DATA --weights-dir WEIGHTS \
        --out benchmarks/records/fleet_profile.json

For every number of copies a fleet of runs is put together as `bench run` does, and the step of the
median number of tokens is taken over and over: first to capture it, then with a wait after each
part (encoder forward; heads; encoder backward with Adam), then without any. `useful` is the
arithmetic of the encoder's matrix products over what a large matrix product reaches in this run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from protofit.bench.arms import PAPER_BASELINES
from protofit.bench.fleet.engine import Chunk, make_fleet
from protofit.bench.fleet.graphs import Captured
from protofit.bench.fleet.heads import HeadStep
from protofit.bench.fleet.task import FleetTask
from protofit.bench.fleet.texts import packed_length
from protofit.bench.fleet.voyage import Voyage
from protofit.bench.trial import Trial
from protofit.bench.workbench import Places, Workbench

ARMS = (*PAPER_BASELINES, "raw-init", "raw-snn", "pfit", "pfit-paper")
WARM = 4  # steps before anything is timed: each part runs once, is captured, is replayed
KINDS = (  # a kernel belongs to the first kind whose word is in its name
    ("matrix products", ("gemm", "cutlass", "nvjet", "cublas", "xmma", "addmm", "bmm", "::mm")),
    ("attention", ("_forward", "_backward", "flash", "attention")),
    ("adam", ("_adam", "adam")),
    ("norm and dropout", ("triton", "norm", "dropout")),
)


class Stopwatch:
    """Seconds of a piece, the device's work included."""

    def __init__(self, device: torch.device) -> None:
        self.cuda = device.type == "cuda"

    def wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def __call__(self, piece: Callable[[], Any]) -> float:
        self.wait()
        began = time.perf_counter()
        piece()
        self.wait()
        return time.perf_counter() - began


class Steps:
    """A fleet with its heads at one step of its schedule."""

    def __init__(self, trials: list[Trial], bench: Workbench, task: FleetTask) -> None:
        fast = bench.device.type == "cuda"
        self.fleet = make_fleet(trials[0], task, len(trials), fast=fast)
        self.task = task
        chunk = Chunk(trials, task, self.fleet, bench)
        self.members = [chunk.member(trial) for trial in trials]
        voyage = Voyage(self.fleet, self.members, task.labels)
        tokens = voyage.schedule.tokens
        step = int(np.argsort(tokens)[len(tokens) // 2])
        self.tokens = int(tokens[step])
        self.length = packed_length(self.tokens)
        self.heads = HeadStep(self.members, self.fleet.features, self.fleet.gradient)
        rows = torch.from_numpy(voyage.schedule.rows[step]).to(bench.device)
        self.fleet.rows.copy_(rows)
        self.heads.labels.copy_(task.labels[rows])
        self.captured = Captured(self.fleet.make_pool())

    def parts(self) -> dict[str, Callable[[], None]]:
        """The three parts of a step, in order."""
        return {
            "encoder forward": lambda: self.fleet.forward(self.length),
            "heads": lambda: self.captured.run(self.heads.run),
            "encoder backward and Adam": lambda: self.fleet.backward(self.length),
        }

    def take(self, steps: int) -> None:
        for _ in range(steps):
            for part in self.parts().values():
                part()


def matrix_rate(device: torch.device) -> float:
    """Operations a second of a large square matrix product."""
    cuda = device.type == "cuda"
    size = 8192 if cuda else 512
    factor = torch.randn(size, size, device=device, dtype=torch.bfloat16 if cuda else torch.float32)
    watch = Stopwatch(device)
    watch(lambda: factor @ factor)
    return 2 * size**3 / min(watch(lambda: factor @ factor) for _ in range(5))


def operations(task: FleetTask, tokens: int, copies: int) -> float:
    """Of the matrix products of a step: 2 forward and 4 backward per weight and token."""
    weights = sum(value.numel() for name, value in task.base.items()
                  if value.ndim == 2 and name.partition(".")[0].isdigit())  # fmt: skip
    return 6.0 * weights * tokens * copies


def kernels(steps: Steps, count: int, device: torch.device) -> dict[str, Any]:
    """Shares of the device's time by kind of kernel, and of the wall clock in which any ran."""
    activity = torch.profiler.ProfilerActivity
    kinds = [activity.CPU, *([activity.CUDA] if device.type == "cuda" else [])]
    with torch.profiler.profile(activities=kinds) as profile:
        seconds = Stopwatch(device)(lambda: steps.take(count))
    times: Counter[str] = Counter()
    for event in profile.key_averages():
        cuda = device.type == "cuda"
        own = event.self_device_time_total if cuda else event.self_cpu_time_total
        if not cuda or event.device_type != torch.profiler.DeviceType.CPU:
            times[event.key] += own
    total = sum(times.values()) or 1.0
    by_kind: Counter[str] = Counter()
    for name, own in times.items():
        by_kind[kind_of(name)] += own / total
    return {
        "busy_share": round(total / 1e6 / seconds, 3),
        "by_kind": {kind: round(share, 3) for kind, share in by_kind.most_common()},
        "largest": [[name[:80], round(own / total, 3)] for name, own in times.most_common(12)],
    }


def kind_of(name: str) -> str:
    for kind, words in KINDS:
        if any(word in name.lower() for word in words):
            return kind
    return "other: heads, gathering, casts"


def measure(copies: int, bench: Workbench, task: FleetTask, trials: list[Trial], steps: int) -> Any:
    """One row: times in milliseconds."""
    watch = Stopwatch(bench.device)
    chosen = [trials[i % len(trials)] for i in range(copies)]
    made: list[Steps] = []
    setup = watch(lambda: made.append(Steps(chosen, bench, task)))
    running = made[0]
    capture = watch(lambda: running.take(WARM))
    parts = {
        name: 1000 * median(times)
        for name, times in _timed(running, watch, steps).items()
    }  # fmt: skip
    whole = 1000 * watch(lambda: running.take(steps)) / steps
    heads = [member.head for member in running.members]
    dev = {split: watch(lambda s=split: task.predict(running.fleet, heads, s))  # type: ignore[misc]
           for split in task.labelled.dev}  # fmt: skip
    look = watch(lambda: running.fleet.embed([member.rows for member in running.members]))
    rate = operations(task, running.tokens, copies) / (whole / 1000)
    return {
        "copies": copies, "tokens_per_run": running.tokens, "packed_length": running.length,
        "step_ms": round(whole, 3), "step_ms_per_run": round(whole / copies, 3),
        "parts_ms": {name: round(value, 3) for name, value in parts.items()},
        "teraflops": round(rate / 1e12, 3), "setup_s": round(setup, 2),
        "capture_s": round(capture, 2), "dev_s": {k: round(v, 3) for k, v in dev.items()},
        "look_again_s": round(look, 3), "kernels": kernels(running, 3, bench.device),
    }  # fmt: skip


def _timed(running: Steps, watch: Stopwatch, steps: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in running.parts()}
    for _ in range(steps):
        for name, part in running.parts().items():
            found[name].append(watch(part))
    return found


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--weights-dir", type=Path)
    parser.add_argument("--encoder", default="e5-small")
    parser.add_argument("--sets", nargs="+", default=["sst2", "qnli", "mnli"])
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 8, 15, 30])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--device")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(arguments)
    bench = Workbench(Places(args.data_dir, args.weights_dir, args.device))
    rows = []
    for name in args.sets:
        trials = [Trial(name, args.size, arm, args.encoder, 5e-5, 0, "fair") for arm in ARMS]
        task = FleetTask(trials, bench)
        for copies in args.copies:
            row = {"data": name, **measure(copies, bench, task, trials, args.steps)}
            print(json.dumps(row), flush=True)
            rows.append(row)
    rate = matrix_rate(bench.device)
    record = {
        "what": "milliseconds of a step of a fleet, and where they go",
        "device": bench.device_name, "encoder": args.encoder, "size": args.size,
        "arms": list(ARMS), "matrix_teraflops": round(rate / 1e12, 3),
        "rows": [{**row, "useful": round(1e12 * row["teraflops"] / rate, 4)} for row in rows],
        "versions": {"torch": torch.__version__},
    }  # fmt: skip
    if args.out:
        args.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return record


if __name__ == "__main__":
    main()
