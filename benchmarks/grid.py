"""Run all specs on one machine, the most wanted first, within a time limit.

    python benchmarks/grid.py --data-dir DATA --weights-dir WEIGHTS --minutes 25
    python benchmarks/grid.py --plan

What is recorded, by this or an earlier version of the code with the settings of today, is not run
again. It may be killed at any time: at most the runs in the making are lost. For every spec a line
is added to grid.jsonl beside the records' folder: runs, minutes, and how busy the GPU was.

With `--processes 3` three processes share the runs and the GPU: one prepares while others compute.
One that fails is started again once. The exit code is 1 where a spec was stopped by an error.
"""

from __future__ import annotations

import argparse
import json
import os
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
from protofit.bench.workbench import Places, Workbench
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


def make_workbench(args: argparse.Namespace) -> Workbench:
    """One for all specs: a set is read once, and tokenised once for an encoder."""
    return Workbench(
        Places(
            data_dir=args.data_dir, weights_dir=args.weights_dir, device=args.device,
            peers_python=args.peers_python, peers_dir=HERE / "peers",
        )
    )  # fmt: skip


def make_bench(
    name: str, args: argparse.Namespace, known: Workbench, minutes: float | None = None
) -> Bench:
    """The spec with its records; encoders that no fleet can hold run in several processes."""
    options = Options(
        places=known.places, records_dir=args.records_dir, mix_versions=True, minutes=minutes,
        shard=Shard.parse(args.shard), engine=args.engine, copies=args.copies,
    )  # fmt: skip
    bench = Bench(args.specs_dir / f"{name}.toml", options, known)
    alone = args.engine == "auto" and bench.workbench.device.type == "cuda"
    if alone and name != "peers" and not stackable(bench.spec.encoder, bench.workbench):
        workers = max(1, args.workers // args.beside)
        bench.options = Options(**{**vars(options), "workers": workers})
    return bench


def run_spec(name: str, args: argparse.Namespace, known: Workbench, clock: Clock) -> bool:
    """Run what is left of a spec, and note how it went; False where an error stopped it."""
    began, started = time.monotonic(), datetime.now(timezone.utc).isoformat("T", "seconds")
    watch = GpuWatch()
    done: dict[str, Any] = {}
    lines = Lines(name)
    try:
        bench = make_bench(name, args, known, clock.minutes_left())
        done = bench.run(lines)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other specs are run
        done = {"stopped_by": " ".join(str(error).split())[:300] or type(error).__name__}
        say(f"{name}: {done['stopped_by']}")
    seconds, gpu = time.monotonic() - began, watch.end()
    well = "stopped_by" not in done
    if not lines.done:
        return well
    left = done.get("left", lines.runs - lines.done)
    line = {
        "spec": name, "started": started, "seconds": round(seconds, 1), "runs": lines.done,
        "left": left, "runs_per_minute": round(60 * lines.done / seconds, 1),
        "beside": args.beside, "device": bench.workbench.device_name, "gpu": gpu,
        "code": code_version(),
    }  # fmt: skip
    say(json.dumps(line))
    folder = args.records_dir or records_folder(args.specs_dir / f"{name}.toml")
    with (folder.parent / "grid.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, **{k: v for k, v in done.items() if k == "stopped_by"}}))
        file.write("\n")
    return well


def run_processes(args: argparse.Namespace, arguments: list[str]) -> int:
    """This script in several processes, each with its part of the runs; 1 where one failed."""
    clock, own = Clock(args.minutes), Shard.parse(args.shard)

    def start(part: str) -> subprocess.Popen[bytes]:
        left = clock.minutes_left()
        more = [] if left is None else ["--minutes", str(left)]
        command = [
            sys.executable, __file__, *arguments, "--processes", "1", "--shard", part,
            "--beside", str(args.processes), *more,
        ]  # fmt: skip
        return subprocess.Popen(command, stdin=subprocess.PIPE)  # its end is this process's end

    count = own.count * args.processes
    parts = [f"{own.index + own.count * i}/{count}" for i in range(args.processes)]
    running, fresh, failed = {part: start(part) for part in parts}, set(parts), False
    while running:
        time.sleep(0.2)
        for part, process in list(running.items()):
            code = process.poll()
            if code is None:
                continue
            del running[part]
            if code and part in fresh and clock.allows():
                say(f"part {part} ended with exit code {code} and is started again")
                fresh.remove(part)
                running[part] = start(part)
            else:
                failed |= bool(code)
    return int(failed)


def end_with_parent() -> None:
    """Wait for the end of the process that started this one."""
    while os.read(0, 1):
        pass
    os._exit(1)


def print_plan(args: argparse.Namespace) -> int:
    """A line per spec; the number of runs that are left."""
    total, known = 0, make_workbench(args)
    for name in args.specs:
        try:
            found: Any = make_bench(name, args, known).plan()
        except (ProtoFitError, OSError) as error:
            say(f"{name:14} {error}")
            continue
        total += found["waiting"]
        impossible = f", {found['skipped']} impossible here" if found["skipped"] else ""
        say(f"{name:14} {found['done']:5} of {found['runs']:5} done, {found['waiting']:5} left"
            f"{impossible}; time: {time_left(found)}")  # fmt: skip
    say(f"{total} left")
    return total


def main(arguments: list[str] | None = None) -> int:
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
    parser.add_argument("--processes", type=int, default=1, help="that share the runs and the GPU")
    parser.add_argument("--beside", type=int, default=1, help=argparse.SUPPRESS)  # so many do
    parser.add_argument("--copies", type=int, help="runs side by side in a fleet")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--device")
    args = parser.parse_args(arguments)
    if args.plan:
        print_plan(args)
        return 0
    if args.processes > 1:
        return run_processes(args, sys.argv[1:] if arguments is None else arguments)
    if args.beside > 1:
        threading.Thread(target=end_with_parent, daemon=True).start()
    clock, known, well = Clock(args.minutes), make_workbench(args), True
    for name in args.specs:
        if clock.allows():
            well &= run_spec(name, args, known, clock)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
