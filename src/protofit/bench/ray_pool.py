"""Trials as Ray tasks: the same runs on several machines, by an engine that exists."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from protofit.bench.clock import Clock
from protofit.bench.records import Record
from protofit.bench.trial import Trial
from protofit.bench.workbench import Places, Workbench
from protofit.errors import InputError


class RayWorker:
    """An actor: its sets and tokens stay between trials."""

    def __init__(self, places: Places) -> None:
        self.bench = Workbench(places)

    def run(self, trial: Trial) -> Record:
        """The record of one trial."""
        from protofit.bench.loop_engine import run_trial

        return run_trial(trial, self.bench)


def over_ray(
    trials: Sequence[Trial], places: Places, workers: int, clock: Clock | None = None
) -> Iterator[Record]:
    """A record for each trial as it ends.

    Joins the cluster that RAY_ADDRESS names, else starts one here. Folders must be the same on
    every machine. RAY_AUTH_MODE=disabled keeps Ray from writing a token into the home folder.
    """
    ray = _ray()
    started = not ray.is_initialized()
    if started:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        share = _share(ray, workers)
        remote = ray.remote(**share)(RayWorker)
        crew = import_module("ray.util").ActorPool([remote.remote(places) for _ in range(workers)])
        yield from _work_off(crew, deque(trials), clock or Clock())
    finally:
        if started:
            ray.shutdown()


def _work_off(crew: Any, waiting: deque[Trial], clock: Clock) -> Iterator[Record]:
    """Give a free worker the next trial, as long as the clock allows."""
    while True:
        while waiting and crew.has_free() and clock.allows():
            crew.submit(lambda actor, trial: actor.run.remote(trial), waiting.popleft())
        if not crew.has_next():
            return
        yield crew.get_next_unordered()


def _share(ray: Any, workers: int) -> dict[str, float]:
    """Of the cluster's processors and GPUs, what one worker takes."""
    there = ray.cluster_resources()
    share = {"num_cpus": max(1.0, there.get("CPU", 1) // workers)}
    if there.get("GPU"):
        share["num_gpus"] = there["GPU"] / workers
    return share


def _ray() -> Any:
    try:
        return import_module("ray")
    except ImportError as error:
        raise InputError(
            f"the package ray is not here ({error})", where="--ray", fix="Run: pip install ray."
        ) from None
