"""Shares and edits of every prototype method, against the head itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from helpers.editable import METHODS, batch, prediction, random_head
from helpers.steps import blobs, started
from protofit.errors import InputError
from protofit.methods.editable import Editable, copied

TASKS = ("classification", "regression")
EVERY = pytest.mark.parametrize("name", METHODS)
SEEDS = st.integers(0, 10**6)


def near(got: Tensor, wanted: Tensor, within: float = 1e-6) -> None:
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=0, atol=within)


@EVERY
@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_shares_sum_to_the_prediction(name: str, task: str, seed: int) -> None:
    head, features = random_head(name, task, seed), batch(5, seed)
    found = head.shares(features)
    near(found.share.sum(dim=1) + found.base, prediction(head, features))
    near(found.importance, head.importance(features))
    if name != "prosenet":
        near(found.importance.sum(dim=1), torch.ones(5, dtype=torch.float64))
        assert not found.base.any()


@EVERY
@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_without_is_what_removing_gives(name: str, task: str, seed: int) -> None:
    head, features = random_head(name, task, seed), batch(3, seed)
    found, rows = head.shares(features), head.prototypes().rows.tolist()
    for k, row in enumerate(rows):
        edited = copied(head)
        edited.remove(row)
        assert edited.prototypes().rows.tolist() == [other for other in rows if other != row]
        near(found.without[:, k], prediction(edited, features))


@EVERY
@pytest.mark.parametrize("task", TASKS)
def test_an_added_prototype_decides_where_it_lies(name: str, task: str) -> None:
    head = random_head(name, task, 3)
    if name == "protonet":
        head.remove(1)
    room: Any = head.with_room()
    vector, before = 3 * torch.ones(6), prediction(head, 3 * torch.ones(1, 6))
    value = 1.0
    if task == "regression":  # ProtoNet: a target of the bin that has no prototype now
        value = float(head.bins.values[1]) if name == "protonet" else 5.0
    row = room.add(vector, value)
    found = room.prototypes()
    assert row in found.rows.tolist()
    k = found.rows.tolist().index(row)
    torch.testing.assert_close(found.vectors[k].float(), vector)
    after = prediction(room, vector.unsqueeze(0))
    if task == "classification":
        assert after[0, 1] > before[0, 1]
        assert int(found.labels[k]) == 1
    elif name == "pfit":
        assert after[0, 0] > before[0, 0]
    elif name == "prosenet":
        assert float(after[0, 0]) == pytest.approx(5.0, abs=1e-5)


@EVERY
@pytest.mark.parametrize("task", TASKS)
def test_room_never_ends(name: str, task: str) -> None:
    if name == "protonet":
        pytest.skip("one prototype for each class")
    head = random_head(name, task, 5)
    features, before = batch(4, 0), len(head.prototypes().rows)
    said = prediction(head, features)
    for i in range(12):
        grown = head.with_room()
        near(prediction(grown, features), prediction(head, features))
        grown.add(torch.full((6,), 100.0 + i), 0 if task == "classification" else 1)
        head = grown
    assert len(head.prototypes().rows) == before + 12
    near(prediction(head, features), said)  # the new ones are far away


def test_prosenet_adds_no_prototype_that_would_say_nothing() -> None:
    head = random_head("prosenet", "regression", 5)
    vector = torch.full((6,), 1e6)  # so far away that the value is exactly 0
    room = head.with_room()
    with pytest.raises(InputError, match="would add nothing"):
        room.add(vector, 0.0)
    assert len(room.prototypes().rows) == len(head.prototypes().rows)


@EVERY
def test_a_new_class_is_hardly_believed_in_until_it_has_a_prototype(name: str) -> None:
    head, features = random_head(name, "classification", 7), batch(20, 7)
    before, wider = prediction(head, features), head.with_class()
    assert wider.shape.outputs == 4
    after = prediction(wider, features)
    assert after.shape == (20, 4)
    if name == "prosenet":  # a class without votes keeps the logit 0
        near(after[:, :3] / after[:, :3].sum(dim=1, keepdim=True), before, 1e-6)
    else:
        assert float(after[:, 3].max()) < 0.12
        assert float((after[:, :3] - before).abs().max()) < 0.12
    ready = wider.with_room()
    ready.add(5 * torch.ones(6), 3)
    assert int(prediction(ready, 5 * torch.ones(1, 6)).argmax()) == 3
    assert head.shape.outputs == 3
    near(prediction(head, features), before, 0)


@pytest.mark.parametrize("name", ["pfit", "imp", "dpmeans", "prosenet"])
def test_merging_two_equal_prototypes_leaves_one(name: str) -> None:
    head = random_head(name, "classification", 11).with_room()
    features, rows = batch(6, 11), head.prototypes().rows.tolist()
    row = rows[1]
    vector = head.prototypes().vectors[1].float()
    label = int(head.prototypes().labels[1])
    said = prediction(head, features)
    twin = head.add(vector, label)
    if name == "pfit":
        head.bank.outputs.data[twin] = head.bank.outputs.data[row]
    doubled = prediction(head, features)
    kept = head.merge([row, twin])
    assert kept == row
    assert head.prototypes().rows.tolist() == rows
    near(prediction(head, features), doubled if name == "prosenet" else said)


def test_pfit_merges_what_prototypes_say_and_keeps_the_signs() -> None:
    head = random_head("pfit", "classification", 13)
    rows = head.prototypes().rows.tolist()[:3]
    found = head.prototypes()
    wanted, middle = found.outputs[:3].mean(dim=0), found.vectors[:3].mean(dim=0)
    head.merge(rows)
    k = head.prototypes().rows.tolist().index(rows[0])
    near(head.prototypes().outputs[k], wanted)
    near(head.prototypes().vectors[k], middle)
    before = head.bank.outputs.detach().clone()
    with torch.no_grad():
        head._project_signs()
    assert torch.equal(head.bank.outputs[rows[0]], before[rows[0]])


def test_different_classes_do_not_merge_where_a_prototype_is_of_one() -> None:
    head = random_head("imp", "classification", 0)
    with pytest.raises(InputError, match="different classes"):
        head.merge([int(head.bank.labels.tolist().index(label)) for label in (0, 1)])
    with pytest.raises(InputError, match="one prototype for each class"):
        random_head("protonet", "classification", 0).merge([0, 1])
    with pytest.raises(InputError, match="one prototype for each class"):
        random_head("protonet", "classification", 0).add(torch.ones(6), 0)


@EVERY
@pytest.mark.parametrize("task", TASKS)
def test_nearer_is_denser(name: str, task: str) -> None:
    head = random_head(name, task, 2)
    vector = head.prototypes().vectors[:1].float()
    far = vector + 50
    assert float(head.density(vector)) > float(head.density(far))
    assert head.density(torch.cat([vector, far])).shape == (2,)


def test_the_density_of_one_gaussian_integrates_to_one() -> None:
    head = random_head("pfit", "classification", 1).double()
    for row in head.prototypes().rows.tolist()[1:]:
        head.remove(row)
    centre, variance = head.prototypes().vectors[0], head.log_variance.exp().item()
    wanted = -3 * np.log(2 * np.pi * variance) - 0.5 * 6 * 4 / variance
    assert float(head.density(centre.unsqueeze(0) + 2)) == pytest.approx(wanted)


def test_methods_without_prototypes_say_so() -> None:
    features, labels = blobs(20)
    head = started("raw", features, labels)
    assert head.prototypes() is None
    assert not isinstance(head, Editable)


@EVERY
@pytest.mark.parametrize("task", TASKS)
def test_a_copy_shares_nothing(name: str, task: str) -> None:
    head = random_head(name, task, 4)
    state = {key: value.clone() for key, value in head.state_dict().items()}
    edited = head.with_room()
    row = edited.prototypes().rows.tolist()[0]
    edited.move(row, torch.full((6,), 9.0))
    edited.remove(row)
    assert all(torch.equal(value, state[key]) for key, value in head.state_dict().items())
