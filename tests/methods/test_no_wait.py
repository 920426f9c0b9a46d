"""A training step never reads the device: it can be captured once and replayed.

Tensors on the device `meta` have shapes and no values, so whatever would read a value on the
host, or take a shape from one, fails here without an accelerator.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
import torch

from helpers.steps import blobs, started
from protofit.methods.registry import METHODS
from protofit.prototypes.follow import FollowConfig
from protofit.prototypes.start import StartConfig

GROUPS = {
    "cohesion_weight": 1.0,
    "start": StartConfig(examples="all", per_class=2),
    "follow": FollowConfig(together=0.1, own=0.1),
}
CASES = [(name, {}) for name, kind in METHODS.items() if kind.trains] + [("pfit", GROUPS)]


def test_meta_refuses_what_a_capture_would() -> None:
    values = torch.ones(3, device="meta")
    with pytest.raises(RuntimeError):
        bool(values.sum() > 0)
    with pytest.raises((RuntimeError, NotImplementedError)):
        values[values > 0]
    with pytest.raises((RuntimeError, NotImplementedError)):
        values.sum().item()


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_a_step_reads_nothing(
    name: str, settings: dict[str, Any], task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, labels = blobs(40)
    if task == "regression":
        labels = np.linspace(-1, 1, 40).astype(np.float32)
    head = started(name, features, labels, **settings).to("meta")
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    batch = torch.empty(16, 6, device="meta", requires_grad=True)
    known = torch.from_numpy(labels[:16]).to("meta")
    for weights in (None, torch.empty(16, device="meta")):
        head.observe(batch, known, weights)
        result = head.loss(batch, known, weights)
        result.loss.backward()
        list(head.recycled())
        head.settle()
        head.trace()
    assert batch.grad is not None
    assert result.prediction.shape == (16, head.shape.outputs)
