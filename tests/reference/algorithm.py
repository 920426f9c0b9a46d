"""The training loop of the head replayed one step at a time, in the order of the algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from . import functions as fn
from .adam import Moments, adam_update
from .functions import Array, DataLoss, Labels, Pairs, Reduction

CreationRule = Literal["sequential", "farthest", "off"]
DiversityForm = Literal["literal", "consistent"]
LossOf = Callable[[Array, Array, float], DataLoss]


@dataclass(frozen=True)
class Hyperparameters:
    """What the run is told; steps count from 1 and prune_every=0 means never."""

    alpha: float = 0.1
    beta: float = 2.0
    capacity: int = 100
    creation_start: int = 0
    creation_rule: CreationRule = "sequential"
    diversity_weight: float = 1e-5
    diversity_form: DiversityForm = "literal"
    diversity_pairs: Pairs = "all"
    diversity_reduction: Reduction = "sum"
    lr: float = 1e-3
    window: int = 100
    prune_every: int = 0
    epsilon: float = 1e-3
    grace: int = 0
    normalised: bool = False


@dataclass
class Prototype:
    """One row: `logits` is l_k, (C,) for classes and (1,) for a regression value."""

    vector: Array
    logits: Array
    label: int
    born: int
    vector_moments: Moments
    logits_moments: Moments
    history: dict[int, float] = field(default_factory=dict)

    @classmethod
    def newborn(cls, vector: Array, logits: Array, label: int, born: int) -> Prototype:
        """Return a prototype that copies its vectors and has seen no gradient."""
        moments = Moments.zeros(len(vector)), Moments.zeros(len(logits))
        return cls(np.array(vector, float), np.array(logits, float), int(label), born, *moments)


@dataclass(frozen=True)
class Gradients:
    """Gradients of the loss of one step, by row where there is one per prototype."""

    vectors: dict[int, Array]
    logits: dict[int, Array]
    log_variance: float
    features: Array


@dataclass(frozen=True)
class StepRecord:
    """What one step saw and did; `k` counts the prototypes left after pruning."""

    lam: float
    rho: float
    created_rows: list[int]
    created_indices: list[int]
    pruned_rows: list[int]
    loss: float
    l0: float
    ldiv: float
    grads: Gradients
    k: int


class _Replay:
    """State and steps shared by classification and regression."""

    def __init__(
        self, initial: Sequence[Prototype], log_variance: float, hyper: Hyperparameters
    ) -> None:
        if not 0 < len(initial) <= hyper.capacity:
            raise ValueError(f"{len(initial)} initial prototypes, capacity {hyper.capacity}")
        self.hyper = hyper
        self.t = 0
        self.rows: dict[int, Prototype] = dict(enumerate(initial))
        self.log_variance = float(log_variance)
        self.log_variance_moments = Moments.zeros(1)

    def vectors(self) -> Array:
        """Return the prototypes (K, d) in row order."""
        return np.array([self.rows[row].vector for row in sorted(self.rows)])

    def logits(self) -> Array:
        """Return l (K, C), or (K, 1) for regression, in row order."""
        return np.array([self.rows[row].logits for row in sorted(self.rows)])

    def labels(self) -> list[int]:
        """Return the class, or bin, of each prototype in row order."""
        return [self.rows[row].label for row in sorted(self.rows)]

    def _replay(
        self, features: Array, labels: Labels, heads: Sequence[Array], loss_of: LossOf
    ) -> StepRecord:
        """Take one step; heads[i] is the l that a prototype made from example i starts with."""
        self.t += 1
        # 1. threshold of this step, a constant from here on
        rho = fn.base_variance(self.vectors())
        variance = math.exp(self.log_variance)
        lam = fn.creation_threshold(variance, rho, self.hyper.alpha, features.shape[1])
        # 2. creation
        created = self._examples_to_create(features, labels, lam)
        created_rows = [self._create(features[i], heads[i], int(labels[i])) for i in created]
        # 3. forward
        data = loss_of(self.vectors(), self.logits(), variance)
        ldiv = self._diversity(lam)
        loss = data.value + self.hyper.diversity_weight * ldiv
        self._remember(data.importance)
        # 4. backward, 5. Adam, 6. projection
        grads = self._gradients(features, variance, lam, data)
        self._update(grads)
        self._project()
        # 7. pruning
        pruned = self._prune()
        return StepRecord(
            lam, rho, created_rows, created, pruned, loss, data.value, ldiv, grads, len(self.rows)
        )

    def _examples_to_create(self, features: Array, labels: Labels, lam: float) -> list[int]:
        rule = self.hyper.creation_rule
        if rule == "off" or self.t <= self.hyper.creation_start:
            return []
        choose = {"sequential": fn.sequential_creation, "farthest": fn.farthest_creation}[rule]
        free = self.hyper.capacity - len(self.rows)
        return choose(features, labels, self.vectors(), self.labels(), lam, free)

    def _create(self, vector: Array, head: Array, label: int) -> int:
        row = min(r for r in range(self.hyper.capacity) if r not in self.rows)
        self.rows[row] = Prototype.newborn(vector, head, label, self.t)
        return row

    def _diversity(self, lam: float) -> float:
        forms = {"literal": fn.diversity_literal, "consistent": fn.diversity_consistent}
        pairs, reduction = self.hyper.diversity_pairs, self.hyper.diversity_reduction
        form = forms[self.hyper.diversity_form]
        return form(self.vectors(), lam, self.labels(), pairs, reduction)

    def _remember(self, importance: Array) -> None:
        """Store the batch mean of z_k under the current step."""
        for column, row in enumerate(sorted(self.rows)):
            total = sum(float(z) for z in importance[:, column])
            self.rows[row].history[self.t] = total / len(importance)

    def _gradients(self, features: Array, variance: float, lam: float, data: DataLoss) -> Gradients:
        """Return d(L0 + rho_d L_div); L_div depends on the prototype vectors alone."""
        hyper, vectors = self.hyper, self.vectors()
        vector_grad, feature_grad, log_variance_grad = fn.score_chain(
            features, vectors, variance, data.score_grad
        )
        margin = lam if hyper.diversity_form == "literal" else math.sqrt(lam)
        vector_grad += hyper.diversity_weight * fn.diversity_gradient(
            vectors, margin, self.labels(), hyper.diversity_pairs, hyper.diversity_reduction
        )
        by_row = dict(zip(sorted(self.rows), vector_grad, strict=True))
        heads_by_row = dict(zip(sorted(self.rows), data.head_grad, strict=True))
        return Gradients(by_row, heads_by_row, log_variance_grad, feature_grad)

    def _update(self, grads: Gradients) -> None:
        t, lr = self.t, self.hyper.lr
        for row, p in self.rows.items():
            p.vector = adam_update(p.vector, grads.vectors[row], p.vector_moments, t, lr)
            p.logits = adam_update(p.logits, grads.logits[row], p.logits_moments, t, lr)
        old, grad = np.array([self.log_variance]), np.array([grads.log_variance])
        self.log_variance = float(adam_update(old, grad, self.log_variance_moments, t, lr)[0])

    def _project(self) -> None:
        """Return to the allowed region; the default has no constraint."""

    def _prune(self) -> list[int]:
        """Drop old rows of little recent importance, but keep the best of every class."""
        hyper = self.hyper
        if hyper.prune_every == 0 or self.t % hyper.prune_every != 0:
            return []
        statistic = fn.window_statistic_normalised if hyper.normalised else fn.window_statistic
        score = {r: statistic(p.history, self.t, hyper.window) for r, p in self.rows.items()}
        doomed = [
            row
            for row, p in sorted(self.rows.items())
            if self.t - p.born >= hyper.grace and score[row] < hyper.epsilon
        ]
        for label in set(self.labels()):
            members = [row for row, p in sorted(self.rows.items()) if p.label == label]
            if all(row in doomed for row in members):
                doomed.remove(max(members, key=lambda row: (score[row], -row)))
        for row in doomed:
            del self.rows[row]
        return doomed


class ReferencePFit(_Replay):
    """Classification: l_k are class logits, kept >= 0 for the own class and <= 0 elsewhere."""

    def __init__(
        self,
        initial: Sequence[tuple[Array, int]],
        log_variance: float,
        n_classes: int,
        hyper: Hyperparameters,
    ) -> None:
        """Start from (vector, class) pairs in rows 0, 1, ..., all born at step 0."""
        self.n_classes = n_classes
        born = [
            Prototype.newborn(vector, own_class_logits(label, n_classes, hyper.beta), label, 0)
            for vector, label in initial
        ]
        super().__init__(born, log_variance, hyper)

    def step(self, features: Array, labels: Labels) -> StepRecord:
        """Take one step on features (B, d) and labels (B,)."""
        x = np.array(features, float)
        heads = [own_class_logits(int(y), self.n_classes, self.hyper.beta) for y in labels]

        def loss_of(vectors: Array, logits: Array, variance: float) -> DataLoss:
            return fn.classification_loss(x, labels, vectors, logits, variance)

        return self._replay(x, labels, heads, loss_of)

    def _project(self) -> None:
        for p in self.rows.values():
            for c in range(self.n_classes):
                logit = float(p.logits[c])
                p.logits[c] = max(logit, 0.0) if c == p.label else min(logit, 0.0)


class ReferencePFitRegression(_Replay):
    """Regression: l_k is one free real number and labels are bins."""

    def __init__(
        self,
        initial: Sequence[tuple[Array, int, float]],
        log_variance: float,
        hyper: Hyperparameters,
    ) -> None:
        """Start from (vector, bin, value) triples in rows 0, 1, ..., all born at step 0."""
        born = [
            Prototype.newborn(vector, np.array([value]), label, 0)
            for vector, label, value in initial
        ]
        super().__init__(born, log_variance, hyper)

    def step(self, features: Array, bins: Labels, targets: Array) -> StepRecord:
        """Take one step on features (B, d), bins (B,) and targets (B,)."""
        x, y = np.array(features, float), np.array(targets, float)

        def loss_of(vectors: Array, values: Array, variance: float) -> DataLoss:
            return fn.regression_loss(x, y, vectors, values, variance)

        return self._replay(x, bins, [np.array([value]) for value in y], loss_of)


def own_class_logits(label: int, n_classes: int, beta: float) -> Array:
    """Return l (C,): +beta for the own class, -beta for the others."""
    return np.array([beta if c == label else -beta for c in range(n_classes)])
