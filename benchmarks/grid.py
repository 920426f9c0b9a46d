"""Run all specs on one machine, the most wanted first, within a time limit.

    python benchmarks/grid.py --data-dir DATA --weights-dir WEIGHTS --minutes 25
    python benchmarks/grid.py --plan

What is recorded, by this or an earlier version of the code with the settings of today, is not run
again. It may be killed at any time: at most the runs in the making are lost. For every spec a line
is added to grid.jsonl beside the records' folder: runs, minutes, and how busy the GPU was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean
from typing import Any

from protofit.bench.clock import Clock
from protofit.bench.engines import stackable
from protofit.bench.plan import Shard
from protofit.bench.progress import Listener
from protofit.bench.records import Record
from protofit.bench.runner import Bench, Options
from protofit.bench.spec import records_folder
from protofit.bench.version import code_version
from protofit.bench.workbench import Places
from protofit.cli.bench import time_left
from protofit.errors import ProtoFitError

HERE = Path(__file__).resolve().parent
ORDER = (  # by how much of the page depends on it
    "e5-fair", "stsb", "e5-paper", "e5-ablations", "bge-fair", "minilm-fair", "mpnet-fair", "peers",
)  # fmt: skip
SMI = ["nvidia-smi", "--query-gpu=utilization.gpu,memory.used,power.draw",
       "--format=csv,noheader,nounits", "--loop-ms=500"]  # fmt: skip


class GpuWatch:
    """Reads twice a second how busy the first GPU is; nothing where there is none."""

    def __init__(self, command: list[str] = SMI) -> None:
        self.samples: list[list[float]] = []
        self.process: Any = None
        with suppress(OSError):
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with suppress(ValueError):
                self.samples.append([float(part) for part in line.split(",")])

    def end(self) -> dict[str, Any] | None:
        """Mean share of the time in which a kernel ran, mean watts, most memory."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if not self.samples:
            return None
        busy, memory, watts = zip(*self.samples, strict=True)
        return {
            "samples": len(busy), "busy_share": round(fmean(busy) / 100, 3),
            "watts": round(fmean(watts)), "memory_gib": round(max(memory) / 1024, 1),
        }  # fmt: skip


class Lines(Listener):
    """A line now and then, for logs."""

    def __init__(self, name: str, every: float = 30.0) -> None:
        self.name, self.every = name, every
        self.runs = self.done = 0
        self.began = self.told = time.monotonic()

    def begin(self, runs: int, steps: int) -> None:  # noqa: ARG002
        self.runs = runs

    def advance(self, record: Record, steps: int) -> None:  # noqa: ARG002
        self.done += 1
        now = time.monotonic()
        if now - self.told > self.every:
            self.told = now
            pace = 60 * self.done / (now - self.began)
            say(f"{self.name}: {self.done} of {self.runs}, {pace:.0f} a minute")


def say(text: str) -> None:
    print(text, flush=True)


def make_bench(name: str, args: argparse.Namespace, minutes: float | None = None) -> Bench:
    """The spec with its records; encoders that no fleet can hold run in several processes."""
    places = Places(
        data_dir=args.data_dir, weights_dir=args.weights_dir, device=args.device,
        peers_python=args.peers_python, peers_dir=HERE / "peers",
    )  # fmt: skip
    options = Options(
        places=places, records_dir=args.records_dir, mix_versions=True, minutes=minutes,
        shard=Shard.parse(args.shard), engine=args.engine,
    )  # fmt: skip
    bench = Bench(args.specs_dir / f"{name}.toml", options)
    alone = args.engine == "auto" and bench.workbench.device.type == "cuda"
    if alone and name != "peers" and not stackable(bench.spec.encoder, bench.workbench):
        bench.options = Options(**{**vars(options), "workers": args.workers})
    return bench


def run_spec(name: str, args: argparse.Namespace, clock: Clock) -> None:
    """Run what is left of a spec, and note how it went."""
    began, started = time.monotonic(), datetime.now(timezone.utc).isoformat("T", "seconds")
    watch = GpuWatch()
    done: dict[str, Any] = {}
    lines = Lines(name)
    try:
        bench = make_bench(name, args, clock.minutes_left())
        done = bench.run(lines)
    except (ProtoFitError, RuntimeError, OSError) as error:
        done = {"stopped_by": " ".join(str(error).split())[:300]}
        say(f"{name}: {done['stopped_by']}")
    seconds, gpu = time.monotonic() - began, watch.end()
    if not lines.done:
        return
    left = done.get("left", lines.runs - lines.done)
    line = {
        "spec": name, "started": started, "seconds": round(seconds, 1), "runs": lines.done,
        "left": left, "runs_per_minute": round(60 * lines.done / seconds, 1),
        "device": bench.workbench.device_name, "gpu": gpu, "code": code_version(),
    }  # fmt: skip
    say(json.dumps(line))
    folder = args.records_dir or records_folder(args.specs_dir / f"{name}.toml")
    with (folder.parent / "grid.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, **{k: v for k, v in done.items() if k == "stopped_by"}}))
        file.write("\n")


def print_plan(args: argparse.Namespace) -> int:
    """A line per spec; the number of runs that are left."""
    total = 0
    for name in args.specs:
        try:
            found: Any = make_bench(name, args).plan()
        except (ProtoFitError, OSError) as error:
            say(f"{name:14} {error}")
            continue
        total += found["waiting"]
        impossible = f", {found['skipped']} impossible here" if found["skipped"] else ""
        say(f"{name:14} {found['done']:5} of {found['runs']:5} done, {found['waiting']:5} left"
            f"{impossible}; time: {time_left(found)}")  # fmt: skip
    say(f"{total} left")
    return total


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", action="store_true", help="say what is left, run nothing")
    parser.add_argument("--minutes", type=float, help="begin nothing that would end later")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--weights-dir", type=Path)
    parser.add_argument("--records-dir", type=Path, help="records/bench beside the specs' folder")
    parser.add_argument("--specs-dir", type=Path, default=HERE / "specs")
    parser.add_argument("--specs", nargs="+", default=ORDER, help="in this order")
    parser.add_argument("--peers-python", help="python of the environment of the external arms")
    parser.add_argument("--workers", type=int, default=4, help="where no fleet can be used")
    parser.add_argument("--shard", help="i/n: a part of all runs, on one of several machines")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--device")
    args = parser.parse_args(arguments)
    if args.plan:
        print_plan(args)
        return
    clock = Clock(args.minutes)
    for name in args.specs:
        if clock.allows():
            run_spec(name, args, clock)


if __name__ == "__main__":
    sys.exit(main())
