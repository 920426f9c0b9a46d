"""The linear head: its formula, its first weights, its precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from helpers.heads import DIMENSION, make_batch, view_of
from protofit.errors import InputError
from protofit.methods.base import HeadShape
from protofit.methods.raw import Raw, RawConfig

TASKS = ("classification", "regression")


def make_raw(task: str = "classification", *, dropout: float = 0.0, seed: int = 0) -> Raw:
    outputs = 3 if task == "classification" else 1
    head = Raw(RawConfig(dropout=dropout), HeadShape(DIMENSION, outputs, task))  # type: ignore[arg-type]
    features = np.zeros((4, DIMENSION), np.float32)
    head.start(view_of(features, np.arange(4) % 2, seed=seed))
    return head


def test_log_probabilities_of_a_linear_map() -> None:
    head = make_raw()
    features, labels = make_batch(7)
    logits = features @ head.linear.weight.T + head.linear.bias
    torch.testing.assert_close(head(features), torch.log_softmax(logits, dim=1))
    torch.testing.assert_close(head(features).exp().sum(dim=1), torch.ones(7))
    expected = torch.nn.functional.cross_entropy(logits, labels)
    torch.testing.assert_close(head.loss(features, labels).loss, expected)


def test_values_of_a_linear_map() -> None:
    head = make_raw("regression")
    features, targets = make_batch(7, task="regression")
    values = features @ head.linear.weight.T + head.linear.bias
    torch.testing.assert_close(head(features), values)
    expected = torch.nn.functional.mse_loss(values.squeeze(1), targets)
    torch.testing.assert_close(head.loss(features, targets).loss, expected)


@pytest.mark.parametrize("task", TASKS)
def test_weights_scale_the_losses(task: str) -> None:
    head = make_raw(task)
    features, labels = make_batch(6, task=task)
    each = torch.stack([head.loss(features[i : i + 1], labels[i : i + 1]).loss for i in range(6)])
    weights = torch.tensor([0.0, 2, 1, 1, 2, 0])
    got = head.loss(features, labels, weights).loss
    torch.testing.assert_close(got, (each * weights).mean())


@pytest.mark.parametrize("task", TASKS)
def test_computes_in_float32_under_autocast(task: str) -> None:
    head = make_raw(task)
    features, labels = make_batch(6, task=task)
    features = features.to(torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside, loss = head(features), head.loss(features, labels).loss
    assert inside.dtype == loss.dtype == torch.float32
    assert torch.equal(inside, head(features.float()))


def test_the_seed_decides_the_first_weights() -> None:
    first, same, other = make_raw(seed=1), make_raw(seed=1), make_raw(seed=2)
    assert torch.equal(first.linear.weight, same.linear.weight)
    assert not torch.equal(first.linear.weight, other.linear.weight)
    assert not first.linear.bias.any()


@pytest.mark.parametrize("spread", [0.02, 0.1])
def test_the_first_weights_have_the_spread_that_is_set(spread: float) -> None:
    head = Raw(RawConfig(init_std=spread), HeadShape(800, 3))
    head.start(view_of(np.zeros((4, 800), np.float32), np.arange(4) % 2))
    assert head.linear.weight.std().item() == pytest.approx(spread, rel=0.1)


def test_dropout_is_for_training_only() -> None:
    head = make_raw(dropout=0.5)
    features, _ = make_batch(7)
    assert not torch.equal(head(features), head(features))
    head.eval()
    assert torch.equal(head(features), head(features))


def test_a_step_advances_the_clock_and_nothing_else() -> None:
    head = make_raw()
    before = {name: value.clone() for name, value in head.state_dict().items()}
    head.observe(*make_batch(4))
    head.settle()
    assert head.state_dict()["clock"].item() == 1
    assert all(
        torch.equal(value, before[name])
        for name, value in head.state_dict().items()
        if name != "clock"
    )
    assert head.trace() == {}
    assert list(head.recycled()) == []


def test_presets_agree() -> None:
    assert RawConfig.preset("paper") == RawConfig.preset("default") == RawConfig()


@pytest.mark.parametrize(
    ("name", "value"), [("init_std", 0.0), ("dropout", 1.0), ("dropout", math.nan)]
)
def test_a_setting_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"head.{name} is {value}") as caught:
        RawConfig(**{name: value})
    assert caught.value.fix.startswith("Give")
