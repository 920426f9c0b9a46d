"""200 clients of `protofit serve` at once: passes that are shared against one text at a time.

    python benchmarks/server_load.py --out benchmarks/records/server_load.json
    python benchmarks/server_load.py --model M --rounds 4     # a model folder that is there

Two servers of the same model run beside each other on 127.0.0.1, each in a process of its own: one
as `protofit serve` starts it, the other with passes of one text. A round is a storm on the one and
then on the other, in random order: 200 connections that all ask at once, and ask again when they
are answered. The figures are ratios within a round, of throughput, latency and processor time of
the server, with a bootstrap interval over the rounds. Before that every text is asked alone; every
later answer must be the same. Processor time is read from /proc, so this needs Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from loopback import Answered, one_by_one, storm

from protofit import __version__
from protofit.bench.stats import bootstrap_interval
from protofit.serve.limits import Limits

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "tickets"
ARMS = {"shared passes": Limits(), "one by one": Limits(shared_texts=1, wait_ms=0)}
ENDPOINTS = ("predict", "explain")
TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds
TOLERANCE = 1e-4  # of a probability, between an answer under load and one given alone


@dataclass(frozen=True)
class Server:
    """A server in a process of its own."""

    port: int
    process: int

    def busy(self) -> float:
        """Seconds of processor time so far."""
        said = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8")
        user, system = said.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) * TICK


@dataclass
class Rounds:
    """What was measured of one arm, a row or a number for each round."""

    seconds: list[list[float]] = field(default_factory=list)  # of each request
    rates: list[float] = field(default_factory=list)  # requests per second
    busy: list[float] = field(default_factory=list)  # processor seconds per request


def main() -> None:
    """Measure, or be one of the two servers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a model folder; the example is trained without")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--each", type=int, default=2, help="requests of a client in a round")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1, help="of each server's model")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--be", choices=list(ARMS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.be:
        be_server(options.model, ARMS[options.be], options.threads)
        return
    with tempfile.TemporaryDirectory() as scratch:
        model = options.model or train(Path(scratch) / "tickets")
        record = measure(model, options)
    said = json.dumps(record, indent=2)
    print(said)
    if options.out:
        options.out.write_text(said + "\n", encoding="utf-8")
    if any(found["different"] for found in record["endpoints"].values()):
        sys.exit("an answer under load differs from the answer given alone")


