"""ProtoNet: its episodes and loss against loops, its remembered and its exact means."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.episodes import Batch, batches, make_batch
from helpers.heads import view_of
from helpers.problems import tensor
from helpers.quick import few_tickets, quick_classifier, quick_regressor
from protofit.errors import InputError
from protofit.methods.base import HeadShape
from protofit.methods.protonet import ProtoNet, ProtoNetConfig
from protofit.prototypes.episodes import query_mask
from reference import protonet as reference
from reference.functions import Array
from reference.test_reference import numeric_gradient


def head_of(batch: Batch, **settings: object) -> ProtoNet:
    """A float64 head that remembers the means of the batch."""
    shape = HeadShape(batch.features.shape[1], batch.classes)
    head = ProtoNet(ProtoNetConfig(**settings), shape).double()  # type: ignore[arg-type]
    head.memory.set(tensor(batch.means), torch.arange(batch.classes))
    return head


@given(batches(), st.sampled_from([0.0, 0.5, 4.0]))
def test_loss_is_that_of_the_loops(batch: Batch, prior: float) -> None:
    head = head_of(batch, prior=prior)
    got = head.loss(tensor(batch.features), tensor(batch.labels)).loss.item()
    wanted = reference.episode_loss(batch.features, batch.labels, batch.remembered, prior=prior)
    assert got == pytest.approx(wanted, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_gradient_runs_through_support_and_query(prior: float) -> None:
    batch = make_batch(9, 3, 4, 0.7, seed=5)

    def loss(features: Array) -> float:
        return reference.episode_loss(features, batch.labels, batch.remembered, prior=prior)

    features = tensor(batch.features).requires_grad_()
    head_of(batch, prior=prior).loss(features, tensor(batch.labels)).loss.backward()
    assert features.grad is not None
    wanted = numeric_gradient(loss, batch.features)
    np.testing.assert_allclose(features.grad, wanted, rtol=1e-5, atol=1e-7)
    support, _ = reference.halves(batch.labels, [True] * 9)
    assert np.abs(wanted[support]).max() > 1e-3


@given(batches())
def test_halves_alternate_within_a_class(batch: Batch) -> None:
    real = np.random.default_rng(batch.seed).random(len(batch.labels)) < 0.8
    support, query = reference.halves(batch.labels, real.tolist())
    got = query_mask(tensor(batch.labels), tensor(real))
    assert got.nonzero().flatten().tolist() == query
    assert (tensor(real) & ~got).nonzero().flatten().tolist() == support


def test_a_lonely_example_is_a_query_against_the_remembered_mean() -> None:
    batch = make_batch(1, 3, 2, 1.0, seed=1)
    features = tensor(batch.features).requires_grad_()
    result = head_of(batch).loss(features, tensor(batch.labels))
    by_memory = reference.Prototypes(batch.remembered).log_prob(batch.features[0], 1.0)
    np.testing.assert_allclose(result.prediction.detach()[0], by_memory)
    result.loss.backward()
    assert features.grad is not None
    assert features.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("scale", "temperature"), [("paper", 1.0), ("dimension", 3.0), ("learned", 3.0)]
)
def test_scales(scale: str, temperature: float) -> None:
    batch = make_batch(4, 3, 9, 1.0, seed=2)
    head = head_of(batch, scale=scale)
    wanted = [
        reference.Prototypes(batch.remembered).log_prob(x, temperature) for x in batch.features
    ]
    np.testing.assert_allclose(head(tensor(batch.features)).detach(), wanted, rtol=1e-6)
    assert len(list(head.parameters())) == (scale == "learned")


def test_a_learned_temperature_has_a_gradient_and_is_in_the_trace() -> None:
    batch = make_batch(8, 2, 4, 1.0, seed=3)
    head = head_of(batch, scale="learned")
    assert head.trace()["temperature"].item() == pytest.approx(2.0)
    head.loss(tensor(batch.features), tensor(batch.labels)).loss.backward()
    assert head.log_temperature.grad is not None
    assert head.log_temperature.grad.item() != 0


def test_the_first_examples_of_a_class_are_its_remembered_mean() -> None:
    batch = make_batch(6, 3, 4, 1.0, seed=4)
    head = ProtoNet(ProtoNetConfig(), HeadShape(4, 3)).double()
    labels = np.array([0, 0, 2, 0, 2, 0])
    head.observe(tensor(batch.features), tensor(labels))
    head.settle()
    assert head.memory.known.tolist() == [True, False, True]
    for c in (0, 2):
        expected = batch.features[labels == c].mean(axis=0)
        np.testing.assert_allclose(head.memory.means[c], expected, rtol=1e-12)


def test_the_remembered_means_move_after_the_step_by_the_number_of_examples() -> None:
    batch = make_batch(10, 3, 4, 1.0, seed=4)
    labels = np.array([0, 0, 1, 0, 0, 1, 0, 0, 0, 0])
    head = head_of(batch, momentum=0.8)
    head.observe(tensor(batch.features[:6]), tensor(labels[:6]))
    head.observe(tensor(batch.features[6:]), tensor(labels[6:]))
    np.testing.assert_allclose(head.memory.means, batch.means)
    head.settle()
    for c in (0, 1):
        new = list(batch.features[labels == c])
        wanted = reference.moved_mean(batch.means[c], new, 0.8)
        np.testing.assert_allclose(head.memory.means[c], wanted, rtol=1e-12)
    np.testing.assert_allclose(head.memory.means[2], batch.means[2])
    assert head.clock.item() == 1
    before = head.memory.means.clone()
    head.settle()
    torch.testing.assert_close(head.memory.means, before)


def test_examples_of_weight_0_are_not_there() -> None:
    batch = make_batch(9, 3, 4, 1.0, seed=6)
    kept = np.array([0, 1, 3, 4, 7])
    weights = np.zeros(9)
    weights[kept] = 9 / 5  # averages to 1
    whole, part = head_of(batch), head_of(batch)
    features, labels = tensor(batch.features), tensor(batch.labels)
    whole.observe(features, labels, tensor(weights))
    part.observe(features[kept], labels[kept])
    got = whole.loss(features, labels, tensor(weights)).loss
    torch.testing.assert_close(got, part.loss(features[kept], labels[kept]).loss)
    whole.settle()
    part.settle()
    torch.testing.assert_close(whole.memory.means, part.memory.means)


def test_start_and_ready_give_exact_class_means_in_place() -> None:
    numbers = np.random.default_rng(0)
    features = numbers.normal(size=(30, 4)).astype(np.float32)
    labels = np.arange(30) % 3
    head = ProtoNet(ProtoNetConfig(), HeadShape(4, 3))
    held = head.memory.means
    head.start(view_of(features, labels))

    def assert_exact(values: np.ndarray) -> None:
        for c in range(3):
            wanted = reference.mean_of(list(values[labels == c].astype(np.float64)))
            np.testing.assert_allclose(held[c], wanted, rtol=1e-6)

    assert_exact(features)
    moved = features * 2 + 1
    head.attach(view_of(moved, labels))
    head.observe(torch.from_numpy(features), torch.from_numpy(labels))
    head.settle()
    head.ready()
    assert_exact(moved)
    assert not head.memory.counts.any()
    head.attach(None)
    head.ready()
    assert_exact(moved)


def test_evaluation_is_by_memory_and_leaves_no_trace() -> None:
    batch = make_batch(8, 3, 4, 1.0, seed=7)
    head = head_of(batch).eval()
    before = {name: value.clone() for name, value in head.state_dict().items()}
    result = head.loss(tensor(batch.features), tensor(batch.labels))
    torch.testing.assert_close(result.prediction, head(tensor(batch.features)))
    own = result.prediction.gather(1, tensor(batch.labels).unsqueeze(1))
    torch.testing.assert_close(result.loss, -own.mean())
    assert all(torch.equal(value, before[name]) for name, value in head.state_dict().items())


def test_a_class_never_seen_has_no_probability_and_a_finite_loss() -> None:
    head = ProtoNet(ProtoNetConfig(), HeadShape(2, 3))
    head.start(view_of(np.eye(2, dtype=np.float32), np.array([0, 2])))
    features = torch.randn(4, 2, generator=torch.Generator().manual_seed(0), requires_grad=True)
    labels = torch.tensor([0, 1, 2, 0])
    assert not head(features)[:, 1].exp().any()
    weights = torch.tensor([4 / 3, 0, 4 / 3, 4 / 3])
    loss = head.loss(features, labels, weights).loss
    loss.backward()
    assert math.isfinite(loss.item())
    assert features.grad is not None
    assert features.grad.isfinite().all()


def test_regression_is_the_expected_value_of_the_bins() -> None:
    numbers = np.random.default_rng(1)
    targets = numbers.normal(size=40).astype(np.float32)
    features = numbers.normal(size=(40, 3)).astype(np.float32)
    head = ProtoNet(ProtoNetConfig(bins=4), HeadShape(3, 1, "regression"))
    head.start(view_of(features, targets))
    order = np.argsort(targets)
    own = np.empty(40, int)
    own[order] = np.arange(40) // 10
    means = [reference.mean_of(list(features[own == b].astype(float))) for b in range(4)]
    values = [float(targets[own == b].astype(float).mean()) for b in range(4)]
    wanted = [
        sum(
            math.exp(log_prob) * value
            for log_prob, value in zip(
                reference.Prototypes(list(means)).log_prob(x.astype(float), 1.0),
                values,
                strict=True,
            )
        )
        for x in features
    ]
    got = head(torch.from_numpy(features)).squeeze(1)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [("scale", "none"), ("momentum", 1.5), ("prior", -1.0), ("bins", 1)],
)
def test_a_setting_out_of_range_is_named(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"head.{name} is "):
        ProtoNetConfig(**{name: value})  # type: ignore[arg-type]


def test_end_to_end(tiny_bert: Path, tmp_path: Path) -> None:
    texts, labels = few_tickets()
    model = quick_classifier(tiny_bert, method="protonet").fit(texts, labels)
    head, bundle = model.bundle_.model.head, model.bundle_
    features = bundle.model.features(**bundle.tokens(texts).batch(np.arange(len(texts)), "cpu"))
    for c, name in enumerate(model.classes_):
        own = features[[label == name for label in labels]].detach().double()
        torch.testing.assert_close(
            head.memory.means[c].double(), own.mean(dim=0), atol=1e-5, rtol=0
        )
    model.save(tmp_path / "m")
    again = type(model).load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))


def test_end_to_end_regression(tiny_bert: Path) -> None:
    texts, _ = few_tickets()
    model = quick_regressor(tiny_bert, method="protonet").fit(texts, np.arange(16.0))
    assert np.isfinite(model.predict(texts)).all()
