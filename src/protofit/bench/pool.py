"""Trials over processes: each worker runs one at a time and dies with its parent."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from protofit.bench.clock import Clock
from protofit.bench.records import Record
from protofit.bench.trial import Trial
from protofit.bench.workbench import Places, Workbench
from protofit.errors import ProtoFitError


def over_processes(
    trials: Sequence[Trial], places: Places, workers: int, clock: Clock | None = None
) -> Iterator[Record]:
    """A record for each trial as it ends; nothing is lost but what was running at a kill."""
    waiting, clock = deque(trials), clock or Clock()
    crew = _hire(places, min(workers, len(waiting)), threads_of(workers))
    busy: dict[Any, Trial] = {}
    try:
        for pipe in crew:
            _give(pipe, waiting, busy, clock)
        while busy:
            for pipe in wait(list(busy)):
                result = _result(pipe, crew, busy.pop(pipe))
                _give(pipe, waiting, busy, clock)
                yield result
    finally:
        for pipe, process in crew.items():
            process.kill()
            process.join()
            pipe.close()


def threads_of(workers: int) -> int:
    """Cores of each of so many workers; no more than OMP_NUM_THREADS, where it is set."""
    share = max(1, (os.cpu_count() or 1) // workers)
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return min(share, int(allowed)) if allowed.isdigit() and int(allowed) else share


def _hire(places: Places, workers: int, threads: int) -> dict[Any, Any]:
    context = multiprocessing.get_context("spawn")
    crew: dict[Any, Any] = {}
    with _environment(OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="PASSIVE"):
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, places, threads), daemon=True)
            process.start()
            theirs.close()
            crew[ours] = process
    return crew


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _give(pipe: Any, waiting: deque[Trial], busy: dict[Any, Trial], clock: Clock) -> None:
    if waiting and clock.allows():
        trial = waiting.popleft()
        busy[pipe] = trial
        with contextlib.suppress(BrokenPipeError):  # told when its end of the pipe is read
            pipe.send(trial)


def _result(pipe: Any, crew: dict[Any, Any], trial: Trial) -> Record:
    try:
        result = pipe.recv()
    except (EOFError, ConnectionResetError):
        crew[pipe].join()
        code = crew[pipe].exitcode
        raise ProtoFitError(
            f"a worker died with exit code {code}",
            where=str(trial),
            fix="Run again with fewer --workers: what is recorded is kept.",
        ) from None
    if isinstance(result, BaseException):
        raise result
    return dict(result)


def _work(pipe: Connection, places: Places, threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_die_with_parent, daemon=True).start()
    import torch

    from protofit.bench.loop_engine import run_trial

    torch.set_num_threads(threads)
    bench = Workbench(places)
    with contextlib.suppress(EOFError):
        while True:
            trial = pipe.recv()
            try:
                result: Any = run_trial(trial, bench)
            except ProtoFitError as error:
                result = error
            pipe.send(result)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
