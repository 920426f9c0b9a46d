"""The two controls: a linear head from class means, and one with the neighbour loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.heads import view_of
from helpers.steps import blobs, started
from protofit.config.fields import to_dict
from protofit.errors import InputError
from protofit.methods.base import HeadShape
from protofit.methods.linear_start import covariance_map, nearest_mean_map
from protofit.methods.pfit import PFit
from protofit.methods.pfit_config import PFitConfig
from protofit.methods.raw import Raw, RawConfig
from protofit.methods.registry import build_method, method_config
from protofit.prototypes.scale import logit_gap
from reference.functions import soft_nearest_neighbour


def made(name: str, features: np.ndarray, labels: np.ndarray, **settings: Any) -> Raw:
    return cast("Raw", started(name, features, labels, **{"dropout": 0.0, **settings}))


def distances_to_means(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    means = [features[labels == c].mean(axis=0) for c in range(labels.max() + 1)]
    return np.array([[float(((x - p) ** 2).sum()) for p in means] for x in features])


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 5), st.sampled_from([0.0, 1.0, 4.0]), st.integers(0, 10**6))
def test_first_log_odds_are_differences_of_squared_distances(
    classes: int, apart: float, seed: int
) -> None:
    features, labels = blobs(40, 7, classes, seed=seed, apart=apart)
    labels[:classes] = np.arange(classes)
    head = made("raw-init", features, labels)
    log_prob = head(torch.from_numpy(features)).detach().double().numpy()
    distances = distances_to_means(features.astype(np.float64), labels)
    got = log_prob - log_prob.mean(axis=1, keepdims=True)
    expected = distances.mean(axis=1, keepdims=True) - distances
    factor = np.abs(got).max() / np.abs(expected).max()
    np.testing.assert_allclose(got, factor * expected, rtol=0, atol=1e-4 * np.abs(got).max())
    assert np.array_equal(np.argmax(log_prob, axis=1), np.argmin(distances, axis=1))


def test_the_first_gap_is_what_the_separability_deserves() -> None:
    gaps = {}
    for apart in (0.0, 8.0):
        features, labels = blobs(300, apart=apart)
        log_prob = made("raw-init", features, labels)(torch.from_numpy(features)).detach()
        gaps[apart] = logit_gap(log_prob)
    assert 0.25 <= gaps[0.0] + 1e-6 < 0.5
    assert gaps[8.0] == pytest.approx(1.5, rel=1e-3)
    features, labels = blobs(300, apart=8.0)
    wide = made("raw-init", features, labels, gap=4.0)(torch.from_numpy(features)).detach()
    assert logit_gap(wide) == pytest.approx(4.0, rel=1e-3)


def test_a_gap_between_two_classes_is_the_size_of_their_log_odds() -> None:
    scores = torch.tensor([[3.0, 0.0], [-2.0, 0.0], [0.0, 1.0]])
    odds = (scores[:, 0] - scores[:, 1]).double()
    assert logit_gap(scores) == pytest.approx(float(odds.square().mean().sqrt()))


def test_a_class_without_examples_has_the_average_logit() -> None:
    features, labels = blobs(40)
    known = torch.from_numpy(np.where(labels == 1, 2, labels))
    weight, bias = nearest_mean_map(torch.from_numpy(features), known, 4, 0.25, 1.5)
    assert not weight[1].any()
    assert not weight[3].any()
    logits = torch.from_numpy(features).double() @ weight.T + bias
    torch.testing.assert_close(logits[:, 1], logits[:, [0, 2]].mean(dim=1))


@pytest.mark.parametrize("kind", ["one class", "one example each", "identical texts"])
def test_degenerate_data_start_finite(kind: str) -> None:
    features, labels = blobs(12)
    if kind == "one class":
        labels[:] = 0
    if kind == "one example each":
        features, labels = features[:3], np.arange(3)
    if kind == "identical texts":
        features[:] = 1.0
    head = Raw(RawConfig(init="means", neighbour_weight=1.0), HeadShape(6, 3))
    head.start(view_of(features, labels))
    result = head.loss(torch.from_numpy(features), torch.from_numpy(labels))
    result.loss.backward()
    assert result.loss.isfinite()
    assert head.linear.weight.grad is not None
    assert head.linear.weight.grad.isfinite().all()


def test_regression_starts_along_the_covariance() -> None:
    features, _ = blobs(200)
    draw = np.random.default_rng(0)
    targets = features[:, 0] - features[:, 1] + draw.normal(0, 0.3, 200)
    targets = ((targets - targets.mean()) / targets.std()).astype(np.float32)
    values = made("raw-init", features, targets)(torch.from_numpy(features)).detach().squeeze(1)
    assert np.corrcoef(values.numpy(), targets)[0, 1] > 0.9
    assert float((values - torch.from_numpy(targets)).square().mean()) < 0.3


def test_the_slope_leaves_every_example_out() -> None:
    draw = np.random.default_rng(1)
    features, targets = draw.normal(size=(30, 8)), draw.normal(size=30)
    x, y = features - features.mean(axis=0), targets - targets.mean()
    scores = []
    for i in range(30):
        direction = sum(y[j] * x[j] for j in range(30) if j != i) / 30
        scores.append(float(x[i] @ direction))
    slope = max(0.0, float(y @ np.array(scores) / np.square(scores).sum()))
    weight, bias = covariance_map(torch.from_numpy(features), torch.from_numpy(targets))
    np.testing.assert_allclose(weight[0], slope * sum(y[i] * x[i] for i in range(30)) / 30)
    got = torch.from_numpy(features).mean(dim=0) @ weight[0] + bias[0]
    assert got.item() == pytest.approx(targets.mean())


def test_noise_gives_regression_nothing_to_start_from() -> None:
    flat = []
    for seed in range(20):
        draw = np.random.default_rng(seed)
        features, targets = draw.normal(size=(40, 200)), draw.normal(size=40)
        weight, _ = covariance_map(torch.from_numpy(features), torch.from_numpy(targets))
        flat.append(float((torch.from_numpy(features) @ weight[0]).std()))
    assert np.median(flat) < 0.5


@pytest.mark.parametrize("weighted", [False, True])
def test_the_neighbour_term_is_that_of_the_reference(weighted: bool) -> None:
    features, labels = blobs(20)
    head = made("raw-snn", features, labels, neighbour_weight=2.0)
    weights = torch.from_numpy(np.random.default_rng(0).choice([0.0, 1, 2], 20)).float()
    batch, known = torch.from_numpy(features), torch.from_numpy(labels)
    result = head.loss(batch, known, weights if weighted else None)
    there = weights.numpy() > 0 if weighted else np.ones(20, dtype=bool)
    expected = soft_nearest_neighbour(
        features[there].astype(np.float64),
        labels[there],
        head.neighbour_variance.item(),
        weights[there].double().numpy() if weighted else None,
    )
    assert result.parts["neighbour"].item() == pytest.approx(2 * expected, rel=1e-5)
    assert result.loss.item() == pytest.approx(float(sum(result.parts.values())), rel=1e-6)


def test_its_scale_is_that_of_pfit() -> None:
    features, labels = blobs(60)
    config = PFitConfig.preset("default")
    head = PFit(config, HeadShape(6, 3))
    head.start(view_of(features, labels, steps=4, total=40))
    raw = made("raw-snn", features, labels)
    assert raw.neighbour_variance.item() == head.neighbour_variance.item()
    assert raw.config.neighbour_weight == config.neighbour_weight
    assert raw.config.neighbour_scale == config.neighbour_scale


def within_share(features: np.ndarray, labels: np.ndarray) -> float:
    """Mean squared distance within classes, over that of all pairs."""
    square = ((features[:, None] - features[None]) ** 2).sum(axis=2)
    return float(square[labels[:, None] == labels[None]].mean() / square.mean())


def test_the_term_draws_classes_together() -> None:
    features, labels = blobs(40, apart=1.0)
    head, known = made("raw-snn", features, labels), torch.from_numpy(labels)
    moving = torch.nn.Parameter(torch.from_numpy(features.copy()))
    optimiser = torch.optim.Adam([moving], lr=0.02)
    values = []
    for _ in range(60):
        value = head.extra_terms(moving, known, None)["neighbour"]
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert values[-1] < 0.5 * values[0]
    moved = within_share(moving.detach().numpy(), labels)
    assert moved < 0.9 * within_share(features, labels)


def test_in_regression_bins_are_the_classes() -> None:
    features, _ = blobs(40)
    targets = np.linspace(-1.5, 1.5, 40).astype(np.float32)
    head = made("raw-snn", features, targets, bins=4)
    batch, values = torch.from_numpy(features), torch.from_numpy(targets)
    expected = soft_nearest_neighbour(
        features.astype(np.float64), np.repeat(np.arange(4), 10), head.neighbour_variance.item()
    )
    assert head.loss(batch, values).parts["neighbour"].item() == pytest.approx(expected, rel=1e-5)


def test_raw_itself_has_no_more_than_before() -> None:
    assert set(Raw(RawConfig(), HeadShape(6, 3)).state_dict()) == {
        "clock", "linear.weight", "linear.bias",
    }  # fmt: skip
    features, labels = blobs(20)
    head = made("raw", features, labels)
    view = replace(
        view_of(features, labels), features=lambda rows: pytest.fail("raw looks at no features")
    )
    head.start(view)
    assert head.loss(torch.from_numpy(features), torch.from_numpy(labels)).parts == {}


def test_variants_are_raw_with_other_settings() -> None:
    plain = to_dict(method_config("raw", "default"))
    differing = {
        name: {k: v for k, v in to_dict(method_config(name, "default")).items() if plain[k] != v}
        for name in ("raw-init", "raw-snn")
    }
    assert differing == {"raw-init": {"init": "means"}, "raw-snn": {"neighbour_weight": 1.0}}
    features, labels = blobs(30)
    for name, changed in differing.items():
        one = made(name, features, labels)
        other = made("raw", features, labels, **changed)
        batch = torch.from_numpy(features)
        assert torch.equal(one(batch), other(batch))
        for preset in ("paper", "default"):
            rebuilt = build_method(name, to_dict(method_config(name, preset)), one.shape)
            assert rebuilt.config == method_config(name, "default")


@pytest.mark.parametrize(
    ("name", "value"),
    [("init", "zero"), ("gap", 0.1), ("floor", 0.0), ("neighbour_weight", -1.0), ("bins", 1)],
)
def test_a_setting_out_of_range_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"head.{name} is"):
        RawConfig(**{name: value})
