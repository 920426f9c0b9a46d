"""The first state of PFit: means, scales and bins from frozen features."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from helpers.heads import view_of
from protofit.errors import InputError
from protofit.methods.base import HeadShape
from protofit.methods.pfit import PFit
from protofit.methods.pfit_config import PFitConfig, RegressionConfig, ScaleConfig
from protofit.prototypes.bins import quantile_edges
from protofit.prototypes.functional import base_variance, creation_sqdist, sqdist
from protofit.prototypes.prune import PruneConfig
from protofit.prototypes.start import StartConfig

DIMENSION, CLASSES = 6, 3


def data(seed: int = 0, *, spread: float = 1.0, size: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Clusters that overlap, in float32 as encoders give them."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, CLASSES, size)
    features = 2 * np.eye(DIMENSION)[labels] + draw.normal(0, spread, (size, DIMENSION))
    return features.astype(np.float32), labels


def started(
    features: np.ndarray, labels: np.ndarray, config: PFitConfig, *, seed: int = 0, **shape: Any
) -> PFit:
    task = shape.get("task", "classification")
    outputs = 1 if task == "regression" else shape.get("classes", CLASSES)
    head = PFit(config, HeadShape(DIMENSION, outputs, task))
    head.start(view_of(features, labels, seed=seed))
    return head


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_one_prototype_per_class_with_logits_of_beta(preset: str) -> None:
    features, labels = data()
    head = started(features, labels, replace(PFitConfig.preset(preset), beta=3.0))
    assert head.bank.labels[head.bank.active].tolist() == [0, 1, 2]
    expected = 6 * torch.eye(3) - 3
    assert torch.equal(head.bank.outputs[:3].detach(), expected)
    assert not head.bank.born.any()


def test_several_prototypes_of_a_class_are_means_of_groups_inside_it() -> None:
    features, labels = data()
    start = StartConfig(examples="all", per_class=3)
    head = started(features, labels, PFitConfig(start=start))
    active = head.bank.active
    rows, vectors = head.bank.labels[active], head.bank.vectors[active].detach().numpy()
    assert rows.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert torch.equal(head.bank.outputs[active].detach(), head.first_outputs(rows))
    for label in range(CLASSES):
        own, centres = features[labels == label], vectors[rows == label]
        nearest = ((own[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        means = [own[nearest == k].mean(axis=0) for k in range(3)]  # k-means has settled
        np.testing.assert_allclose(centres, means, atol=1e-4)


def test_groups_of_bins_have_the_mean_target_of_their_examples() -> None:
    features = np.repeat(np.eye(DIMENSION, dtype=np.float32)[:4], 8, axis=0)
    targets = np.repeat([0.0, 1.0, 10.0, 11.0], 8).astype(np.float32)
    config = PFitConfig(
        start=StartConfig(examples="all", per_class=2), regression=RegressionConfig(bins=2)
    )
    head = started(features, targets, config, task="regression")
    values = head.bank.outputs[head.bank.active].squeeze(1).tolist()
    assert sorted(values) == [0, 1, 10, 11]


def test_cohesion_is_scaled_to_the_groups_of_the_start() -> None:
    """The two nearest prototypes of a text's class differ by `cohesion_gap` in energy at first."""
    features, labels = data()
    start = StartConfig(examples="all", per_class=3)
    config = PFitConfig(start=start, cohesion_weight=1.0, cohesion_gap=2.0)
    head = started(features, labels, config)
    active = head.bank.active
    rows, vectors = head.bank.labels[active].numpy(), head.bank.vectors[active].detach().numpy()
    gaps = []
    for x, label in zip(features, labels, strict=True):
        first, second = sorted(((x - vectors[rows == label]) ** 2).sum(axis=1))[:2]
        gaps.append((second - first) / (2 * float(head.group_variance)))
    assert np.mean(gaps) == pytest.approx(2.0, rel=1e-4)


def test_the_bank_has_room_for_all_first_prototypes() -> None:
    config = PFitConfig(start=StartConfig(examples="all", per_class=50))
    head = PFit(config, HeadShape(DIMENSION, CLASSES))
    assert head.bank.capacity >= CLASSES * 50


def test_all_examples_give_the_class_means() -> None:
    features, labels = data()
    head = started(features, labels, PFitConfig(start=StartConfig(examples="all")))
    expected = np.stack([features[labels == c].mean(axis=0) for c in range(CLASSES)])
    np.testing.assert_allclose(head.bank.vectors[:CLASSES].detach(), expected, rtol=1e-5)


