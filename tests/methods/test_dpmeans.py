"""DP-means: hard assignment, fixed variance, distances without it; the rest is tested with IMP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given

from helpers.episodes import Batch, batches
from helpers.heads import view_of
from helpers.problems import tensor
from helpers.quick import few_tickets, quick_classifier
from protofit.errors import InputError
from protofit.methods.base import HeadShape
from protofit.methods.dpmeans import DPMeans, DPMeansConfig
from reference import imp as reference
from reference.protonet import halves

ALPHA = 0.1


@given(batches())
def test_loss_is_that_of_the_loops(batch: Batch) -> None:
    shape = HeadShape(batch.features.shape[1], batch.classes)
    head = DPMeans(DPMeansConfig(variance=batch.variance), shape).double()
    head.memory.set(tensor(batch.means), torch.arange(batch.classes))
    support, query = halves(batch.labels, [True] * len(batch.labels))
    outcome = reference.cluster(
        batch.features, batch.labels, support, batch.remembered, batch.variance, ALPHA, hard=True
    )
    losses = [
        reference.or_loss(batch.features[i], int(batch.labels[i]), outcome.clusters, 1.0)
        for i in query
    ]
    got = head.loss(tensor(batch.features), tensor(batch.labels))
    assert got.loss.item() == pytest.approx(sum(losses) / len(losses), rel=1e-7, abs=1e-9)
    assert head.created.item() == outcome.created


def started(variance: float, features: np.ndarray, labels: np.ndarray) -> DPMeans:
    head = DPMeans(DPMeansConfig(variance=variance), HeadShape(features.shape[1], 2))
    head.start(view_of(features.astype(np.float32), labels))
    return head


def test_a_small_lambda_creates_and_a_large_one_does_not() -> None:
    numbers = np.random.default_rng(0)
    features, labels = numbers.normal(size=(30, 3)), np.arange(30) % 2
    small, large = started(0.02, features, labels), started(20, features, labels)
    assert small.threshold < 1 < 30 < large.threshold
    assert small.created.item() > 5
    assert large.created.item() == 0
    assert large.bank.size.item() == 2
    for c in range(2):
        mean = features[labels == c].mean(axis=0)
        np.testing.assert_allclose(large.bank.vectors[c].detach(), mean, rtol=1e-4, atol=1e-6)


def test_creation_in_a_batch_follows_lambda_too() -> None:
    numbers = np.random.default_rng(1)
    features, labels = tensor(numbers.normal(size=(16, 3))).float(), torch.arange(16) % 2
    for variance, creates in ((0.02, True), (20, False)):
        head = started(variance, numbers.normal(size=(4, 3)), np.arange(4) % 2)
        before = head.created.item()
        head.loss(features, labels)
        assert (head.created.item() > before) == creates


def test_every_cluster_is_the_mean_of_those_nearest_to_it() -> None:
    features = np.array([[-3.0, 0], [3, 0], [-3.5, 0], [3.5, 0], [0, 9], [0, 9.5]])
    head = started(0.5, features, np.array([0, 0, 0, 0, 1, 1]))
    live = head.bank.active
    assert head.bank.labels[live].tolist() == [1, 0, 0]
    np.testing.assert_allclose(head.bank.vectors[live].detach(), [[0, 9.25], [-3.25, 0], [3.25, 0]])
    assert head.pruned.item() == 1


def test_predicts_by_distance_without_the_variance() -> None:
    features, labels = np.array([[0.0, 0], [2, 0]]), np.array([0, 1])
    one, other = started(1.0, features, labels), started(30.0, features, labels)
    query = torch.tensor([[0.5, 1.0]])
    wanted = torch.log_softmax(torch.tensor([[-1.25, -3.25]]), dim=1)
    torch.testing.assert_close(one(query), wanted)
    torch.testing.assert_close(other(query), wanted)
    assert not any(p.requires_grad for p in one.parameters())


def test_a_setting_out_of_range_is_named() -> None:
    with pytest.raises(InputError, match="head.alpha is 0"):
        DPMeansConfig(alpha=0)
    with pytest.raises(InputError, match="head.momentum is -1"):
        DPMeansConfig(momentum=-1)


def test_end_to_end(tiny_bert: Path, tmp_path: Path) -> None:
    texts, labels = few_tickets()
    roomy = {"head.variance": 0.01}
    model = quick_classifier(tiny_bert, roomy, method="dpmeans").fit(texts, labels)
    assert model.trace_[-1]["created"] > 0
    model.save(tmp_path / "m")
    again = type(model).load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
