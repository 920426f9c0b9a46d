"""A step has fixed shapes and never waits for the device: it runs where there are no values."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import torch

from helpers.heads import CLASSES, DIMENSION, make_batch, view_of
from protofit.config.fields import to_dict
from protofit.methods.base import HeadShape, Method
from protofit.methods.registry import METHODS, build_method, method_config

SIZE = 12


def started(name: str, task: str, preset: str) -> Method:
    shape = HeadShape(DIMENSION, CLASSES if task == "classification" else 1, task)  # type: ignore[arg-type]
    head = build_method(name, to_dict(method_config(name, preset)), shape)
    features, labels = make_batch(40, task=task)
    head.start(view_of(features.numpy(), np.asarray(labels), steps=4))
    return head


def step(head: Method, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    head.observe(features, labels)
    loss = head.loss(features, labels).loss
    loss.backward()
    head.settle()
    return loss.detach()


@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", METHODS)
def test_a_step_needs_no_value(
    name: str, task: str, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = started(name, task, preset).to("meta")
    features, labels = make_batch(SIZE, task=task)
    moving = features.to("meta").requires_grad_()
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    loss = step(head, moving, labels.to("meta"))  # .item(), if, nonzero raise here
    assert loss.shape == ()
    assert moving.grad is not None


def test_the_check_can_fail() -> None:
    class Waits(Method):
        def observe(self, features, labels, weights=None):  # type: ignore[no-untyped-def]
            return bool(labels.any())

    with pytest.raises(RuntimeError, match="meta"):
        Waits(None, HeadShape(2, 2)).observe(
            torch.zeros(3, 2, device="meta"), torch.zeros(3, device="meta")
        )


@pytest.mark.parametrize("name", METHODS)
def test_a_step_changes_state_in_place(name: str) -> None:
    head = started(name, "classification", "default")
    before = {key: value.data_ptr() for key, value in head.state_dict().items()}
    features, labels = make_batch(SIZE)
    step(head, features.requires_grad_(), labels)
    head.attach(view_of(features.detach().numpy(), labels.numpy()))
    head.refresh()
    head.ready()
    assert {key: value.data_ptr() for key, value in head.state_dict().items()} == before


@pytest.mark.gpu
@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize("name", METHODS)
def test_a_captured_step_is_an_eager_step(name: str, preset: str) -> None:
    eager, replayed = (started(name, "classification", preset).cuda() for _ in range(2))
    batches = [make_batch(SIZE, seed=seed) for seed in range(5)]
    features = batches[0][0].cuda().requires_grad_()
    labels = batches[0][1].cuda()
    stream = torch.cuda.Stream()
    saved = {key: value.clone() for key, value in replayed.state_dict().items()}
    with torch.cuda.stream(stream):
        for _ in range(2):
            step(replayed, features, labels)
    torch.cuda.current_stream().wait_stream(stream)
    replayed.load_state_dict(saved)
    replayed.zero_grad(set_to_none=False)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(replayed, features, labels)
    if any(module.p > 0 for module in eager.modules() if isinstance(module, torch.nn.Dropout)):
        return  # captured; two draws of dropout differ
    for x, y in batches:
        features.data.copy_(x)
        labels.copy_(y)
        graph.replay()
        wanted = step(eager, x.cuda().requires_grad_(), y.cuda())
        torch.testing.assert_close(loss, wanted)
    for key, value in eager.state_dict().items():
        torch.testing.assert_close(replayed.state_dict()[key], value, equal_nan=True)
