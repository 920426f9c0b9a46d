"""PFit over many steps: what a step may change, and what no step may."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.heads import CLASSES, DIMENSION, make_batch, make_head, one_step
from protofit.methods.pfit import PFit
from protofit.methods.pfit_config import PFitConfig, ScaleConfig
from protofit.prototypes.create import CreationConfig
from protofit.prototypes.follow import FollowConfig, followed
from protofit.prototypes.functional import sqdist
from protofit.prototypes.prune import PruneConfig
from protofit.training.optimiser import zero_rows

BUSY = PFitConfig(  # creates and prunes at every opportunity
    creation=CreationConfig(capacity=12),
    prune=PruneConfig(threshold=0.1, grace=0, window=4),
    scale=ScaleConfig(variance=0.05),
)
QUIET = PFitConfig(creation=CreationConfig(rule="off"), prune=PruneConfig(per_epoch=0))


def adam(head: PFit, rate: float = 0.05) -> torch.optim.Optimizer:
    return torch.optim.Adam(head.parameters(), lr=rate)


def test_signs_of_the_label_logits_survive_random_steps() -> None:
    head = make_head(replace(BUSY, beta=0.1))
    optimiser = adam(head, 0.3)
    own = torch.nn.functional.one_hot
    touched = 0
    for step in range(50):
        features, labels = make_batch(8, seed=step)
        one_step(head, optimiser, features, labels)
        mine = own(head.bank.labels, CLASSES).bool()
        outputs = head.bank.outputs.detach()
        assert bool((outputs[mine] >= 0).all())
        assert bool((outputs[~mine] <= 0).all())
        touched += int((outputs[head.bank.active] == 0).sum())
    assert touched > 0  # the constraint was felt


def test_regression_values_are_free() -> None:
    head = make_head(replace(QUIET, beta=1.0), task="regression")
    optimiser = adam(head, 0.3)
    features, _ = make_batch(8)
    for _ in range(20):
        one_step(head, optimiser, features, torch.full((8,), -3.0))
    assert bool((head.bank.outputs[head.bank.active] < -1).all())


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("preset", ["paper", "default"])
def test_inactive_rows_get_no_gradient_and_never_move(task: str, preset: str) -> None:
    config = PFitConfig.preset(preset)
    config = replace(config, creation=CreationConfig(rule="off"), prune=QUIET.prune)
    config = replace(config, diversity=replace(config.diversity, weight=1.0))
    head = make_head(config, task=task)
    idle = ~head.bank.active
    marked = torch.randn(int(idle.sum()), DIMENSION)
    head.bank.vectors.data[idle] = marked
    optimiser = adam(head)
    moving = head.bank.vectors[~idle].clone()
    for step in range(10):
        one_step(head, optimiser, *make_batch(8, task=task, seed=step))
        for parameter in (head.bank.vectors, head.bank.outputs):
            assert parameter.grad is not None
            assert not parameter.grad[idle].any()
            assert bool(parameter.grad[~idle].any())
    assert torch.equal(head.bank.vectors[idle], marked)
    assert not head.bank.outputs[idle].any()
    assert not torch.equal(head.bank.vectors[~idle], moving)


def test_recycled_rows_have_no_moments() -> None:
    head = make_head(BUSY)
    optimiser = adam(head)
    gone, born, died = torch.zeros_like(head.bank.active), 0, 0
    for step in range(30):
        before = head.bank.active.clone()
        features, labels = make_batch(6, seed=step)
        head.observe(features, labels)
        new = head.bank.active & ~before
        optimiser.zero_grad()
        head.loss(features, labels).loss.backward()
        for parameter, rows in head.recycled():
            assert torch.equal(rows, new | gone)
            zero_rows(optimiser, parameter, rows)
        optimiser.step()
        moments = optimiser.state[head.bank.vectors]["exp_avg"]
        grad = head.bank.vectors.grad
        assert grad is not None
        torch.testing.assert_close(moments[new], 0.1 * grad[new])  # as in the very first step
        alive = head.bank.active.clone()
        head.settle()
        gone = alive & ~head.bank.active
        born, died = born + int(new.sum()), died + int(gone.sum())
        assert bool((head.bank.vectors[gone] == 0).all())
    assert born > 0
    assert died > 0
    assert (int(head.created), int(head.pruned)) == (born, died)


@st.composite
def runs(draw: st.DrawFn) -> tuple[PFitConfig, int, list[int]]:
    config = PFitConfig(
        creation=CreationConfig(
            rule=draw(st.sampled_from(["sequential", "farthest", "off"])),
            capacity=draw(st.integers(5, 9)),
        ),
        prune=PruneConfig(
            threshold=draw(st.sampled_from([0.0, 0.05, 10.0])),
            normalised=draw(st.booleans()),
            relative=draw(st.booleans()),
            window=draw(st.integers(1, 4)),
        ),
        scale=ScaleConfig(variance=draw(st.sampled_from([0.01, 0.3, 5.0]))),
    )
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
    return config, draw(st.integers(0, 999)), sizes


@pytest.mark.parametrize("task", ["classification", "regression"])
@settings(max_examples=25, deadline=None)
@given(run=runs())
def test_the_bank_stays_within_its_capacity_and_keeps_every_class(
    task: str, run: tuple[PFitConfig, int, list[int]]
) -> None:
    config, seed, sizes = run
    if task == "regression":
        config = replace(config, regression=replace(config.regression, bins=3))
    head = make_head(config, task=task, seed=seed)
    head.due[3] = 0  # nothing is too young to prune
    optimiser = adam(head)
    shapes = {name: value.shape for name, value in head.state_dict().items()}
    for step, size in enumerate(sizes):
        one_step(head, optimiser, *make_batch(size, task=task, seed=seed + step))
        kept = head.bank.labels[head.bank.active]
        assert int(head.bank.size) <= config.creation.rows(CLASSES)
        assert set(kept.tolist()) == {0, 1, 2}
        assert int(head.bank.size) == 5 + int(head.created) - int(head.pruned)
    assert {name: value.shape for name, value in head.state_dict().items()} == shapes


def test_nothing_is_created_outside_the_creation_period() -> None:
    head = make_head(replace(BUSY, prune=QUIET.prune))
    head.due.copy_(torch.tensor([2, 4, 0, 0]))  # creation in steps 3 and 4
    optimiser = adam(head)
    totals = []
    for step in range(6):
        one_step(head, optimiser, *make_batch(2, seed=step))
        totals.append(int(head.created))
    assert totals[:2] == [0, 0]
    assert 0 < totals[2] < totals[3]
    assert totals[3:] == [totals[3]] * 3


def test_pruning_waits_for_its_steps_and_for_the_grace_of_a_row() -> None:
    head = make_head(replace(QUIET, prune=PruneConfig(threshold=10.0, window=2)))
    head.due.copy_(torch.tensor([0, 0, 3, 2]))  # every third step; not before the age of 2
    head.bank.born[:5] = torch.tensor([1, 1, 1, 2, 1])
    optimiser = adam(head)
    totals = []
    for step in range(6):
        one_step(head, optimiser, *make_batch(4, seed=step))
        totals.append(int(head.pruned))
    assert totals == [0, 0, 2, 2, 2, 2]  # classes 0 1 2 0 1: one row of each is left
    assert head.bank.active[:5].tolist()[0:4:3] == [False, True]  # the young row outlives the old
    assert sorted(head.bank.labels[head.bank.active].tolist()) == [0, 1, 2]


@pytest.mark.parametrize(("relative", "kept"), [(True, [1, 2, 3, 4]), (False, [1, 2, 3])])
def test_a_relative_limit_is_a_share_of_even_use(relative: bool, kept: list[int]) -> None:
    head = make_head(replace(QUIET, prune=PruneConfig(threshold=0.5, relative=relative, window=1)))
    head.due.copy_(torch.tensor([0, 0, 1, 0]))
    head.bank.record(torch.tensor([0.05, 0.3, 0.35, 0.15, 0.15] + [0.0] * 95), head.clock + 1)
    head.settle()  # five rows: the limit is 0.1, or 0.5 as it stands
    assert head.bank.active.nonzero().flatten().tolist() == kept


@pytest.mark.parametrize("batches", [1, 2])
def test_a_step_records_the_mean_importance_of_its_batches(batches: int) -> None:
    head = make_head(QUIET)
    means = []
    for seed in range(batches):
        features, labels = make_batch(4, seed=seed)
        head.observe(features, labels)
        means.append(head.log_importance(features).exp().mean(dim=0))
    assert head.bank.window_count[1].item() == batches
    mean = head.bank.window[1] / head.bank.window_count[1]
    torch.testing.assert_close(mean, torch.stack(means).mean(dim=0).detach())


def test_the_window_forgets_what_is_older() -> None:
    head = make_head(replace(QUIET, prune=PruneConfig(per_epoch=0, window=3)))
    optimiser = adam(head)
    for step in range(8):
        one_step(head, optimiser, *make_batch(4, seed=step))
    # steps 7 and 8 are held; the slot of step 6 has been emptied for step 9
    assert head.bank.window_count.tolist() == [0, 1, 1]
    assert head.bank.window.sum(dim=1).tolist() == pytest.approx([0, 1, 1])


def test_the_tracked_variance_follows_the_distances() -> None:
    scale = ScaleConfig(kind="split", momentum=0.75)
    head = make_head(replace(QUIET, scale=scale), dtype=torch.float64)
    head.spread.fill_(2.0)
    head.spread_per_variance.fill_(4.0)
    features = head.bank.vectors[:3].detach() + 1.0  # 4 away, if nothing else is nearer
    nearest = torch.cdist(features, head.bank.vectors[:5].detach()).square()
    own = torch.tensor([0, 1, 2])[:, None] == head.bank.labels[None, :5]
    mean = nearest.masked_fill(~own, torch.inf).amin(dim=1).mean().item()
    head.observe(features, torch.tensor([0, 1, 2]))
    assert head.spread.item() == pytest.approx(0.75 * 2.0 + 0.25 * mean)
    assert head.clustering_variance().item() == pytest.approx(head.spread.item() / 4.0)


def test_the_tracked_variance_leaves_out_examples_of_weight_zero() -> None:
    config = replace(QUIET, scale=ScaleConfig(kind="split", momentum=0.5))
    few, all_of_them = make_head(config), make_head(config)
    features, labels = make_batch(8)
    few.observe(features[:5], labels[:5])
    all_of_them.observe(features, labels, torch.tensor([1.0, 1, 2, 1, 1, 0, 0, 0]))
    assert all_of_them.spread.item() == pytest.approx(few.spread.item())
    assert all_of_them.threshold.item() == pytest.approx(few.threshold.item())


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_prototypes_follow_their_texts_and_importance_is_that_of_where_they_are(task: str) -> None:
    config = replace(QUIET, follow=FollowConfig(together=0.3, own=0.1))
    head, still = make_head(config, task=task), make_head(QUIET, task=task)
    features, labels = make_batch(8, task=task)
    weights = torch.tensor([1.0, 1, 2, 1, 1, 0, 0, 0])
    before, groups = head.bank.vectors.detach().clone(), head.groups(labels)
    head.observe(features, labels, weights)
    own = (groups.unsqueeze(1) == head.bank.labels) & head.bank.active & (weights > 0).unsqueeze(1)
    expected = followed(before, features, own, sqdist(features, before), config.follow)
    assert not torch.equal(head.bank.vectors, before)
    torch.testing.assert_close(head.bank.vectors.detach(), expected)
    still.bank.vectors.data.copy_(expected)  # as if it had been there before
    still.observe(features, labels, weights)
    torch.testing.assert_close(head.bank.window, still.bank.window)


def test_predicting_changes_nothing() -> None:
    head = make_head(BUSY)
    before = {name: value.clone() for name, value in head.state_dict().items()}
    features, labels = make_batch(8)
    head(features)
    head.loss(features, labels)
    assert all(torch.equal(value, before[name]) for name, value in head.state_dict().items())
