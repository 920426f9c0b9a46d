"""Methods by name, and what every method must do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.heads import CLASSES, DIMENSION, make_batch, view_of
from protofit.config.fields import to_dict
from protofit.errors import InputError, ProtoFitWarning
from protofit.methods.base import HeadShape, Method
from protofit.methods.pfit import PFit
from protofit.methods.pfit_config import PFitConfig
from protofit.methods.raw import Raw
from protofit.methods.registry import METHODS, build_method, method_class, method_config

SHAPE = HeadShape(DIMENSION, CLASSES)


def test_names() -> None:
    assert method_class("pfit") is PFit
    assert method_class("raw") is Raw


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="no method 'proto'") as caught:
        method_class("proto")
    assert caught.value.fix == f"Choose one of: {', '.join(METHODS)}."


def test_settings_of_a_preset() -> None:
    assert method_config("pfit", "paper") == PFitConfig()
    assert method_config("pfit", "default") != PFitConfig()


def test_a_method_is_built_from_a_dictionary() -> None:
    config = replace(PFitConfig.preset("default"), beta=7.0)
    head = build_method("pfit", to_dict(config), SHAPE)
    assert isinstance(head, PFit)
    assert head.config == config
    assert head.shape == SHAPE


def test_settings_of_another_method_are_ignored_with_a_warning() -> None:
    with pytest.warns(ProtoFitWarning, match="unknown setting 'beta'"):
        head = build_method("raw", {"beta": 2.0, "dropout": 0.3}, SHAPE)
    assert head.config.dropout == 0.3


@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_the_interface(name: str, task: str, preset: str) -> None:
    shape = HeadShape(DIMENSION, CLASSES if task == "classification" else 1, task)  # type: ignore[arg-type]
    head: Method = build_method(name, to_dict(method_config(name, preset)), shape)
    features, labels = make_batch(40, task=task)
    head.start(view_of(features.numpy(), np.asarray(labels), steps=4))
    moving = torch.nn.Parameter(features)  # what an encoder would give: some heads learn nothing
    optimiser = torch.optim.Adam([moving, *head.parameters()], lr=0.02)
    losses = []
    for _ in range(12):
        head.observe(moving, labels)
        result = head.loss(moving, labels)
        optimiser.zero_grad()
        result.loss.backward()
        list(head.recycled())
        optimiser.step()
        head.settle()
        losses.append(result.loss.item())
    assert result.prediction.shape == (40, shape.outputs)
    assert head.clock.item() == 12
    assert losses[-1] < losses[0]
    assert all(value.ndim == 0 for value in head.trace().values())
    head.eval()
    assert head(features).shape == (40, shape.outputs)
