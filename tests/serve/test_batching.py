"""Asks share passes, answers belong to their asks, the queue is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="needs the extra `serve`")

from protofit.serve.batching import Ask, Batcher, BusyError
from protofit.serve.limits import Limits

Scene = Callable[[Batcher], Awaitable[Any]]


class Scribe:
    """Answers an item with itself, and remembers what came together."""

    def __init__(self, slow: float = 0.0, bad: str = "never") -> None:
        self.groups: list[list[int]] = []
        self.slow, self.bad = slow, bad

    def __call__(self, asks: list[Ask]) -> list[list[Any]]:
        import time

        self.groups.append([len(ask.items) for ask in asks])
        time.sleep(self.slow)
        if any(self.bad in ask.items for ask in asks):
            raise ValueError("a bad item")
        return [[(ask.kind, item) for item in ask.items] for ask in asks]


def play(scribe: Scribe, limits: Limits, scene: Scene) -> Any:
    """Run a scene against a batcher that is serving."""

    async def act() -> Any:
        batcher = Batcher(scribe, limits)
        async with batcher.running():
            return await scene(batcher)

    return asyncio.run(asyncio.wait_for(act(), 20))


def test_asks_that_arrive_together_share_a_pass() -> None:
    scribe = Scribe()

    async def scene(batcher: Batcher) -> Any:
        return await asyncio.gather(*[batcher.ask(Ask("predict", [i])) for i in range(20)])

    answers = play(scribe, Limits(wait_ms=50), scene)
    assert answers == [[("predict", i)] for i in range(20)]
    assert scribe.groups == [[1] * 20]


def test_asks_that_arrive_during_a_pass_share_the_next() -> None:
    scribe = Scribe(slow=0.1)

    async def scene(batcher: Batcher) -> Any:
        first = asyncio.create_task(batcher.ask(Ask("predict", ["a"])))
        await asyncio.sleep(0.05)
        rest = [batcher.ask(Ask("explain", [i])) for i in range(5)]
        return [await first, *await asyncio.gather(*rest)]

    answers = play(scribe, Limits(wait_ms=0), scene)
    assert answers == [[("predict", "a")], *[[("explain", i)] for i in range(5)]]
    assert scribe.groups == [[1], [1] * 5]


def test_a_pass_has_a_bound() -> None:
    scribe = Scribe()

    async def scene(batcher: Batcher) -> Any:
        return await asyncio.gather(*[batcher.ask(Ask("predict", [i] * 3)) for i in range(7)])

    play(scribe, Limits(wait_ms=20, shared_texts=8), scene)
    assert scribe.groups == [[3, 3], [3, 3], [3, 3], [3]]


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=25),
    shared=st.integers(1, 12),
    wait=st.sampled_from([0.0, 2.0]),
)
def test_every_ask_gets_its_own_answers_in_order(
    sizes: list[int], shared: int, wait: float
) -> None:
    asks = [Ask("predict", [(i, j) for j in range(size)]) for i, size in enumerate(sizes)]

    async def scene(batcher: Batcher) -> Any:
        found = await asyncio.gather(*[batcher.ask(ask) for ask in asks])
        return found, batcher.queued, batcher.counts

    scribe = Scribe()
    found, queued, counts = play(scribe, Limits(wait_ms=wait, shared_texts=shared), scene)
    assert found == [[("predict", item) for item in ask.items] for ask in asks]
    assert queued == 0
    assert counts.texts == sum(sizes)
    assert all(len(group) == 1 or sum(group) <= shared for group in scribe.groups)


def test_a_full_queue_refuses_at_once_and_recovers() -> None:
    scribe = Scribe(slow=0.2)
    limits = Limits(wait_ms=0, batch_items=4, queue_texts=4, shared_texts=1)

    async def scene(batcher: Batcher) -> Any:
        first = asyncio.create_task(batcher.ask(Ask("predict", [0])))
        await asyncio.sleep(0.05)  # it is being answered, and no longer waits
        waiting = [asyncio.create_task(batcher.ask(Ask("predict", [i]))) for i in (1, 2, 3, 4)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="4 texts are waiting"):
            await batcher.ask(Ask("predict", [5]))
        await asyncio.gather(first, *waiting)
        return await batcher.ask(Ask("predict", [6])), batcher.counts.refused

    assert play(scribe, limits, scene) == ([("predict", 6)], 1)


def test_only_the_guilty_ask_fails() -> None:
    async def scene(batcher: Batcher) -> Any:
        asks = [batcher.ask(Ask("predict", [word])) for word in ("a", "evil", "b")]
        return await asyncio.gather(*asks, return_exceptions=True)

    first, bad, last = play(Scribe(bad="evil"), Limits(wait_ms=20), scene)
    assert (first, last) == ([("predict", "a")], [("predict", "b")])
    assert isinstance(bad, ValueError)


def test_an_ask_that_was_given_up_costs_no_pass() -> None:
    scribe = Scribe(slow=0.1)

    async def scene(batcher: Batcher) -> Any:
        first = asyncio.create_task(batcher.ask(Ask("predict", ["a"])))
        await asyncio.sleep(0.05)
        gone = asyncio.create_task(batcher.ask(Ask("predict", ["gone"])))
        await asyncio.sleep(0)
        gone.cancel()
        await first
        return await batcher.ask(Ask("predict", ["b"]))

    assert play(scribe, Limits(wait_ms=0), scene) == [("predict", "b")]
    assert scribe.groups == [[1], [1]]


def test_other_work_takes_turns_on_the_same_thread() -> None:
    import threading

    async def scene(batcher: Batcher) -> Any:
        names = await asyncio.gather(
            *[batcher.call(lambda: threading.current_thread().name) for _ in range(3)]
        )
        return set(names)

    assert len(play(Scribe(), Limits(), scene)) == 1


def test_who_waits_when_the_server_stops_is_told() -> None:
    async def act() -> Any:
        batcher = Batcher(Scribe(slow=0.1), Limits(wait_ms=0))
        async with batcher.running():
            asks = [asyncio.create_task(batcher.ask(Ask("predict", [i]))) for i in range(2)]
            await asyncio.sleep(0.01)
            late = asyncio.create_task(batcher.ask(Ask("predict", ["late"])))
            await asyncio.sleep(0)
        return await asyncio.gather(*asks, late, return_exceptions=True)

    answers = asyncio.run(asyncio.wait_for(act(), 20))
    assert len(answers) == 3
    assert isinstance(answers[-1], asyncio.CancelledError)


def test_it_can_run_again_after_it_stopped() -> None:
    batcher = Batcher(Scribe(), Limits(wait_ms=0))

    async def act() -> Any:
        async with batcher.running():
            return await batcher.ask(Ask("predict", ["a"]))

    assert [asyncio.run(act()) for _ in range(2)] == [[("predict", "a")]] * 2
    with pytest.raises(RuntimeError, match="not running"):
        asyncio.run(batcher.call(list))
