"""The bank: rows are taken from the lowest free place, cleared when given up, never resized."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from protofit.prototypes.bank import PARTS, PrototypeBank

YES, NO = True, False


def make_bank(capacity: int = 4, *, window: int = 3) -> PrototypeBank:
    return PrototypeBank(capacity, dimension=2, outputs=3, window=window)


def put(bank: PrototypeBank, values: list[float], chosen: list[bool], step: int = 0) -> Tensor:
    """Add rows whose vector, outputs and label all say which value they came from."""
    numbers = torch.tensor(values)
    vectors = numbers.unsqueeze(1).expand(-1, 2)
    outputs = -numbers.unsqueeze(1).expand(-1, 3)
    return bank.add(vectors, outputs, numbers.long(), torch.tensor(chosen), torch.tensor(step))


def held(bank: PrototypeBank) -> list[float | None]:
    """The value of every row; None where it is free."""
    return [
        float(bank.vectors[row, 0].item()) if bank.active[row] else None
        for row in range(bank.capacity)
    ]


def test_starts_empty() -> None:
    bank = make_bank()
    assert bank.capacity == 4
    assert bank.size.item() == 0


def test_the_chosen_fill_the_lowest_free_rows_in_order() -> None:
    bank = make_bank()
    put(bank, [1, 2, 3], [YES, YES, YES])
    bank.remove(torch.tensor([YES, NO, YES, NO]))
    new = put(bank, [5, 6, 7], [NO, YES, YES], step=9)
    assert held(bank) == [6, 2, 7, None]
    assert new.tolist() == [True, False, True, False]
    assert bank.outputs[2].tolist() == [-7, -7, -7]
    assert bank.labels.tolist() == [6, 2, 7, 0]
    assert bank.born.tolist() == [9, 0, 9, 0]


def test_choices_beyond_the_free_rows_are_dropped() -> None:
    bank = make_bank()
    put(bank, [1, 2, 3], [YES, YES, YES])
    new = put(bank, [4, 5, 6], [YES, YES, YES])
    assert held(bank) == [1, 2, 3, 4]
    assert new.tolist() == [False, False, False, True]
    assert not put(bank, [7], [YES]).any()


def test_a_row_that_is_removed_is_cleared() -> None:
    bank = make_bank()
    put(bank, [1, 2], [YES, YES], step=5)
    bank.record(torch.tensor([0.4, 0.6, 0, 0]), torch.tensor(1))
    bank.remove(torch.tensor([NO, YES, NO, NO]))
    assert held(bank) == [1, None, None, None]
    for cleared in (bank.vectors[1], bank.outputs[1], bank.labels[1], bank.born[1]):
        assert not cleared.any()
    assert not bank.window[:, 1].any()
    assert bank.window[1, 0].item() == pytest.approx(0.4)


def test_a_new_row_forgets_the_use_of_its_place() -> None:
    bank = make_bank()
    bank.window.fill_(0.5)
    bank.past.fill_(0.5)
    put(bank, [1], [YES])
    for use in (bank.window, bank.past):
        assert not use[:, 0].any()
        assert bool((use[:, 1:] == 0.5).all())


@pytest.mark.parametrize("span", [1, 7, PARTS, 3 * PARTS + 1])
def test_the_parts_of_a_run_hold_the_means_of_their_steps(span: int) -> None:
    """Also of steps beyond the planned ones, which count to the last part."""
    bank = make_bank(2)
    bank.span.fill_(span)
    draw = torch.Generator().manual_seed(span)
    sums: dict[int, list[Tensor]] = {}
    for step in range(1, span + 3):
        used = torch.rand(2, generator=draw)
        sums.setdefault(min(PARTS - 1, (step - 1) * PARTS // span), []).append(used)
        bank.record(used, torch.tensor(step))
    for part in range(PARTS):
        found = sums.get(part, [])
        assert int(bank.past_count[part]) == len(found)
        if found:
            mean = bank.past[part] / bank.past_count[part]
            torch.testing.assert_close(mean, torch.stack(found).mean(dim=0))
    bank.remove(torch.tensor([YES, NO]))
    assert not bank.past[:, 0].any()
    assert bank.past[:, 1].any()


def test_record_adds_up_within_a_step_and_open_slot_empties_the_next() -> None:
    bank = make_bank(window=2)
    use = torch.tensor([1.0, 0, 0, 0])
    for step in (1, 1, 2):
        bank.record(use, torch.tensor(step))
    assert bank.window[:, 0].tolist() == [1, 2]
    assert bank.window_count.tolist() == [1, 2]
    bank.open_slot(torch.tensor(3))
    assert bank.window[:, 0].tolist() == [1, 0]
    assert bank.window_count.tolist() == [1, 0]


def test_the_window_can_be_resized() -> None:
    bank = make_bank(window=2)
    bank.record(torch.ones(4), torch.tensor(0))
    bank.resize_window(5)
    assert bank.window.shape == (5, 4)
    assert bank.window_count.shape == (5,)
    assert not bank.window.any()
    assert not bank.window_count.any()


MOVES = st.lists(
    st.tuples(st.lists(st.booleans(), min_size=1, max_size=6), st.sets(st.integers(0, 4))),
    max_size=8,
)


@settings(max_examples=80, deadline=None)
@given(MOVES)
def test_behaves_like_a_list_of_places(moves: list[tuple[list[bool], set[int]]]) -> None:
    bank = make_bank(5)
    shapes = {name: value.shape for name, value in bank.state_dict().items()}
    expected: list[float | None] = [None] * 5
    value = 0.0
    for chosen, removed in moves:
        values = [value + i + 1 for i in range(len(chosen))]
        value = values[-1]
        put(bank, values, chosen)
        for candidate, wanted in zip(values, chosen, strict=True):
            if wanted and None in expected:
                expected[expected.index(None)] = candidate
        assert held(bank) == expected
        bank.remove(torch.tensor([row in removed for row in range(5)]))
        expected = [None if row in removed else v for row, v in enumerate(expected)]
        assert held(bank) == expected
        assert bank.size.item() == sum(v is not None for v in expected)
    assert {name: value.shape for name, value in bank.state_dict().items()} == shapes