def test_eight_examples_of_each_class_are_embedded_once() -> None:
    features, labels = data()
    looked: list[np.ndarray] = []
    head = PFit(PFitConfig(start=StartConfig(examples=8)), HeadShape(DIMENSION, CLASSES))
    view = view_of(features, labels)

    def look(rows: np.ndarray) -> torch.Tensor:
        looked.append(rows)
        return view.features(rows)

    head.start(replace(view, features=look))
    (rows,) = looked
    assert np.bincount(labels[rows]).tolist() == [8, 8, 8]
    expected = np.stack([features[rows][labels[rows] == c].mean(axis=0) for c in range(CLASSES)])
    np.testing.assert_allclose(head.bank.vectors[:CLASSES].detach(), expected, rtol=1e-5)


def test_the_seed_decides_the_examples() -> None:
    features, labels = data()
    config = PFitConfig(start=StartConfig(examples=2))
    first, same, other = (started(features, labels, config, seed=s) for s in (1, 1, 2))
    assert torch.equal(first.bank.vectors, same.bank.vectors)
    assert not torch.equal(first.bank.vectors, other.bank.vectors)


def test_a_class_without_examples_gets_no_prototype() -> None:
    features, labels = data()
    head = started(features, labels, PFitConfig.preset("default"), classes=5)
    assert head.bank.labels[head.bank.active].tolist() == [0, 1, 2]
    assert bool(head(torch.from_numpy(features)).isfinite().all())


def test_random_vectors_ignore_the_features() -> None:
    config = PFitConfig(start=StartConfig(vectors="random"))
    first = started(*data(0), config)
    other = started(*data(1), config)
    vectors = first.bank.vectors[first.bank.active].detach()
    assert torch.equal(vectors, other.bank.vectors[other.bank.active])
    assert 0.005 < float(vectors.std()) < 0.05
    assert first.bank.labels[first.bank.active].tolist() == [0, 1, 2]


@pytest.mark.parametrize("quantile", [0.5, 0.95, 1.0])
@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_the_first_threshold_is_the_requested_quantile(quantile: float, spread: float) -> None:
    features, labels = data(spread=spread)
    scale = ScaleConfig(kind="split", quantile=quantile, momentum=1.0)
    head = started(features, labels, PFitConfig(start=StartConfig(examples="all"), scale=scale))
    means = np.stack([features[labels == c].mean(axis=0) for c in range(CLASSES)])
    within = np.square(features - means[labels]).sum(axis=1)
    expected = np.quantile(within, quantile)
    rho = base_variance(head.bank.vectors, head.bank.active)
    got = creation_sqdist(head.clustering_variance(), rho, 0.1, DIMENSION)
    assert got.item() == pytest.approx(expected, rel=1e-4)
    head.observe(torch.from_numpy(features), torch.from_numpy(labels))
    assert head.threshold.item() == pytest.approx(expected, rel=1e-4)


def test_a_shared_scale_starts_at_its_variance() -> None:
    head = started(*data(), PFitConfig(scale=ScaleConfig(variance=0.7)))
    assert head.log_variance.item() == pytest.approx(math.log(0.7))
    assert head.clustering_variance().item() == pytest.approx(0.7)


@pytest.mark.parametrize(("distance", "wanted"), [(30.0, 1.5), (0.0, 0.25)])
def test_the_temperature_gives_the_gap_that_the_classes_deserve(
    distance: float, wanted: float
) -> None:
    draw = np.random.default_rng(5)
    labels = np.arange(200) % 2
    features = draw.normal(size=(200, DIMENSION)).astype(np.float32)
    features[:, 0] += distance * labels
    start, scale = StartConfig(examples="all"), ScaleConfig(kind="split")
    head = started(features, labels, PFitConfig(start=start, scale=scale), classes=2)
    visible = float(head.separability)
    assert visible == pytest.approx(1.0 if distance else 0.0, abs=0.15)
    distances = sqdist(torch.from_numpy(features), head.bank.vectors[:2].detach())
    gaps = (distances[:, 0] - distances[:, 1]) / (2 * head.log_variance.detach().exp())
    target = 0.25 + 1.25 * visible
    assert gaps.square().mean().sqrt().item() == pytest.approx(target, rel=1e-4)
    assert target == pytest.approx(wanted, abs=0.2)


def test_the_neighbour_scale_follows_the_spread_of_the_distances() -> None:
    features, labels = data(spread=4.0)
    config = PFitConfig.preset("default")
    head = started(features, labels, config)
    pairs = torch.from_numpy(features)
    distances = sqdist(pairs, pairs)[~torch.eye(len(pairs), dtype=torch.bool)]
    exponents = distances / (2 * head.neighbour_variance)
    assert exponents.std().item() == pytest.approx(1 / config.neighbour_scale, rel=1e-4)


