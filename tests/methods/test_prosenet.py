"""ProSeNet: its terms against the slow reference, its start, its projection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.heads import view_of
from helpers.steps import blobs, started, train
from protofit.errors import InputError
from protofit.methods.base import HeadShape
from protofit.methods.prosenet import ProSeNet, ProSeNetConfig
from protofit.methods.prosenet_start import first_examples
from reference import prosenet as ref


def random_head(seed: int, count: int, dimension: int, **settings: Any) -> ProSeNet:
    """Random prototypes and weights in float64."""
    draw = np.random.default_rng(seed)
    config = ProSeNetConfig(prototypes=count, **settings)
    head = ProSeNet(config, HeadShape(dimension, 3)).double()
    with torch.no_grad():
        head.vectors.copy_(torch.from_numpy(draw.normal(size=(count, dimension))))
        head.weight.copy_(torch.from_numpy(draw.uniform(0, 2, (3, count))))
        head.factor.fill_(1.7)
    return head


def made(features: np.ndarray, labels: np.ndarray, **settings: Any) -> ProSeNet:
    return cast("ProSeNet", started("prosenet", features, labels, **settings))


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 6),
    st.sampled_from(["l2", "squared"]),
    st.integers(0, 10**6),
)
def test_predictions_and_terms(size: int, count: int, d: int, kind: Any, seed: int) -> None:
    head = random_head(seed, count, d, distance=kind, separation=1.5)
    draw = np.random.default_rng(seed + 1)
    features, labels = draw.normal(size=(size, d)), draw.integers(0, 3, size)
    weights = draw.choice([0.5, 1.0, 2.0], size)
    weights[0] = 1.0
    vectors = head.vectors.detach().numpy()
    weight = head.weight.detach().numpy()
    result = head.loss(*map(torch.from_numpy, (features, labels, weights)))
    log_prob = [ref.log_probabilities(ref.scores(x, vectors, weight, 1.7, kind)) for x in features]
    np.testing.assert_allclose(result.prediction.detach(), log_prob, rtol=1e-8)
    fit = -sum(w * row[y] for w, row, y in zip(weights, log_prob, labels, strict=True)) / size
    expected = {
        "fit": fit,
        "diversity": 0.01 * ref.diversity(vectors, 1.5),
        "clustering": 0.01 * ref.clustering(features, vectors, weights.tolist()),
        "evidence": 0.1 * ref.evidence(features, vectors, weights.tolist()),
        "sparsity": 0.1 * float(np.abs(weight).sum()),
    }
    assert {name: part.item() for name, part in result.parts.items()} == pytest.approx(expected)
    assert result.loss.item() == pytest.approx(sum(expected.values()))


def test_an_example_of_weight_zero_is_no_evidence() -> None:
    head = random_head(0, 4, 5)
    features = torch.randn(6, 5, generator=torch.Generator().manual_seed(0)).double()
    features[3] = head.vectors[0].detach()
    weights = torch.tensor([1.0, 2, 1, 0, 1, 1]).double()
    parts = head.loss(features, torch.zeros(6, dtype=torch.long), weights).parts
    expected = 0.1 * ref.evidence(features.numpy(), head.vectors.detach().numpy(), weights.tolist())
    assert parts["evidence"].item() == pytest.approx(expected)
    nothing = head.loss(features, torch.zeros(6, dtype=torch.long), 0 * weights)
    assert nothing.parts["evidence"].item() == 0.0
    assert nothing.loss.isfinite()


def test_a_prototype_on_its_example_has_similarity_one_and_finite_gradients() -> None:
    features, labels = blobs(20)
    head = made(features, labels)
    batch = torch.from_numpy(features[head.example.numpy()]).requires_grad_()
    torch.testing.assert_close(head.similarity(batch).diagonal(), torch.ones(len(batch)))
    head.loss(batch, torch.from_numpy(labels[head.example.numpy()])).loss.backward()
    assert batch.grad is not None
    assert head.vectors.grad is not None
    assert batch.grad.isfinite().all()
    assert head.vectors.grad.isfinite().all()


def test_it_starts_on_examples_of_all_classes() -> None:
    features, labels = blobs(60)
    head = made(features, labels)
    rows = head.example.numpy()
    assert len(set(rows.tolist())) == len(rows) == head.distinct.item() == 24
    assert np.bincount(labels[rows]).tolist() == [8, 8, 8]
    np.testing.assert_array_equal(head.vectors.detach(), features[rows])
    assert torch.equal(head.weight.argmax(dim=0), torch.from_numpy(labels[rows]))
    assert head.weight.sum().item() == 24.0


def test_the_first_gaps_are_moderate_and_grow_with_separability() -> None:
    spread = {}
    for apart in (0.0, 2.0, 8.0):
        features, labels = blobs(200, apart=apart)
        head = made(features, labels)
        log_prob = head(torch.from_numpy(features)).detach().double()
        spread[apart] = 2 * float((log_prob - log_prob.mean(dim=1, keepdim=True)).std())
        assert 0.2 < spread[apart] < 1.6
    assert spread[0.0] < 0.6 < spread[2.0] < spread[8.0]
    assert spread[8.0] == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_fewer_examples_than_prototypes(size: int) -> None:
    features, labels = blobs(60)
    features, labels = features[:size], labels[:size]
    head = ProSeNet(ProSeNetConfig(), HeadShape(6, 3))
    head.start(view_of(features, labels))
    assert head.distinct.item() == size
    assert head(torch.from_numpy(features)).isfinite().all()


def test_classes_take_turns() -> None:
    labels = np.array([0] * 20 + [1] * 3 + [2] * 10)
    picked, sample = first_examples(labels, 3, 9, np.random.default_rng(0))
    assert np.bincount(labels[picked]).tolist() == [3, 3, 3]
    picked, _ = first_examples(labels, 3, 14, np.random.default_rng(0))
    assert np.bincount(labels[picked]).tolist() == [6, 3, 5]
    assert np.array_equal(sample, np.arange(33))


def test_projection_puts_prototypes_on_training_embeddings_and_names_them() -> None:
    features, labels = blobs(60)
    head = made(features, labels)
    batch = torch.nn.Parameter(torch.from_numpy(features[:32].copy()))
    train(head, batch, torch.from_numpy(labels[:32]), 10, rate=0.05)
    vectors = head.vectors.detach().double().numpy()
    data = {row.tobytes() for row in features}
    assert not any(row.tobytes() in data for row in head.vectors.detach().numpy())
    expected = ref.projection(features.astype(np.float64), vectors)
    head.refresh()
    assert head.example.tolist() == expected
    np.testing.assert_array_equal(head.vectors.detach(), features[expected])
    assert head.trace()["distinct"].item() == len(set(expected))


def test_projection_uses_the_encoder_as_it_is_now() -> None:
    features, labels = blobs(60)
    head = made(features, labels)
    assert head.view is not None
    moved = torch.from_numpy(features + 100)
    head.attach(replace(head.view, features=lambda rows: moved[rows]))
    head.refresh()
    np.testing.assert_array_equal(head.vectors.detach(), moved[head.example])


def test_when_it_projects() -> None:
    features, labels = blobs(60)
    head = made(features, labels)  # 4 steps in an epoch
    assert head.refresh_every == 16
    assert made(features, labels, project_epochs=0).refresh_every == 0
    for last in (True, False):
        head = made(features, labels, project_last=last)
        with torch.no_grad():
            head.vectors.add_(0.01)
        before = head.vectors.detach().clone()
        head.ready()
        assert torch.equal(before, head.vectors) != last
    head.attach(None)
    assert head.refresh_every == 0
    head.refresh()
    assert torch.equal(before, head.vectors)


def test_weights_stay_at_least_zero() -> None:
    features, labels = blobs(60)
    head = made(features, labels)
    wrong = torch.from_numpy((labels + 1) % 3)
    train(head, torch.nn.Parameter(torch.from_numpy(features)), wrong, 60, rate=0.05)
    assert head.weight.min().item() == 0.0
    assert ((head.weight == 0).sum() > 0).item()
    assert head.clock.item() == 60


def test_every_term_moves_what_it_is_about() -> None:
    features, labels = blobs(60)
    batch, known = torch.from_numpy(features), torch.from_numpy(labels)
    off = {"diversity": 0.0, "clustering": 0.0, "evidence": 0.0, "sparsity": 0.0}
    for name in off:
        head = made(features, labels, **{**off, name: 1.0}, separation=3.0)
        moving = torch.nn.Parameter(batch + 0.5)
        results = train(head, moving, known, 30, rate=0.02)
        assert results[-1].parts[name] < results[0].parts[name], name


def test_regression_has_values_of_any_sign() -> None:
    features, _ = blobs(80)
    targets = (features[:, 0] - features[:, 1]).astype(np.float64)
    targets = ((targets - targets.mean()) / targets.std()).astype(np.float32)
    head = made(features, targets)
    assert len(head.vectors) == 16
    first = head(torch.from_numpy(features)).detach().squeeze(1).numpy()
    assert np.corrcoef(first, targets)[0, 1] > 0.5
    moving = torch.nn.Parameter(torch.from_numpy(features.copy()))
    results = train(head, moving, torch.from_numpy(targets), 80, rate=0.02)
    assert results[-1].parts["fit"] < 0.5 * results[0].parts["fit"]
    assert head.weight.min().item() < 0 < head.weight.max().item()


def test_computes_in_float32_under_autocast() -> None:
    features, labels = blobs(60)
    head = made(features, labels)
    half = torch.from_numpy(features).to(torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside, result = head(half), head.loss(half, torch.from_numpy(labels))
    assert inside.dtype == result.loss.dtype == torch.float32
    assert torch.equal(inside, head(half.float()))


@pytest.mark.parametrize(
    ("name", "value"),
    [("prototypes", 0), ("distance", "cosine"), ("evidence", -0.1), ("floor", 0.0), ("gap", 0.1)],
)
def test_a_setting_out_of_range_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"head.{name} is"):
        ProSeNetConfig(**{name: value})
