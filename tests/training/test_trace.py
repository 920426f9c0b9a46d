"""The trace buffer: nothing is lost between two reads, nothing is told twice."""

from __future__ import annotations

import torch

from protofit.training.trace import TraceBuffer


def device_values(step: int) -> dict[str, torch.Tensor]:
    return {
        "loss": torch.tensor(1 / step, requires_grad=True),
        "prototypes": torch.tensor(step),
        "one": torch.full((1,), float(step)),
    }


def test_rows_hold_host_and_device_numbers_in_order() -> None:
    buffer = TraceBuffer()
    for step in (1, 2, 4):
        buffer.add({"step": step}, device_values(step))
    assert buffer.rows == []
    new = buffer.flush()
    assert new == [
        {"step": step, "loss": 1 / step, "prototypes": step, "one": step} for step in (1, 2, 4)
    ]
    assert buffer.rows == new
    assert all(type(value) in (int, float) for row in new for value in row.values())


def test_a_flush_returns_only_what_is_new() -> None:
    buffer = TraceBuffer()
    buffer.add({"step": 1}, device_values(1))
    buffer.flush()
    assert buffer.flush() == []
    buffer.add({"step": 2}, device_values(2))
    assert [row["step"] for row in buffer.flush()] == [2]
    assert [row["step"] for row in buffer.rows] == [1, 2]


def test_a_value_that_changes_in_place_is_kept_as_it_was() -> None:
    buffer, count = TraceBuffer(), torch.tensor(3)
    buffer.add({"step": 1}, {"prototypes": count})
    count.add_(1)
    buffer.add({"step": 2}, {"prototypes": count})
    assert [row["prototypes"] for row in buffer.flush()] == [3, 4]


def test_large_counts_are_exact() -> None:
    buffer = TraceBuffer()
    buffer.add({}, {"created": torch.tensor(2**40 + 1), "loss": torch.tensor(0.5)})
    assert buffer.flush()[0]["created"] == 2**40 + 1


def test_earlier_rows_stay_in_front() -> None:
    buffer = TraceBuffer([{"step": 1.0}])
    buffer.add({"step": 2}, device_values(2))
    buffer.flush()
    assert [row["step"] for row in buffer.rows] == [1, 2]


def test_no_graph_is_held() -> None:
    buffer = TraceBuffer()
    leaf = torch.ones((), requires_grad=True)
    buffer.add({}, {"loss": leaf * 2})
    assert not any(value.requires_grad for value in buffer._device)
