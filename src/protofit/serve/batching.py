"""Requests that arrive within a few milliseconds share one pass through the encoder.

One thread touches the model: passes, edits and look-ups take turns on it. Requests wait in a
bounded queue; when it is full, the next one is refused at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, ParamSpec, TypeVar

from protofit.errors import ProtoFitError
from protofit.serve.limits import Limits

Kind = Literal["predict", "explain"]
P = ParamSpec("P")
R = TypeVar("R")


class BusyError(ProtoFitError):
    """More texts are waiting than the queue holds."""


@dataclass(frozen=True)
class Ask:
    """Texts or pairs of one request, and what it wants to know of each."""

    kind: Kind
    items: Sequence[Any]


Answer = Callable[[list[Ask]], list[list[Any]]]  # one list for each ask, one result for each item


@dataclass
class _Job(Generic[R]):
    ask: Ask
    future: asyncio.Future[R]
    arrived: float


@dataclass
class Counts:
    """What the batcher has done since it began."""

    passes: int = 0
    texts: int = 0
    refused: int = 0
    largest: int = 0  # texts in one pass


@dataclass
class Batcher:
    """Collects asks, answers them together on one thread, and hands each its own results."""

    answer: Answer
    limits: Limits = field(default_factory=Limits)
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None  # lives as long as `running`
        self._jobs: deque[_Job[list[Any]]] = deque()
        self._queued = 0  # texts
        self._wake = asyncio.Event()

    @property
    def queued(self) -> int:
        """Texts that wait for a pass."""
        return self._queued

    async def ask(self, ask: Ask) -> list[Any]:
        """The result of each item, in order; `BusyError` when the queue is full."""
        if self._queued + len(ask.items) > self.limits.queue_texts:
            self.counts.refused += 1
            raise BusyError(f"{self._queued} texts are waiting already", fix="Try again in 1 s.")
        loop = asyncio.get_running_loop()
        job: _Job[list[Any]] = _Job(ask, loop.create_future(), loop.time())
        self._jobs.append(job)
        self._queued += len(ask.items)
        self._wake.set()
        return await job.future

    async def call(self, function: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
        """Run something else on the model's thread, between two passes."""
        if self._thread is None:
            raise RuntimeError("the batcher is not running")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: function(*args, **named))

    @contextlib.asynccontextmanager
    async def running(self) -> Any:
        """Answer asks inside; outside, whoever still waits is told that the server stopped.

        It can be entered again afterwards, from another event loop too.
        """
        self._wake = asyncio.Event()
        self._thread = thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        task = asyncio.create_task(self._serve())
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            for job in self._take(everything=True):
                job.future.cancel()
            self._thread = None
            thread.shutdown(wait=True, cancel_futures=True)

    async def _serve(self) -> None:
        while True:
            await self._gather()
            jobs = [job for job in self._take() if not job.future.done()]
            if jobs:
                await self._pass(jobs)

    async def _gather(self) -> None:
        """Wait for a first ask, then for company until its time is up or the pass is full."""
        loop = asyncio.get_running_loop()
        while not self._jobs:
            self._wake.clear()
            await self._wake.wait()
        deadline = self._jobs[0].arrived + self.limits.wait_ms / 1000
        late = loop.time() >= deadline

        def ring() -> None:
            nonlocal late
            late = True
            self._wake.set()

        alarm = loop.call_at(deadline, ring)
        while self._queued < self.limits.shared_texts and not late:
            self._wake.clear()
            await self._wake.wait()
        alarm.cancel()

    def _take(self, *, everything: bool = False) -> list[_Job[list[Any]]]:
        """The oldest asks that fit one pass; at least one."""
        taken: list[_Job[list[Any]]] = []
        texts = 0
        while self._jobs:
            size = len(self._jobs[0].ask.items)
            if taken and not everything and texts + size > self.limits.shared_texts:
                break
            taken.append(self._jobs.popleft())
            texts += size
        self._queued -= texts
        return taken

    async def _pass(self, jobs: list[_Job[list[Any]]]) -> None:
        texts = sum(len(job.ask.items) for job in jobs)
        self.counts.passes += 1
        self.counts.texts += texts
        self.counts.largest = max(self.counts.largest, texts)
        try:
            results = await self.call(self.answer, [job.ask for job in jobs])
        except asyncio.CancelledError:
            for job in jobs:
                job.future.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
            await self._blame(jobs, error)
            return
        for job, result in zip(jobs, results, strict=True):
            if not job.future.done():
                job.future.set_result(result)

    async def _blame(self, jobs: list[_Job[list[Any]]], error: Exception) -> None:
        """A failed pass is answered one by one, so that only the guilty ask fails."""
        if len(jobs) > 1:
            for job in jobs:
                await self._pass([job])
        elif not jobs[0].future.done():
            jobs[0].future.set_exception(error)
