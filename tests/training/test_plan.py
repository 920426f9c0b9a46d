"""The steps of a run and the learning rate of each."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.config.train import TrainConfig
from protofit.training.plan import make_plan, rate_factor

some = settings(max_examples=100, deadline=None)


@pytest.mark.parametrize(
    ("examples", "changes", "batches", "per_epoch", "total"),
    [
        (100, {}, 4, 4, 300),  # the floor
        (100, {"min_steps": 0}, 4, 4, 20),
        (100, {"min_steps": 0, "max_steps": 7}, 4, 4, 7),
        (100, {"max_steps": 7}, 4, 4, 7),  # the ceiling is stronger than the floor
        (100, {"min_steps": 0, "accumulate": 3}, 4, 2, 10),
        (10_000, {}, 313, 313, 1565),
        (1, {"min_steps": 0, "epochs": 1}, 1, 1, 1),
    ],
)
def test_plan(
    examples: int, changes: dict[str, int], batches: int, per_epoch: int, total: int
) -> None:
    plan = make_plan(examples, TrainConfig(**changes))  # type: ignore[arg-type]
    assert (plan.batches_per_epoch, plan.steps_per_epoch, plan.total_steps) == (
        batches,
        per_epoch,
        total,
    )


@some
@given(st.integers(1, 5000), st.integers(1, 64), st.integers(1, 5), st.integers(1, 9))
def test_epochs_cover_the_steps(examples: int, size: int, accumulate: int, epochs: int) -> None:
    config = TrainConfig(batch_size=size, accumulate=accumulate, epochs=epochs)
    plan = make_plan(examples, config)
    assert plan.total_steps >= max(300, epochs)
    assert (plan.epochs - 1) * plan.steps_per_epoch < plan.total_steps
    assert plan.epochs * plan.steps_per_epoch >= plan.total_steps
    assert plan.steps_per_epoch == math.ceil(plan.batches_per_epoch / accumulate)
    assert plan.batches_per_epoch * size >= examples > (plan.batches_per_epoch - 1) * size


def rates(total: int, config: TrainConfig) -> list[float]:
    return [rate_factor(step, total, config) for step in range(total)]


def test_warm_up_then_a_straight_line_to_zero() -> None:
    got = rates(10, TrainConfig(warmup_share=0.2))
    assert got == pytest.approx([0.5, 1.0, 1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])


def test_constant_after_warm_up() -> None:
    config = TrainConfig(schedule="constant", warmup_share=0.5)
    assert rates(4, config) == [0.5, 1.0, 1.0, 1.0]
    assert rates(4, TrainConfig.preset("paper")) == [1.0] * 4


@some
@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from(["linear", "constant"]))
def test_the_rate_is_always_a_share_of_the_peak(total: int, share: float, schedule: str) -> None:
    config = TrainConfig(warmup_share=share, schedule=schedule)  # type: ignore[arg-type]
    got = rates(total, config)
    assert all(0 < rate <= 1 for rate in got)
    peak = got.index(max(got))
    assert max(got) == 1.0
    assert got[: peak + 1] == sorted(got[: peak + 1])
    assert got[peak:] == sorted(got[peak:], reverse=True)
