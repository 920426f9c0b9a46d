"""Self-checks of the reference: hand-computed examples and finite differences."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from . import functions as fn
from .adam import Moments, adam_update
from .algorithm import (
    Hyperparameters,
    Prototype,
    ReferencePFit,
    ReferencePFitRegression,
    StepRecord,
    own_class_logits,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .functions import Array, Pairs, Reduction

    LossOf = Callable[[Array, Array, float, Array], float]

LINE = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])


def numeric_gradient(f: Callable[[Array], float], at: Array, h: float = 1e-6) -> Array:
    """Central differences of f at a point of any shape."""
    grad = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[index] += h
        down[index] -= h
        grad[index] = (f(up) - f(down)) / (2.0 * h)
    return grad


def close(actual: Array | float, expected: Array | float, tolerance: float = 1e-7) -> bool:
    return bool(np.allclose(actual, expected, rtol=1e-6, atol=tolerance))


def test_the_references_share_no_code_with_what_they_check() -> None:
    """Not with the library, and not with the tensor library that it is written in."""
    files = [path for path in Path(__file__).parent.glob("*.py") if path != Path(__file__)]
    assert len(files) > 5
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"protofit", "torch"} & {name.split(".")[0] for name in names}, path


def test_importance_by_hand() -> None:
    prototypes = np.array([[0.0], [2.0]])
    z = fn.gaussian_importance(np.array([0.5]), prototypes, 2.0)
    near, far = math.exp(-0.25 / 4.0), math.exp(-2.25 / 4.0)
    assert z == pytest.approx([near / (near + far), far / (near + far)])


def test_importance_survives_distances_that_underflow() -> None:
    z = fn.gaussian_importance(np.array([0.0]), np.array([[1e4], [1e4 + 1e-3]]), 5.0)
    gap = ((1e4 + 1e-3) ** 2 - 1e8) / 10.0
    assert z == pytest.approx([1.0 / (1.0 + math.exp(-gap)), 1.0 / (1.0 + math.exp(gap))])


def test_mixture_by_hand() -> None:
    logits = np.array([[math.log(3.0), 0.0], [0.0, math.log(4.0)]])
    prob = fn.mixture_prob(np.array([1.0]), np.array([[0.0], [2.0]]), logits, 1.0)
    assert prob == pytest.approx([0.5 * 0.75 + 0.5 * 0.2, 0.5 * 0.25 + 0.5 * 0.8])
    value = fn.mixture_value(np.array([1.0]), np.array([[0.0], [2.0]]), np.array([3.0, 5.0]), 1.0)
    assert value == pytest.approx(4.0)


def test_base_variance_is_unbiased_and_zero_for_one() -> None:
    assert fn.base_variance(LINE) == pytest.approx((9.0 + 16.0) / 2.0)
    assert fn.base_variance(LINE) == pytest.approx(float(np.var(LINE, axis=0, ddof=1).mean()))
    assert fn.base_variance(LINE[:1]) == 0.0


def test_threshold_balances_new_and_existing_cluster() -> None:
    variance, rho, alpha, d = 1.5, 0.7, 0.1, 6
    lam = fn.creation_threshold(variance, rho, alpha, d)
    evidence_new = alpha * (1.0 + rho / variance) ** (-d / 2)
    assert math.exp(-lam / (2.0 * variance)) == pytest.approx(evidence_new)


def test_threshold_known_sizes_clamp_and_range() -> None:
    assert fn.creation_threshold(1.0, 0.005, 0.1, 768) == pytest.approx(8.4355, abs=1e-3)
    assert fn.creation_threshold(5.0, 0.005, 0.1, 768) == pytest.approx(26.864, abs=1e-3)
    assert fn.creation_threshold(2.0, 0.0, 0.1, 768) == pytest.approx(4.0 * math.log(10.0))
    assert fn.creation_threshold(2.0, 0.0, 5.0, 768) == 0.0
    huge = fn.creation_threshold(1e-6, 50.0, 0.1, 4096)
    assert huge == pytest.approx(2e-6 * math.log(10.0) + 4096 * 1e-6 * math.log1p(5e7))


def test_diversity_by_hand() -> None:
    assert fn.diversity_literal(LINE, 7.0) == pytest.approx(4.0 + 4.0)
    assert fn.diversity_literal(LINE, 12.0) == pytest.approx(49.0 + 49.0 + 4.0)
    assert fn.diversity_literal(LINE, 12.0, reduction="mean") == pytest.approx(34.0)
    assert fn.diversity_literal(LINE, 7.0, reduction="mean") == pytest.approx(8.0 / 3.0)
    assert fn.diversity_literal(LINE, 12.0, [0, 1, 0], "same_class") == pytest.approx(4.0)
    assert fn.diversity_literal(LINE, 12.0, [0, 1, 2], "same_class", "mean") == 0.0
    assert fn.diversity_consistent(LINE, 49.0) == pytest.approx(4.0 + 4.0)
    with pytest.raises(ValueError, match="needs labels"):
        fn.diversity_literal(LINE, 1.0, pairs="same_class")


@pytest.mark.parametrize("pairs", ["all", "same_class"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_diversity_gradient(pairs: Pairs, reduction: Reduction) -> None:
    vectors = np.random.default_rng(0).normal(size=(5, 3))
    labels, lam = [0, 1, 0, 1, 0], 2.3
    literal = fn.diversity_gradient(vectors, lam, labels, pairs, reduction)
    consistent = fn.diversity_gradient(vectors, math.sqrt(lam), labels, pairs, reduction)
    assert np.abs(literal).max() > 0.1
    assert close(
        literal,
        numeric_gradient(lambda v: fn.diversity_literal(v, lam, labels, pairs, reduction), vectors),
    )
    assert close(
        consistent,
        numeric_gradient(
            lambda v: fn.diversity_consistent(v, lam, labels, pairs, reduction), vectors
        ),
    )


def test_coincident_prototypes_get_no_diversity_gradient() -> None:
    assert np.array_equal(fn.diversity_gradient(np.ones((2, 3)), 4.0), np.zeros((2, 3)))


def test_window_by_hand() -> None:
    history = {1: 0.9, 4: 0.8, 5: 0.4, 6: 0.6}
    # length 4 at step 6: steps 3..6 weigh 1/4, 2/4, 3/4, 1 and step 3 is missing
    weighted = 0.5 * 0.8 + 0.75 * 0.4 + 1.0 * 0.6
    assert fn.window_statistic(history, 6, 4) == pytest.approx(weighted / 4.0)
    assert fn.window_statistic_normalised(history, 6, 4) == pytest.approx(weighted / 2.25)
    assert fn.window_statistic(history, 1, 4) == pytest.approx(0.9 / 4.0)
    assert fn.window_statistic_normalised(history, 1, 4) == pytest.approx(0.9)
    assert fn.window_statistic_normalised({}, 6, 4) == 0.0


def test_soft_nearest_neighbour_by_hand() -> None:
    features = np.array([[0.0], [1.0], [3.0]])
    near, mid, far = math.exp(-0.5), math.exp(-2.0), math.exp(-4.5)
    first, second = -math.log(near / (near + far)), -math.log(near / (near + mid))
    labels = [0, 0, 1]
    assert fn.soft_nearest_neighbour(features, labels, 1.0) == pytest.approx((first + second) / 2)
    weighted = fn.soft_nearest_neighbour(features, labels, 1.0, np.array([3.0, 1.0, 9.0]))
    assert weighted == pytest.approx((3.0 * first + second) / 4.0)
    assert fn.soft_nearest_neighbour(features, [0, 1, 2], 1.0) == 0.0
    assert fn.soft_nearest_neighbour(features, [0, 0, 0], 1.0) == pytest.approx(0.0)
    # distances 9 (same class) against 1 and 4: gaps 8 and 5 over 2 variance, far below exp's range
    underflowing = fn.soft_nearest_neighbour(features, [0, 1, 0], 1e-4)
    assert underflowing == pytest.approx((8.0 + 5.0) / 2.0 / 2e-4)


def test_sequential_creation_sees_its_own_creations() -> None:
    features = np.array([[3.0], [3.1], [2.0], [9.0], [0.0], [0.1]])
    labels, known, known_labels = [0, 0, 0, 0, 1, 1], np.array([[0.0]]), [0]
    pick = fn.sequential_creation
    assert pick(features, labels, known, known_labels, 4.0, 9) == [0, 3, 4]
    assert pick(features, labels, known, known_labels, 4.0, 2) == [0, 3]
    assert pick(features, labels, known, known_labels, 4.0, 0) == []
    assert pick(features[2:3], [0], known, known_labels, 4.0, 9) == []  # 4 > 4 is false


def test_farthest_creation_takes_one_per_class() -> None:
    features = np.array([[3.0], [0.5], [5.0], [-5.0], [7.0], [8.0]])
    labels, known, known_labels = [0, 0, 0, 0, 2, 2], np.array([[0.0], [6.0]]), [0, 1]
    pick = fn.farthest_creation
    assert pick(features, labels, known, known_labels, 4.0, 9) == [2, 4]
    assert pick(features, labels, known, known_labels, 4.0, 1) == [2]
    assert pick(features, labels[::-1], known, known_labels, 4.0, 9) == [0, 5]
    assert pick(features, [0, 2, 2, 0, 0, 0], known, known_labels, 4.0, 9) == [1, 5]
    assert pick(features, [2, 0, 0, 0, 0, 2], known, known_labels, 4.0, 9) == [0, 4]
    assert pick(features, [0, 2, 0, 0, 0, 0], known, known_labels, 4.0, 1) == [1]
    assert pick(features[:4], [0] * 4, known, known_labels, 25.0, 9) == []


def test_adam_two_steps_by_hand() -> None:
    moments = Moments.zeros(1)
    first = adam_update(np.array([1.0]), np.array([4.0]), moments, 1, 0.1)
    assert first == pytest.approx([0.9], abs=1e-9)
    second = adam_update(first, np.array([-2.0]), moments, 2, 0.1)
    m_hat = (0.9 * 0.4 - 0.2) / (1 - 0.81)
    v_hat = (0.999 * 0.016 + 0.004) / (1 - 0.999**2)
    assert second == pytest.approx([0.9 - 0.1 * m_hat / math.sqrt(v_hat)], abs=1e-8)


def test_late_born_parameter_uses_the_global_step() -> None:
    moved = adam_update(np.array([0.0]), np.array([5.0]), Moments.zeros(1), 10, 0.1)
    m_hat, v_hat = 0.5 / (1 - 0.9**10), 0.025 / (1 - 0.999**10)
    assert moved == pytest.approx([-0.1 * m_hat / math.sqrt(v_hat)], abs=1e-8)


def test_losses_equal_the_mixture() -> None:
    rng = np.random.default_rng(1)
    x, p, logits = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 5))
    labels, targets = [0, 4, 2, 2], rng.normal(size=4)
    probs = [fn.mixture_prob(x[i], p, logits, 1.7)[labels[i]] for i in range(4)]
    l0 = fn.classification_loss(x, labels, p, logits, 1.7)
    assert l0.value == pytest.approx(-float(np.mean(np.log(probs))))
    assert close(l0.importance, np.array([fn.gaussian_importance(row, p, 1.7) for row in x]))
    y_hat = [fn.mixture_value(row, p, logits[:, 0], 1.7) for row in x]
    mse = fn.regression_loss(x, targets, p, logits[:, :1], 1.7)
    assert mse.value == pytest.approx(float(np.mean((targets - np.array(y_hat)) ** 2)))
    assert close(mse.importance, l0.importance)


def toy(seed: int) -> tuple[Array, Array, list[int], list[int], Array]:
    """Prototypes (3, 4), features (6, 4), their labels and real targets."""
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(3, 4)),
        1.5 * rng.normal(size=(6, 4)),
        [0, 1, 2],
        [2, 0, 1, 1, 0, 2],
        rng.normal(size=6),
    )


GRADIENT_SETTINGS = [
    Hyperparameters(alpha=0.9, beta=0.7, diversity_weight=0.3),
    Hyperparameters(
        alpha=0.9,
        creation_rule="farthest",
        diversity_weight=0.5,
        diversity_form="consistent",
        diversity_pairs="same_class",
        diversity_reduction="mean",
    ),
    Hyperparameters(creation_rule="off", diversity_weight=0.0),
]


def with_diversity(l0: LossOf, hyper: Hyperparameters, labels: list[int], lam: float) -> LossOf:
    """Return the whole loss written from the value functions, with lambda held constant."""
    forms = {"literal": fn.diversity_literal, "consistent": fn.diversity_consistent}

    def loss(v: Array, head: Array, s: float, x: Array) -> float:
        form = forms[hyper.diversity_form]
        ldiv = form(v, lam, labels, hyper.diversity_pairs, hyper.diversity_reduction)
        return l0(v, head, s, x) + hyper.diversity_weight * ldiv

    return loss


def check_step_gradients(
    record: StepRecord, loss: LossOf, at: tuple[Array, Array, float, Array]
) -> None:
    """Compare the recorded gradients with differences of the loss around the point."""
    v, head, s, x = at
    rows, grads = range(len(v)), record.grads
    assert record.loss == pytest.approx(loss(*at))
    by_vector = numeric_gradient(lambda u: loss(u, head, s, x), v)
    by_logits = numeric_gradient(lambda u: loss(v, u, s, x), head)
    by_log_variance = numeric_gradient(lambda u: loss(v, head, float(u[0]), x), np.array([s]))
    by_feature = numeric_gradient(lambda u: loss(v, head, s, u), x)
    assert close(np.array([grads.vectors[r] for r in rows]), by_vector)
    assert close(np.array([grads.logits[r] for r in rows]), by_logits)
    assert close(np.array([grads.log_variance]), by_log_variance)
    assert close(grads.features, by_feature)


@pytest.mark.parametrize("hyper", GRADIENT_SETTINGS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_classification_step_gradients(hyper: Hyperparameters, seed: int) -> None:
    vectors, features, labels, batch_labels, _ = toy(seed)
    model = ReferencePFit(list(zip(vectors, labels, strict=True)), 0.4, 3, hyper)
    record = model.step(features, batch_labels)
    assert bool(record.created_rows) == (hyper.creation_rule != "off")
    after = np.concatenate([vectors, features[record.created_indices]])
    owners = labels + [batch_labels[i] for i in record.created_indices]
    logits = np.array([own_class_logits(c, 3, hyper.beta) for c in owners])

    def l0(v: Array, head: Array, s: float, x: Array) -> float:
        probs = [fn.mixture_prob(x[i], v, head, math.exp(s)) for i in range(len(x))]
        return -sum(math.log(probs[i][batch_labels[i]]) for i in range(len(x))) / len(x)

    loss = with_diversity(l0, hyper, owners, record.lam)
    check_step_gradients(record, loss, (after, logits, 0.4, features))


@pytest.mark.parametrize("hyper", GRADIENT_SETTINGS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regression_step_gradients(hyper: Hyperparameters, seed: int) -> None:
    vectors, features, bins, batch_bins, targets = toy(seed)
    values = [0.5, -1.0, 2.0]
    model = ReferencePFitRegression(list(zip(vectors, bins, values, strict=True)), 0.4, hyper)
    record = model.step(features, batch_bins, targets)
    assert bool(record.created_rows) == (hyper.creation_rule != "off")
    after = np.concatenate([vectors, features[record.created_indices]])
    owners = bins + [batch_bins[i] for i in record.created_indices]
    heads = np.concatenate([np.array(values), targets[record.created_indices]])[:, None]

    def l0(v: Array, head: Array, s: float, x: Array) -> float:
        y_hat = [fn.mixture_value(row, v, head[:, 0], math.exp(s)) for row in x]
        return float(np.mean((targets - np.array(y_hat)) ** 2))

    loss = with_diversity(l0, hyper, owners, record.lam)
    check_step_gradients(record, loss, (after, heads, 0.4, features))


def test_threshold_is_taken_before_creation() -> None:
    vectors, features, labels, batch_labels, _ = toy(3)
    hyper = Hyperparameters(alpha=0.9)
    model = ReferencePFit(list(zip(vectors, labels, strict=True)), 0.4, 3, hyper)
    record = model.step(features, batch_labels)
    rho = fn.base_variance(vectors)
    assert record.created_rows
    assert record.rho == rho
    assert record.lam == fn.creation_threshold(math.exp(0.4), rho, 0.9, 4)


def test_newborns_start_clean_and_respect_start_and_capacity() -> None:
    hyper = Hyperparameters(alpha=1.0, capacity=3, creation_start=1, lr=0.1, beta=2.0)
    model = ReferencePFit([(np.zeros(1), 0), (np.ones(1), 1)], 0.0, 2, hyper)
    batch = np.array([[50.0], [80.0]])
    assert model.step(batch, [0, 0]).created_rows == []
    record = model.step(batch, [0, 0])
    assert (record.created_rows, record.created_indices, record.k) == ([2], [0], 3)
    newborn = model.rows[2]
    assert newborn.born == 2
    assert list(newborn.history) == [2]
    assert list(model.rows[0].history) == [1, 2]
    assert newborn.history[2] == pytest.approx(1.0)
    grad = record.grads.logits[2]
    moved = adam_update(np.array([2.0, -2.0]), grad, Moments.zeros(2), 2, 0.1)
    assert newborn.logits == pytest.approx(moved)
    assert newborn.logits_moments.first == pytest.approx(0.1 * grad)
    assert batch[0, 0] == 50.0


def test_first_step_moves_every_parameter_by_the_rate() -> None:
    vectors, features, labels, batch_labels, _ = toy(4)
    hyper = Hyperparameters(creation_rule="off", lr=0.01)
    model = ReferencePFit(list(zip(vectors, labels, strict=True)), 0.4, 3, hyper)
    before = model.logits()
    grads = model.step(features, batch_labels).grads
    by_row = np.array([grads.vectors[row] for row in range(3)])
    assert close(model.vectors(), vectors - 0.01 * np.sign(by_row), 1e-6)
    logit_signs = np.sign([grads.logits[row] for row in range(3)])
    assert close(model.logits(), before - 0.01 * logit_signs, 1e-6)
    assert model.log_variance == pytest.approx(0.4 - 0.01 * np.sign(grads.log_variance))


def test_logits_keep_their_signs() -> None:
    hyper = Hyperparameters(beta=0.05, lr=0.5, creation_rule="off")
    model = ReferencePFit([(np.zeros(2), 0), (np.ones(2), 1)], 0.0, 2, hyper)
    model.step(np.array([[0.0, 0.0]]), [1])  # pulls prototype 0 towards the wrong class
    assert model.logits()[0].tolist() == [0.0, 0.0]
    assert model.rows[1].logits[1] > 0.05


def old_model(hyper: Hyperparameters, scores: list[float], labels: list[int]) -> ReferencePFit:
    """Prototypes on a line whose importance at step 1 follows their order of distance."""
    initial = [(np.array([s]), c) for s, c in zip(scores, labels, strict=True)]
    return ReferencePFit(initial, 0.0, 3, hyper)


PRUNING = Hyperparameters(
    creation_rule="off", diversity_weight=0.0, window=1, prune_every=1, epsilon=0.2, lr=0.0
)


def test_pruning_protects_the_best_of_each_class() -> None:
    model = old_model(PRUNING, [0.0, 9.0, 8.0, 30.0, 9.5], [0, 1, 1, 2, 0])
    record = model.step(np.array([[0.0]]), [0])
    assert record.pruned_rows == [1, 4]
    assert sorted(model.rows) == [0, 2, 3]
    assert record.k == 3
    assert sorted(record.grads.vectors) == [0, 1, 2, 3, 4]


def test_pruning_ties_keep_the_lowest_row() -> None:
    model = old_model(PRUNING, [0.0, 100.0, -100.0, 100.0], [0, 1, 1, 1])
    assert model.step(np.array([[0.0]]), [0]).pruned_rows == [2, 3]


def test_pruning_waits_for_grace_and_schedule() -> None:
    hyper = replace(PRUNING, grace=6, prune_every=3)
    model = old_model(hyper, [0.0, 9.0], [0, 0])
    pruned = [model.step(np.array([[0.0]]), [0]).pruned_rows for _ in range(6)]
    assert pruned == [[], [], [], [], [], [1]]


def test_a_statistic_equal_to_the_threshold_is_kept() -> None:
    model = old_model(replace(PRUNING, epsilon=0.5), [1.0, -1.0], [0, 0])
    assert model.step(np.array([[0.0]]), [0]).pruned_rows == []


def test_normalised_statistic_is_used_when_asked() -> None:
    hyper = replace(PRUNING, window=10, epsilon=0.3)
    literal, normalised = hyper, replace(hyper, normalised=True)
    for setting, expected in [(literal, [1]), (normalised, [])]:
        model = old_model(setting, [1.0, -1.0], [0, 0])  # z = 1/2 each: 0.05 against 0.5
        assert model.step(np.array([[0.0]]), [0]).pruned_rows == expected


def test_freed_row_is_reused_without_its_past() -> None:
    hyper = replace(
        PRUNING, creation_rule="sequential", alpha=1.0, creation_start=2, prune_every=2, lr=0.01
    )
    model = old_model(hyper, [0.0, 9.0, 0.1], [0, 0, 0])
    origin = np.array([[0.0]])
    assert [model.step(origin, [0]).pruned_rows for _ in range(2)] == [[], [1]]
    record = model.step(np.array([[90.0], [-90.0]]), [0, 0])
    assert record.created_rows == [1, 3]
    assert record.created_indices == [0, 1]
    reused = model.rows[1]
    assert (reused.born, list(reused.history)) == (3, [3])
    assert reused.logits_moments.first == pytest.approx(0.1 * record.grads.logits[1])
    assert model.vectors()[:, 0] == pytest.approx([0.0, 90.0, 0.1, -90.0], abs=0.1)


def test_regression_value_is_free_and_created_from_the_target() -> None:
    hyper = Hyperparameters(alpha=1.0, lr=0.0, diversity_weight=0.0)
    model = ReferencePFitRegression([(np.zeros(1), 0, 1.0)], 0.0, hyper)
    record = model.step(np.array([[40.0]]), [0], np.array([-3.5]))
    assert record.created_rows == [1]
    assert model.rows[1].logits.tolist() == [-3.5]
    assert record.l0 == pytest.approx(0.0)
    trained = ReferencePFitRegression(
        [(np.zeros(1), 0, 0.0)], 0.0, replace(hyper, lr=0.1, creation_rule="off")
    )
    trained.step(np.array([[0.0]]), [0], np.array([-3.0]))
    assert trained.rows[0].logits == pytest.approx([-0.1])


def test_training_lowers_the_loss() -> None:
    rng = np.random.default_rng(5)
    labels = [0, 1] * 6
    features = rng.normal(size=(12, 3)) + 2.0 * np.array(labels)[:, None]
    hyper = Hyperparameters(lr=0.05, beta=0.5, creation_rule="off")
    model = ReferencePFit([(rng.normal(size=3), c) for c in (0, 1)], 1.0, 2, hyper)
    losses = [model.step(features, labels).loss for _ in range(60)]
    assert losses[-1] < 0.5 * losses[0]


def test_too_many_initial_prototypes_are_refused() -> None:
    with pytest.raises(ValueError, match="capacity 1"):
        old_model(Hyperparameters(capacity=1), [0.0, 1.0], [0, 1])


def test_newborn_copies_its_inputs() -> None:
    vector, logits = np.ones(2), np.ones(3)
    prototype = Prototype.newborn(vector, logits, 1, 0)
    vector[0] = logits[0] = 7.0
    assert prototype.vector[0] == prototype.logits[0] == 1.0
