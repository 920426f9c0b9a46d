"""Simplification: the windowed use of a row, and what may never be pruned."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.errors import InputError
from protofit.prototypes.bank import PrototypeBank
from protofit.prototypes.prune import PruneConfig, unused, window_statistic
from reference import functions as fn

ROWS = 4
some = settings(max_examples=60, deadline=None)


@some
@given(
    length=st.integers(1, 6),
    steps=st.integers(1, 15),
    births=st.lists(st.integers(0, 10), min_size=ROWS, max_size=ROWS),
    seed=st.integers(0, 10**6),
)
def test_statistic_of_rows_born_at_any_time(
    length: int, steps: int, births: list[int], seed: int
) -> None:
    draw = np.random.default_rng(seed)
    bank = PrototypeBank(ROWS, 1, 1, window=length).double()
    bank.born.copy_(torch.tensor(births))
    histories: list[dict[int, float]] = [{} for _ in births]
    for step in range(1, steps + 1):
        use = draw.random(ROWS) * (step >= np.array(births))
        parts = int(draw.integers(1, 3))  # batches of one step count as one
        for share in range(parts):
            bank.record(torch.from_numpy(use * (share + 1)), torch.tensor(step))
        for row, history in enumerate(histories):
            if step >= births[row]:
                history[step] = use[row] * (parts + 1) / 2
        state = (bank.window, bank.window_count, bank.born, torch.tensor(step))
        plain = window_statistic(*state, normalised=False)
        normalised = window_statistic(*state, normalised=True)
        for row, history in enumerate(histories):
            expected = fn.window_statistic(history, step, length)
            assert plain[row].item() == pytest.approx(expected, rel=1e-9, abs=1e-12)
            expected = fn.window_statistic_normalised(history, step, length)
            assert normalised[row].item() == pytest.approx(expected, rel=1e-9, abs=1e-12)
        bank.open_slot(torch.tensor(step + 1))


def test_statistic_by_hand() -> None:
    window = torch.tensor([[0.6], [0.4], [0.8]])  # steps 6, 4, 5 of a ring of three
    count, born = torch.ones(3), torch.tensor([5])
    got = window_statistic(window, count, born, torch.tensor(6), normalised=False)
    assert got.item() == pytest.approx((0.6 + 0.8 * 2 / 3 + 0.4 / 3) / 3)
    window[1] = 0  # step 4 was before the birth
    got = window_statistic(window, count, born, torch.tensor(6), normalised=True)
    assert got.item() == pytest.approx((0.6 + 0.8 * 2 / 3) / (1 + 2 / 3))


def slow_unused(
    statistic: np.ndarray, active: np.ndarray, labels: np.ndarray, mature: np.ndarray, limit: float
) -> list[int]:
    """One loop over classes: drop what is below, keep the best of a class that would vanish."""
    doomed: set[int] = set()
    for label in set(labels[active].tolist()):
        members = [row for row in range(len(labels)) if active[row] and labels[row] == label]
        low = [row for row in members if mature[row] and statistic[row] < limit]
        if len(low) == len(members):
            low.remove(max(low, key=lambda row: (statistic[row], -row)))
        doomed |= set(low)
    return sorted(doomed)


@st.composite
def banks(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    rows = draw(st.integers(1, 12))
    numbers = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    statistic = numbers.random(rows)
    if draw(st.booleans()):
        statistic = statistic.round(1)  # ties
    active, mature = numbers.random(rows) < 0.8, numbers.random(rows) < 0.8
    labels = np.where(active, numbers.integers(0, 4, rows), 0)  # free rows carry label 0
    return statistic, active, labels, mature, draw(st.sampled_from([0.0, 0.25, 0.55, 2.0]))


def pruned(
    statistic: np.ndarray, active: np.ndarray, labels: np.ndarray, mature: np.ndarray, limit: float
) -> np.ndarray:
    arrays = (torch.from_numpy(a) for a in (statistic, active, labels, mature))
    return unused(*arrays, limit).numpy()


@settings(max_examples=300, deadline=None)
@given(banks())
def test_prunes_what_a_plain_loop_prunes(
    bank: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float],
) -> None:
    assert np.flatnonzero(pruned(*bank)).tolist() == slow_unused(*bank)


@settings(max_examples=300, deadline=None)
@given(banks())
def test_no_class_loses_its_last_prototype(
    bank: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float],
) -> None:
    statistic, active, labels, mature, limit = bank
    gone = pruned(*bank)
    assert set(labels[active & ~gone]) == set(labels[active])
    assert not (gone & ~(active & mature)).any()
    assert (statistic[gone] < limit).all()


def test_the_most_used_row_of_a_class_stays_and_the_lowest_of_equals() -> None:
    everywhere = np.ones(4, dtype=bool)
    labels = np.array([0, 0, 1, 1])
    gone = pruned(np.array([0.1, 0.2, 0.1, 0.1]), everywhere, labels, everywhere, 1.0)
    assert gone.tolist() == [True, False, False, True]


def test_the_limit_may_be_a_tensor() -> None:
    three = torch.ones(3, dtype=torch.bool)
    statistic = torch.tensor([0.1, 0.3, 0.2])
    labels = torch.zeros(3, dtype=torch.long)
    gone = unused(statistic, three, labels, three, torch.tensor(0.15))
    assert gone.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("name", "value"),
    [("per_epoch", -1), ("threshold", -0.1), ("threshold", math.nan), ("window", 0), ("grace", -1)],
)
def test_a_setting_out_of_range_is_named(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"head.prune.{name} is") as caught:
        PruneConfig(**{name: value})  # type: ignore[arg-type]
    assert caught.value.fix.startswith("Give at least")