@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize("size", [2, 12])
def test_identical_texts_give_positive_scales(preset: str, size: int) -> None:
    features, labels = np.ones((size, DIMENSION), np.float32), np.arange(size) % 2
    head = started(features, labels, PFitConfig.preset(preset), classes=2)
    for value in (head.neighbour_variance, head.clustering_variance(), head.log_variance.exp()):
        assert value.item() > 0
    assert bool(head(torch.from_numpy(features)).isfinite().all())


def test_rounding_is_no_distance_to_fit_a_temperature_to() -> None:
    """Texts that look alike differ in their last digits; a σ of that size makes noise certain."""
    draw = np.random.default_rng(0)
    features = (1 + 1e-6 * draw.normal(size=(12, DIMENSION))).astype(np.float32)
    config = PFitConfig.preset("default")
    head = started(features, np.arange(12) % 2, config, classes=2)
    assert head.log_variance.exp().item() == pytest.approx(config.scale.variance)
    far = torch.from_numpy(features + draw.normal(0, 0.1, features.shape).astype(np.float32))
    assert head(far).exp().min() > 0.45


TARGETS = np.random.default_rng(0).exponential(1.0, 80).astype(np.float32)


@pytest.mark.parametrize("edges", ["quantile", "width"])
def test_regression_bins(edges: str) -> None:
    features, _ = data(size=80)
    config = PFitConfig(
        start=StartConfig(examples="all"),
        regression=RegressionConfig(bins=4, edges=edges),  # type: ignore[arg-type]
    )
    head = started(features, TARGETS, config, task="regression")
    groups = head.groups(torch.from_numpy(TARGETS)).numpy()
    if edges == "quantile":
        assert np.bincount(groups).tolist() == [20, 20, 20, 20]
    else:
        width = np.diff([TARGETS.min(), *head.edges.tolist(), TARGETS.max()])
        np.testing.assert_allclose(width, np.ptp(TARGETS) / 4, rtol=1e-5)
    assert set(head.bank.labels[head.bank.active].tolist()) == set(groups.tolist())
    for row in range(int(head.bank.size)):
        own = groups == int(head.bank.labels[row])
        value = head.bank.outputs[row].item()
        assert value == pytest.approx(TARGETS[own].mean(), rel=1e-5)
        np.testing.assert_allclose(
            head.bank.vectors[row].detach(), features[own].mean(axis=0), rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("edges", ["quantile", "width"])
def test_equal_targets_share_one_bin(edges: str) -> None:
    features, _ = data(size=10)
    config = PFitConfig(regression=RegressionConfig(edges=edges))  # type: ignore[arg-type]
    head = started(features, np.full(10, 2.5, np.float32), config, task="regression")
    assert int(head.bank.size) == 1
    predicted = head(torch.from_numpy(features))
    assert predicted.flatten().tolist() == pytest.approx([2.5] * 10)


@pytest.mark.parametrize("bins", [2, 5, 8])
@pytest.mark.parametrize("distinct", [1, 2, 5, 30])
def test_quantile_bins_are_even_and_never_split_a_tie(bins: int, distinct: int) -> None:
    targets = np.random.default_rng(bins).integers(0, distinct, 400).astype(float)
    edges = quantile_edges(targets, bins)
    assert edges.shape == (bins - 1,)
    assert (edges[1:] >= edges[:-1]).all()
    assert not np.isin(edges, targets).any()
    counts = np.bincount(np.searchsorted(edges, targets), minlength=bins)
    if distinct <= bins:
        assert (counts > 0).sum() == distinct
    else:
        assert counts.max() - counts.min() <= 2 * np.bincount(targets.astype(int)).max()


@pytest.mark.parametrize(
    ("prune", "expected"),
    [
        (PruneConfig(), [5, 50, 5, 10]),  # δ = grace = one epoch, M = 2
        (PruneConfig(per_epoch=0), [5, 50, 0, 10]),
        (PruneConfig(per_epoch=99, window=4), [5, 50, 1, 4]),
        (PruneConfig(window=4, grace=0), [5, 50, 5, 0]),
    ],
)
def test_shares_and_epochs_become_steps(prune: PruneConfig, expected: list[int]) -> None:
    head = started(*data(), PFitConfig(prune=prune))
    assert head.due.tolist() == expected
    window = prune.window or 10
    assert head.bank.window.shape[0] == head.config.prune.window == window


def test_the_window_is_at_least_a_tenth_of_the_run() -> None:
    features, labels = data()
    head = PFit(PFitConfig(), HeadShape(DIMENSION, CLASSES))
    head.start(view_of(features, labels, steps=3, total=100))
    assert head.due.tolist() == [10, 100, 1, 10]
    assert head.bank.window.shape[0] == head.config.prune.window == 10


@pytest.mark.parametrize(("name", "value"), [("bins", 1), ("edges", "random")])
def test_a_setting_out_of_range_is_named(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"head.regression.{name} is"):
        RegressionConfig(**{name: value})  # type: ignore[arg-type]
