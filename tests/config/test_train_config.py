"""Settings of training: presets, bounds, and messages that name the setting and the bound."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from protofit.config.fields import override
from protofit.config.train import TrainConfig
from protofit.errors import InputError

OUT_OF_RANGE: list[tuple[str, Any, str]] = [
    ("batch_size", 0, "at least 1"),
    ("accumulate", 0, "at least 1"),
    ("epochs", 0, "at least 1"),
    ("min_steps", -1, "at least 0"),
    ("max_steps", 0, "at least 1"),
    ("learning_rate", 0.0, "more than 0"),
    ("learning_rate", math.nan, "more than 0"),
    ("head_learning_rate", -1e-3, "more than 0"),
    ("schedule", "cosine", "linear, constant"),
    ("warmup_share", 1.5, "from 0 to 1"),
    ("weight_decay", -0.1, "at least 0"),
    ("clip_norm", 0.0, "more than 0"),
    ("validation_share", 0.6, "from 0 to 0.5"),
    ("patience", 0, "at least 1"),
    ("precision", "float16", "auto, float32, bfloat16"),
    ("checkpoint_every", 0, "at least 1"),
    ("trace_every", 0, "at least 1"),
    ("bucket_batches", 0, "at least 1"),
]


@pytest.mark.parametrize(("name", "value", "fix"), OUT_OF_RANGE)
def test_out_of_range_is_refused_with_the_bound(name: str, value: Any, fix: str) -> None:
    with pytest.raises(InputError) as caught:
        TrainConfig(**{name: value})
    assert f"train.{name} is {value!r}" in str(caught.value)
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("name", "value", "fix"), [entry for entry in OUT_OF_RANGE if entry[0] != "learning_rate"]
)
def test_an_override_passes_the_same_checks(name: str, value: Any, fix: str) -> None:
    with pytest.raises(InputError, match=f"train.{name}"):
        override(TrainConfig(), {name: str(value)}, "train.")


def test_every_setting_with_a_bound_is_checked() -> None:
    names = {field.name for field in dataclasses.fields(TrainConfig)}
    assert {name for name, _, _ in OUT_OF_RANGE} == names


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_steps", 1),
        ("max_steps", None),
        ("clip_norm", None),
        ("head_learning_rate", None),
        ("warmup_share", 1.0),
        ("validation_share", 0.5),
        ("min_steps", 0),
    ],
)
def test_the_bounds_themselves_are_allowed(name: str, value: Any) -> None:
    assert getattr(TrainConfig(**{name: value}), name) == value


def test_the_default_preset_is_the_class() -> None:
    assert TrainConfig.preset("default") == TrainConfig()


def test_the_paper_preset_is_plain_adam_with_early_stopping() -> None:
    paper = TrainConfig.preset("paper")
    assert paper.epochs == 5
    assert paper.min_steps == 0
    assert (paper.schedule, paper.warmup_share) == ("constant", 0.0)
    assert (paper.weight_decay, paper.clip_norm) == (0.0, None)
    assert paper.validation_share == 0.1


def test_settings_cannot_change_after_they_were_checked() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainConfig().epochs = 0  # type: ignore[misc]


def test_values_of_a_command_line() -> None:
    written = {"learning_rate": "2e-5", "max_steps": "none", "epochs": "3", "precision": "bfloat16"}
    read = override(TrainConfig(max_steps=9), written)
    assert read == TrainConfig(learning_rate=2e-5, max_steps=None, epochs=3, precision="bfloat16")
