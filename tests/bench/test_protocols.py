"""What a protocol fixes for every arm alike."""

from __future__ import annotations

import math

import pytest

from protofit.bench.protocols import FIXED_RATE, PROTOCOLS, SMALL
from protofit.config.train import TrainConfig

SIZES = (100, 200, 201, 500, 1000, 2000, 5000)


def epoch_of(size: int) -> int:
    """Steps of an epoch on what the slice leaves."""
    kept = size if size <= SMALL else size - round(0.1 * size)
    return math.ceil(kept / 32)


def test_the_paper_protocol_is_the_preset() -> None:
    config = PROTOCOLS["paper"].train_config(1000, 3e-5)
    assert config == TrainConfig(
        batch_size=32, epochs=5, min_steps=0, learning_rate=3e-5, schedule="constant",
        warmup_share=0.0, weight_decay=0.0, clip_norm=None, validation_share=0.1, patience=2,
    )  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
def test_fair_differs_in_steps_and_patience_only(size: int) -> None:
    from dataclasses import replace

    paper, fair = (PROTOCOLS[name].train_config(size, 1e-4) for name in ("paper", "fair"))
    assert replace(fair, min_steps=0, patience=2) == paper
    assert fair.patience == max(2, math.ceil(60 / epoch_of(size)))
    assert fair.patience * epoch_of(size) >= 60


@pytest.mark.parametrize(
    ("size", "paper", "fair"), [(100, 20, 300), (500, 75, 300), (5000, 705, 705)]
)
def test_planned_steps(size: int, paper: int, fair: int) -> None:
    assert PROTOCOLS["paper"].planned_steps(size) == paper
    assert PROTOCOLS["fair"].planned_steps(size) == fair


@pytest.mark.parametrize("name", PROTOCOLS)
def test_small_subsets_have_one_rate_and_no_slice(name: str) -> None:
    protocol, rates = PROTOCOLS[name], (1e-5, 1e-4)
    assert protocol.rates(SMALL, rates) == (FIXED_RATE,)
    assert protocol.rates(SMALL + 1, rates) == rates
    assert protocol.train_config(SMALL, FIXED_RATE).validation_share == 0
    assert protocol.train_config(SMALL + 1, 1e-5).validation_share == 0.1