def train(folder: Path) -> Path:
    """A model of the bundled example, as a reader would train it."""
    command = [sys.executable, "-m", "protofit", "train", EXAMPLE / "train.csv", "--keep-texts"]
    subprocess.run([*command, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def measure(model: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The record: both endpoints, both arms."""
    texts = example_texts(options.clients)
    with contextlib.ExitStack() as stack:
        servers = {arm: serving(model, arm, options.threads) for arm in ARMS}
        running = {arm: stack.enter_context(server) for arm, server in servers.items()}
        endpoints = {name: measured(f"/api/{name}", running, texts, options) for name in ENDPOINTS}
    return {
        "what": "requests of many clients at once to `protofit serve` on loopback",
        "model": "PFit on the embedded encoder, trained on examples/tickets",
        "clients": options.clients,
        "requests_per_round": options.clients * options.each,
        "rounds": options.rounds,
        "threads": options.threads,
        "tolerance": TOLERANCE,
        "load_before": round(os.getloadavg()[0], 1),  # what else was running
        "protofit": __version__,
        "python": platform.python_version(),
        "torch": version("torch"),
        "endpoints": endpoints,
    }


def example_texts(count: int) -> list[str]:
    """Different texts of the bundled example, held-out ones first."""
    texts = []
    for name in ("test", "train"):
        with (EXAMPLE / f"{name}.csv").open(encoding="utf-8", newline="") as rows:
            texts += [row["text"] for row in csv.DictReader(rows)]
    return list(dict.fromkeys(texts))[:count]


@contextlib.contextmanager
def serving(model: Path, arm: str, threads: int) -> Iterator[Server]:
    """A server that is ready."""
    command = [sys.executable, __file__, "--be", arm, "--model", model, "--threads", str(threads)]
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(threads)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        yield Server(int(process.stdout.readline()), process.pid)
    finally:
        process.terminate()
        process.wait(30)


def be_server(model: Path, limits: Limits, threads: int) -> None:
    """Serve until terminated; the port is told on standard output."""
    import torch

    from protofit.model.bundle import Bundle
    from protofit.serve.app import create_app
    from protofit.serve.model_desk import ModelDesk
    from protofit.serve.run import bind, serve

    torch.set_num_threads(threads)
    desk = ModelDesk(Bundle.load(model), model)
    desk.warm(["a"])
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        serve(create_app(desk, limits), listener, lambda: print(port, flush=True))


def measured(
    path: str, servers: dict[str, Server], texts: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    """One endpoint under load: interleaved rounds, and what was said differently from alone."""
    draw = np.random.default_rng(0)
    alone = asyncio.run(one_by_one(servers["one by one"].port, path, texts))
    truth = [answer.body for answer in alone]
    arms = {arm: Rounds() for arm in ARMS}
    gaps: list[float] = []
    for round_ in range(options.rounds + 1):
        for arm in draw.permutation(list(ARMS)):
            kept = arms[arm] if round_ else Rounds()  # the first one warms up
            answers = one_round(servers[arm], path, texts, options.each, kept)
            gaps += [gap(answer, truth) for answer in answers]
    shared, single = (arms[arm] for arm in ARMS)
    return {
        "alone_p50_ms": milliseconds(np.median([answer.seconds for answer in alone])),
        "answers_compared": len(gaps),
        "different": sum(found > TOLERANCE for found in gaps),
        "largest_gap": float(np.format_float_positional(max(gaps), 3, fractional=False)),
        "arms": {arm: summary(found) for arm, found in arms.items()},
        "ratios": {
            "throughput": ratio(shared.rates, single.rates),
            "processor time": ratio(shared.busy, single.busy),
            "p50": ratio(*[np.median(each.seconds, axis=1) for each in (shared, single)]),
            "p99": ratio(*[np.quantile(each.seconds, 0.99, axis=1) for each in (shared, single)]),
        },
    }


def one_round(
    server: Server, path: str, texts: Sequence[str], each: int, kept: Rounds
) -> list[Answered]:
    """One storm; what it took goes to `kept`."""
    before, began = server.busy(), time.perf_counter()
    answers = asyncio.run(storm(server.port, path, texts, each))
    kept.rates.append(len(answers) / (time.perf_counter() - began))
    kept.busy.append((server.busy() - before) / len(answers))
    kept.seconds.append([answer.seconds for answer in answers])
    return answers


def gap(answer: Answered, truth: Sequence[Any]) -> float:
    """Largest difference of a probability to the answer given alone; infinite for another label."""
    expected = truth[answer.text]
    if answer.status != 200 or answer.body["prediction"] != expected["prediction"]:
        return float("inf")
    found, given = answer.body["probabilities"], expected["probabilities"]
    return float(np.max(np.abs(np.subtract(found, given))))


def summary(rounds: Rounds) -> dict[str, float]:
    """Latency over all requests; throughput and processor time as medians of the rounds."""
    p50, p99 = np.quantile(np.ravel(rounds.seconds), [0.5, 0.99])
    return {
        "p50_ms": milliseconds(p50),
        "p99_ms": milliseconds(p99),
        "requests_per_second": round(float(np.median(rounds.rates)), 1),
        "processor_ms_per_request": milliseconds(np.median(rounds.busy)),
    }


def milliseconds(seconds: Any) -> float:
    """With a tenth."""
    return round(1000 * float(seconds), 1)


def ratio(over: Any, under: Any) -> dict[str, Any]:
    """Geometric mean of the ratios of the rounds with its bootstrap interval."""
    found = bootstrap_interval(np.log(np.divide(over, under)).tolist())
    mean, low, high = (round(float(np.exp(x)), 3) for x in (found.mean, found.low, found.high))
    return {"ratio": mean, "interval95": [low, high]}


if __name__ == "__main__":
    main()
