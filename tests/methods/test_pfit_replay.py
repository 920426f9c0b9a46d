"""PFit step by step against the slow float64 reference of Algorithm 1 (no shared code)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from protofit.methods.base import HeadShape
from protofit.methods.pfit import PFit
from protofit.methods.pfit_config import DiversityConfig, PFitConfig, ScaleConfig
from protofit.prototypes.create import CreationConfig
from protofit.prototypes.prune import PruneConfig
from protofit.training.optimiser import zero_rows
from reference.algorithm import Hyperparameters, ReferencePFit, ReferencePFitRegression, StepRecord

DIMENSION, CLASSES, STEPS, BATCH, RATE = 6, 3, 50, 8, 0.01
TOLERANCE = 1e-9

HYPER = Hyperparameters(
    alpha=0.1,
    beta=2.0,
    capacity=12,
    creation_start=4,
    diversity_weight=1e-2,
    lr=RATE,
    window=9,
    prune_every=5,
    epsilon=0.02,
    grace=7,
)
VARIANTS = {
    "paper": HYPER,
    "consistent": replace(HYPER, diversity_form="consistent", diversity_pairs="same_class"),
    "mean": replace(HYPER, diversity_form="consistent", diversity_reduction="mean"),
    "farthest": replace(HYPER, creation_rule="farthest"),
    "normalised": replace(HYPER, normalised=True, epsilon=0.04),
    "no creation": replace(HYPER, creation_rule="off"),
    "small bank": replace(HYPER, capacity=5),
    "other constants": replace(HYPER, alpha=0.6, beta=0.7, diversity_weight=0.3, window=4, grace=4),
}


def head_of(hyper: Hyperparameters, task: str, log_variance: float) -> PFit:
    """The library's head with the reference's hyperparameters, in float64."""
    config = PFitConfig(
        beta=hyper.beta,
        creation=CreationConfig(
            rule=hyper.creation_rule, alpha=hyper.alpha, capacity=hyper.capacity
        ),
        prune=PruneConfig(
            threshold=hyper.epsilon,
            normalised=hyper.normalised,
            window=hyper.window,
            grace=hyper.grace,
        ),
        diversity=DiversityConfig(
            weight=hyper.diversity_weight,
            form=hyper.diversity_form,
            pairs=hyper.diversity_pairs,
            reduction=hyper.diversity_reduction,
        ),
        scale=ScaleConfig(variance=float(np.exp(log_variance))),
    )
    outputs = CLASSES if task == "classification" else 1
    head = PFit(config, HeadShape(DIMENSION, outputs, task)).double()
    head.log_variance.data.fill_(log_variance)
    head.due.copy_(torch.tensor([hyper.creation_start, STEPS, hyper.prune_every, hyper.grace]))
    return head


def batches(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Drifting clusters with outliers: something to create from and something to forget."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(0, 1.5, (CLASSES, DIMENSION))
    out = []
    for _ in range(STEPS):
        centres = centres + draw.normal(0, 0.05, centres.shape)
        labels = draw.integers(0, CLASSES, BATCH)
        features = centres[labels] + draw.normal(0, 0.6, (BATCH, DIMENSION))
        features[draw.random(BATCH) < 0.1] *= 4
        out.append((features, labels))
    return out


def one_step(head: PFit, optimiser: torch.optim.Optimizer, x: np.ndarray, y: np.ndarray) -> dict:
    """One step of the library, in the order of the training loop."""
    features = torch.tensor(x, requires_grad=True)
    labels = torch.tensor(y)
    active_before = head.bank.active.clone()
    head.observe(features, labels)
    active_in_step = head.bank.active.clone()
    result = head.loss(features, labels)
    optimiser.zero_grad()
    result.loss.backward()
    seen = {
        "lam": float(head.threshold),
        "rho": float(head.rho),
        "created": (active_in_step & ~active_before).nonzero().flatten().tolist(),
        "loss": result.loss.item(),
        "features": features.grad.numpy().copy(),
        "vectors": head.bank.vectors.grad.numpy().copy(),
        "outputs": head.bank.outputs.grad.numpy().copy(),
        "log_variance": float(head.log_variance.grad),
    }
    for parameter, rows in head.recycled():
        zero_rows(optimiser, parameter, rows)
    optimiser.step()
    head.settle()
    seen["pruned"] = (active_in_step & ~head.bank.active).nonzero().flatten().tolist()
    return seen


def compare(head: PFit, reference: ReferencePFit, seen: dict, record: StepRecord) -> None:
    """Everything the two say about one step."""
    assert seen["lam"] == pytest.approx(record.lam, rel=TOLERANCE)
    assert seen["rho"] == pytest.approx(record.rho, rel=TOLERANCE)
    assert head.log_variance.item() == pytest.approx(reference.log_variance, rel=TOLERANCE)
    assert seen["created"] == sorted(record.created_rows)
    assert seen["pruned"] == sorted(record.pruned_rows)
    assert seen["loss"] == pytest.approx(record.loss, rel=TOLERANCE)
    close = {"rtol": TOLERANCE, "atol": TOLERANCE}
    np.testing.assert_allclose(seen["features"], record.grads.features, **close)
    np.testing.assert_allclose(seen["log_variance"], record.grads.log_variance, **close)
    for row, gradient in record.grads.vectors.items():
        np.testing.assert_allclose(seen["vectors"][row], gradient, **close)
    for row, gradient in record.grads.logits.items():
        np.testing.assert_allclose(seen["outputs"][row], gradient, **close)
    assert head.bank.active.nonzero().flatten().tolist() == sorted(reference.rows)
    for row, prototype in reference.rows.items():
        np.testing.assert_allclose(head.bank.vectors[row].detach(), prototype.vector, **close)
        np.testing.assert_allclose(head.bank.outputs[row].detach(), prototype.logits, **close)
        assert int(head.bank.labels[row]) == prototype.label
        assert int(head.bank.born[row]) == prototype.born


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", VARIANTS)
def test_replays_algorithm_1(variant: str, seed: int) -> None:
    hyper = VARIANTS[variant]
    data = batches(seed)
    first = [(data[0][0][data[0][1] == c].mean(axis=0), c) for c in np.unique(data[0][1])]
    log_variance = float(np.log(0.4))
    reference = ReferencePFit(first, log_variance, CLASSES, hyper)
    head = head_of(hyper, "classification", log_variance)
    labels = torch.tensor([label for _, label in first])
    vectors = torch.tensor(np.stack([vector for vector, _ in first]))
    chosen = torch.ones(len(first), dtype=torch.bool)
    head.bank.add(vectors, head.first_outputs(labels), labels, chosen, head.clock)
    optimiser = torch.optim.Adam(head.parameters(), lr=RATE)
    created = pruned = 0
    for x, y in data:
        record = reference.step(x, y)
        compare(head, reference, one_step(head, optimiser, x, y), record)
        created += len(record.created_rows)
        pruned += len(record.pruned_rows)
    assert int(head.created) == created
    assert int(head.pruned) == pruned
    if hyper.creation_rule != "off":
        assert created > 0
        assert pruned > 0


@pytest.mark.parametrize("seed", range(2))
def test_replays_regression(seed: int) -> None:
    data = batches(seed)
    draw = np.random.default_rng(seed)
    centres = np.array([-1.0, 0.0, 1.0])
    hyper = replace(HYPER, beta=1.0)
    first = [(data[0][0][:4].mean(axis=0) + bin_, bin_, float(centres[bin_])) for bin_ in range(3)]
    log_variance = float(np.log(0.4))
    reference = ReferencePFitRegression(first, log_variance, hyper)
    head = head_of(hyper, "regression", log_variance)
    head.edges = torch.tensor([-0.5, 0.5]).double()
    vectors = torch.tensor(np.stack([vector for vector, _, _ in first]))
    values = torch.tensor([[value] for _, _, value in first]).double()
    bins = torch.arange(3)
    head.bank.add(vectors, values, bins, torch.ones(3, dtype=torch.bool), head.clock)
    optimiser = torch.optim.Adam(head.parameters(), lr=RATE)
    for x, y in data:
        targets = centres[y] + draw.uniform(-0.4, 0.4, len(y))
        record = reference.step(x, y, targets)
        compare(head, reference, one_step(head, optimiser, x, targets), record)
    assert int(head.created) > 0
