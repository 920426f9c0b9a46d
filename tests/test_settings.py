"""All settings of a run: presets, overrides, differences, and the way to JSON and back."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from protofit.config.encoder import EncoderConfig
from protofit.config.train import TrainConfig
from protofit.errors import InputError, ProtoFitWarning
from protofit.methods.pfit_config import PFitConfig
from protofit.methods.raw import RawConfig
from protofit.settings import Settings

OVERRIDES: list[dict[str, Any]] = [
    {},
    {"head.beta": 3.0},
    {"head.creation.alpha": 0.05, "head.start.examples": 4, "train.epochs": 2},
    {"encoder.prefix": "query: ", "encoder.dropout": 0.2, "train.max_steps": 7},
    {"head.start.examples": "all", "head.scale.kind": "split", "head.prune.window": 3},
]


def test_a_preset_reaches_every_part() -> None:
    paper, default = Settings.build("paper"), Settings.build()
    assert paper.head == PFitConfig.preset("paper") != default.head
    assert paper.train == TrainConfig.preset("paper") != default.train
    assert paper.encoder == default.encoder == EncoderConfig()
    assert (default.preset, default.method) == ("default", "pfit")
    assert isinstance(Settings.build(method="raw").head, RawConfig)


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("overrides", OVERRIDES)
def test_differences_lead_from_the_preset_to_the_settings(
    preset: str, overrides: dict[str, Any]
) -> None:
    settings = Settings.build(preset, overrides=overrides)
    differences = settings.differences()
    assert set(differences) <= set(overrides)
    assert Settings.build(preset, overrides=differences) == settings


def test_differences_name_only_what_differs() -> None:
    assert Settings.build("paper").differences() == {}
    assert Settings.build(overrides={"train.epochs": str(TrainConfig().epochs)}).differences() == {}
    changed = Settings.build(overrides={"head.beta": "2.5", "train.clip_norm": "none"})
    assert changed.differences() == {"head.beta": 2.5, "train.clip_norm": None}


@pytest.mark.parametrize("method", ["pfit", "raw"])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_settings_survive_json(preset: str, method: str) -> None:
    settings = Settings.build(preset, method, {"train.epochs": 9})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = Settings.from_dict(json.loads(json.dumps(settings.to_dict())))
    assert back == settings


@pytest.mark.parametrize("overrides", OVERRIDES)
def test_overrides_survive_json(overrides: dict[str, Any]) -> None:
    settings = Settings.build(overrides=overrides)
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


def test_settings_of_a_later_version_warn() -> None:
    saved = Settings.build().to_dict()
    saved["head"]["creation"]["later"] = 1
    with pytest.warns(ProtoFitWarning, match=r"'head\.creation\.later'"):
        assert Settings.from_dict(saved) == Settings.build()


@pytest.mark.parametrize(
    ("arguments", "found", "fix"),
    [
        ({"preset": "best"}, "no preset 'best'", "Choose one of: default, paper, "),
        ({"method": "proto"}, "no method 'proto'", "Choose one of: pfit, raw, "),
        ({"overrides": {"head.bta": 1}}, "no setting 'head.bta'", "Did you mean 'head.beta'?"),
        ({"overrides": {"heed.beta": 1}}, "no setting 'heed'", "Did you mean 'head'?"),
        (
            {"overrides": {"head.creation": 1}},
            "'head.creation' is a group",
            "Set one of: head.creation.rule, ",
        ),
        (
            {"overrides": {"train.learning_rate": "fast"}},
            "'train.learning_rate' cannot be \"fast\"",
            "Expected float.",
        ),
        ({"overrides": {"head.beta": "0"}}, "head.beta is 0.0", "Give more than 0."),
        ({"method": "raw", "overrides": {"head.beta": 1}}, "no setting 'head.beta'", "Known: "),
    ],
)
def test_a_mistake_is_explained(arguments: dict[str, Any], found: str, fix: str) -> None:
    with pytest.raises(InputError, match="settings: ") as caught:
        Settings.build(**arguments)
    assert found in caught.value.found
    assert caught.value.fix.startswith(fix)


@pytest.mark.parametrize(
    "overrides",
    [
        {"encoder.pooling": "max"},
        {"encoder.max_length": 3},
        {"encoder.dropout": 1.5},
        {"encoder.dropout": -0.1},
        {"head.neighbour_weight": -1},
        {"head.neighbour_scale": 0},
        {"head.diversity.weight": -1},
        {"head.scale.variance": 0},
        {"head.scale.quantile": 2},
        {"head.scale.momentum": 1.5},
        {"head.scale.gap": 0.1},
    ],
)
def test_values_without_a_meaning_are_refused(overrides: dict[str, Any]) -> None:
    (name,) = overrides
    with pytest.raises(InputError, match=name):
        Settings.build(overrides=overrides)


@pytest.mark.parametrize("overrides", [{"method": "raw"}, {"preset": "paper"}])
def test_method_and_preset_are_arguments_not_overrides(overrides: dict[str, Any]) -> None:
    with pytest.raises(InputError):  # the head's settings would stay those of another method
        Settings.build(overrides=overrides)
