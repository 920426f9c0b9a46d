"""IMP: episodes and whole-set clustering against loops; creation, deletion and refresh are live."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.episodes import Batch, batches, make_batch
from helpers.heads import view_of
from helpers.problems import tensor
from helpers.quick import few_tickets, quick_classifier
from helpers.runs import make_run
from protofit.errors import InputError
from protofit.methods.base import HeadShape
from protofit.methods.imp import Imp, ImpConfig, ImpExact, ImpExactConfig
from protofit.prototypes.clusters import Rule
from protofit.prototypes.episodes import cluster_all, episode_clusters
from reference import imp as reference
from reference.functions import Array
from reference.protonet import halves
from reference.test_reference import numeric_gradient

ALPHA = 0.1
TWINS = np.array([[-3.0, 0], [3, 0], [-3.1, 0], [3.1, 0], [0, 9], [0, 9.1]])  # two sorts of class 0
TWIN_LABELS = np.array([0, 0, 0, 0, 1, 1])


def head_of(batch: Batch, **settings: object) -> Imp:
    """A float64 head that remembers the means of the batch."""
    config = ImpConfig(variance=batch.variance, **settings)  # type: ignore[arg-type]
    head = Imp(config, HeadShape(batch.features.shape[1], batch.classes)).double()
    head.log_variance.data.fill_(np.log(batch.variance))
    head.memory.set(tensor(batch.means), torch.arange(batch.classes))
    return head


def wanted_of(batch: Batch, **options: object) -> tuple[reference.Outcome, list[int]]:
    """Clusters of the support half, and the query half."""
    support, query = halves(batch.labels, [True] * len(batch.labels))
    outcome = reference.cluster(
        batch.features, batch.labels, support, batch.remembered, batch.variance, ALPHA,
        **options,  # type: ignore[arg-type]
    )  # fmt: skip
    return outcome, query


@given(batches(), st.booleans(), st.booleans())
def test_an_episode_is_that_of_the_loops(batch: Batch, hard: bool, first_only: bool) -> None:
    support, _ = halves(batch.labels, [True] * len(batch.labels))
    mask = torch.zeros(len(batch.labels), dtype=torch.bool)
    mask[support] = True
    known = torch.ones(batch.classes, dtype=torch.bool)
    found = episode_clusters(
        tensor(batch.features), tensor(batch.labels), mask, (tensor(batch.means), known),
        torch.tensor(batch.variance, dtype=torch.float64), Rule(ALPHA, hard, first_only),
    )  # fmt: skip
    wanted, _ = wanted_of(batch, hard=hard, first_only=first_only)
    assert found.threshold.item() == pytest.approx(wanted.threshold)
    assert (found.created.item(), found.deleted.item()) == (wanted.created, wanted.deleted)
    live = found.active
    assert found.labels[live].tolist() == [row.label for row in wanted.clusters]
    np.testing.assert_allclose(
        found.vectors[live], [row.vector for row in wanted.clusters], atol=1e-9
    )


@given(batches(), st.booleans())
def test_loss_is_the_or_loss_of_the_queries(batch: Batch, first_only: bool) -> None:
    head = head_of(batch, first_only=first_only)
    got = head.loss(tensor(batch.features), tensor(batch.labels)).loss.item()
    outcome, query = wanted_of(batch, first_only=first_only)
    losses = [
        reference.or_loss(
            batch.features[i], int(batch.labels[i]), outcome.clusters, 2 * batch.variance
        )
        for i in query
    ]
    assert got == pytest.approx(sum(losses) / len(losses), rel=1e-7, abs=1e-9)


def test_gradient_leaves_responsibilities_and_lambda_alone() -> None:
    batch = make_batch(12, 2, 3, 1.0, seed=8)
    outcome, query = wanted_of(batch)
    assert outcome.created > 0
    support, _ = halves(batch.labels, [True] * 12)

    def loss(features: Array, variance: float) -> float:
        rows = [
            reference.Cluster(np.zeros(3), c, fixed=c not in batch.labels[support])
            for c in range(2)
        ]
        made = len(outcome.shares[0]) - len(rows)
        rows += [reference.Cluster(np.zeros(3), -1) for _ in range(made)]
        for n, i in enumerate(support):  # a row is of the class of those who have a share in it
            for k, share in enumerate(outcome.shares[n]):
                if share > 0:
                    rows[k].label = int(batch.labels[i])
        left, _ = reference.moved(features, support, rows, outcome.shares)
        each = [
            reference.or_loss(features[i], int(batch.labels[i]), left, 2 * variance) for i in query
        ]
        return sum(each) / len(each)

    head = head_of(batch)
    features = tensor(batch.features).requires_grad_()
    value = head.loss(features, tensor(batch.labels)).loss
    assert value.item() == pytest.approx(loss(batch.features, batch.variance))
    value.backward()
    wanted = numeric_gradient(lambda x: loss(x, batch.variance), batch.features)
    assert features.grad is not None
    np.testing.assert_allclose(features.grad, wanted, rtol=1e-5, atol=1e-7)
    log_variance = np.array([np.log(batch.variance)])
    slope = numeric_gradient(lambda s: loss(batch.features, float(np.exp(s[0]))), log_variance)
    assert head.log_variance.grad is not None
    assert head.log_variance.grad.item() == pytest.approx(slope[0], rel=1e-5)


@given(batches(), st.booleans(), st.booleans(), st.integers(1, 4))
def test_clustering_of_all_data_is_that_of_the_loops(
    batch: Batch, hard: bool, first_only: bool, room: int
) -> None:
    found = cluster_all(
        tensor(batch.features), tensor(batch.labels), batch.classes,
        torch.tensor(batch.variance, dtype=torch.float64), Rule(ALPHA, hard, first_only), room,
    )  # fmt: skip
    wanted = reference.cluster(
        batch.features, batch.labels, list(range(len(batch.labels))), [None] * batch.classes,
        batch.variance, ALPHA, hard=hard, first_only=first_only, room=room,
    )  # fmt: skip
    assert found.threshold.item() == pytest.approx(wanted.threshold)
    assert (found.created.item(), found.deleted.item()) == (wanted.created, wanted.deleted)
    assert found.active.all()
    order = lambda rows: sorted((label, *vector) for label, vector in rows)  # noqa: E731
    got = order(zip(found.labels.tolist(), found.vectors.tolist(), strict=True))
    np.testing.assert_allclose(
        got, order((row.label, row.vector.tolist()) for row in wanted.clusters), atol=1e-9
    )


def exact_head(variance: float, **settings: object) -> ImpExact:
    config = ImpExactConfig(variance=variance, **settings)  # type: ignore[arg-type]
    return ImpExact(config, HeadShape(2, 2))


def test_clusters_are_created_and_the_emptied_one_is_deleted() -> None:
    head = exact_head(0.5)
    head.start(view_of(TWINS.astype(np.float32), TWIN_LABELS))
    assert (head.created.item(), head.pruned.item()) == (2, 1)  # the mean between the twins
    bank = head.bank
    live = bank.vectors[bank.active].detach()
    assert bank.labels[bank.active].tolist() == [1, 0, 0]
    np.testing.assert_allclose(live, [[0, 9.05], [-3.05, 0], [3.05, 0]], atol=1e-3)
    assert head.trace()["prototypes"].item() == bank.size.item() == 3
    assert head(torch.tensor([[-3.0, 1], [3, 1], [0, 8]])).argmax(dim=1).tolist() == [0, 0, 1]


def test_first_only_makes_clusters_side_by_side() -> None:
    head = exact_head(0.5, first_only=True)
    head.start(view_of(TWINS.astype(np.float32), TWIN_LABELS))
    assert head.created.item() == 4


def test_at_most_p_max_clusters_shared_by_the_classes() -> None:
    numbers = np.random.default_rng(0)
    features = (numbers.normal(size=(40, 2)) * 9).astype(np.float32)
    head = exact_head(0.01, capacity=6)
    head.start(view_of(features, np.arange(40) % 2))
    assert head.bank.capacity == 6
    assert head.created.item() == 4
    counts = torch.bincount(head.bank.labels[head.bank.active], minlength=2)
    assert counts.max() <= 3
    assert counts.min() >= 2


def test_refresh_is_the_re_estimation_of_the_training_set() -> None:
    numbers = np.random.default_rng(3)
    labels = np.arange(30) % 2
    before = numbers.normal(size=(30, 2)).astype(np.float32)
    after = (before * 2 + numbers.normal(size=(30, 2))).astype(np.float32)
    head = exact_head(0.4, every=3)
    held = head.bank.vectors
    head.start(view_of(before, labels))
    first = head.bank.vectors.detach().clone()
    assert head.refresh_every == 3
    head.attach(view_of(after, labels))
    head.refresh()
    assert head.bank.vectors is held
    assert not torch.equal(first, head.bank.vectors)
    wanted = reference.cluster(
        after.astype(np.float64), labels, list(range(30)), [None, None], 0.4, ALPHA
    )
    rows = sorted((row.label, *row.vector) for row in wanted.clusters)
    live = head.bank.active
    vectors = head.bank.vectors[live].tolist()
    got = sorted(
        (label, *vector)
        for label, vector in zip(head.bank.labels[live].tolist(), vectors, strict=True)
    )
    assert len(got) > 2
    np.testing.assert_allclose(got, rows, rtol=1e-4, atol=1e-4)
    queries = numbers.normal(size=(5, 2))
    expected = [reference.log_prob(x, wanted.clusters, 2, 0.8) for x in queries]
    np.testing.assert_allclose(head(tensor(queries).float()).detach(), expected, atol=1e-3)


def test_between_refreshes_the_clusters_stand_still_and_the_batch_is_learned_from() -> None:
    numbers = np.random.default_rng(4)
    features = numbers.normal(size=(20, 2)).astype(np.float32)
    head = exact_head(0.4)
    head.start(view_of(features, np.arange(20) % 2))
    batch = torch.from_numpy(features[:8]).requires_grad_()
    labels = torch.arange(8) % 2
    before = head.bank.vectors.detach().clone()
    head.observe(batch, labels)
    result = head.loss(batch, labels)
    result.loss.backward()
    head.settle()
    torch.testing.assert_close(result.prediction, head(batch))
    assert torch.equal(before, head.bank.vectors)
    assert head.bank.vectors.grad is None
    assert batch.grad is not None
    assert batch.grad.abs().sum() > 0
    assert head.log_variance.grad is not None


def test_an_epoch_is_the_usual_refresh() -> None:
    head = exact_head(1.0)
    assert head.refresh_every == 0
    head.attach(view_of(TWINS, TWIN_LABELS, steps=7))
    assert head.refresh_every == 7


def test_the_loop_refreshes(tiny_bert: Path) -> None:
    texts, labels = few_tickets()
    settings = {
        "head.every": 2, "head.variance": 0.001, "train.max_steps": 5, "train.min_steps": 5,
        "train.batch_size": 8,
    }  # fmt: skip
    trace = make_run(tiny_bert, texts, labels, settings, "imp-exact").run().trace
    created = [row["created"] for row in trace]
    assert created[0] == created[1] < created[2] == created[3] < created[4]


def test_an_episode_counts_and_is_forgotten() -> None:
    batch = make_batch(12, 2, 3, 1.0, seed=8)
    head = head_of(batch)
    outcome, _ = wanted_of(batch)
    for repeat in (1, 2):
        head.observe(tensor(batch.features), tensor(batch.labels))
        head.loss(tensor(batch.features), tensor(batch.labels))
        assert head.created.item() == repeat * outcome.created > 0
        assert head.trace()["prototypes"].item() == len(outcome.clusters)
        assert head.trace()["creation_sqdist"].item() == pytest.approx(outcome.threshold)
    assert head.bank.size.item() == 0


def test_evaluation_is_by_the_bank() -> None:
    head = Imp(ImpConfig(variance=0.5), HeadShape(2, 2))
    head.start(view_of(TWINS.astype(np.float32), TWIN_LABELS))
    head.eval()
    before = {name: value.clone() for name, value in head.state_dict().items()}
    features, labels = torch.from_numpy(TWINS).float(), torch.from_numpy(TWIN_LABELS)
    result = head.loss(features, labels)
    assert torch.equal(result.prediction, head(features))
    assert all(torch.equal(value, before[name]) for name, value in head.state_dict().items())


def test_start_and_ready_fill_bank_and_memory() -> None:
    head = Imp(ImpConfig(variance=0.5), HeadShape(2, 2))
    head.start(view_of(TWINS.astype(np.float32), TWIN_LABELS))
    assert head.bank.size.item() == 3
    head.attach(view_of(TWINS.astype(np.float32) + 1, TWIN_LABELS))
    head.ready()
    np.testing.assert_allclose(head.memory.means, [[1, 1], [1, 10.05]], atol=1e-5)
    assert head.bank.vectors[head.bank.active].detach()[:, 1].min() > 0.9


@pytest.mark.parametrize("name", ["variance", "alpha", "capacity", "bins"])
def test_a_setting_out_of_range_is_named(name: str) -> None:
    with pytest.raises(InputError, match=f"head.{name} is 0"):
        ImpConfig(**{name: 0})
    with pytest.raises(InputError, match=f"head.{name} is 0"):
        ImpExactConfig(**{name: 0})


def test_r_and_momentum_are_checked() -> None:
    with pytest.raises(InputError, match="head.every is 0"):
        ImpExactConfig(every=0)
    with pytest.raises(InputError, match="head.momentum is 2"):
        ImpConfig(momentum=2)


@pytest.mark.parametrize("method", ["imp", "imp-exact"])
def test_end_to_end(method: str, tiny_bert: Path, tmp_path: Path) -> None:
    texts, labels = few_tickets()
    roomy = {"head.variance": 0.01}
    model = quick_classifier(tiny_bert, roomy, method=method).fit(texts, labels)
    assert model.trace_[-1]["created"] > 0
    assert model.bundle_.model.head.bank.size > 2
    model.save(tmp_path / "m")
    again = type(model).load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
