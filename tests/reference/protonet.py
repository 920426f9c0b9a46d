"""ProtoNet (Snell et al. 2017) as loops in float64, with the halves of an ordinary batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.functions import Array, Labels, log_softmax, sqdist

Known = list[Array | None]  # per class: a mean from before, or nothing


def halves(labels: Labels, real: list[bool]) -> tuple[list[int], list[int]]:
    """Support and query indices: members of a class alternate, a query first."""
    support, query = [], []
    turn: dict[int, int] = {}
    for i in range(len(labels)):
        if not real[i]:
            continue
        seen = turn.get(int(labels[i]), 0)
        (query if seen % 2 == 0 else support).append(i)
        turn[int(labels[i])] = seen + 1
    return support, query


def mean_of(vectors: list[Array]) -> Array:
    """(1/n) sum_i x_i."""
    total = np.zeros(len(vectors[0]))
    for vector in vectors:
        total = total + vector
    return total / len(vectors)


@dataclass(frozen=True)
class Prototypes:
    """One prototype per class, or none."""

    means: Known

    def log_prob(self, x: Array, temperature: float) -> list[float]:
        """log softmax_c of -||x - p_c||^2 / temperature; classes without a prototype: -inf."""
        there = [c for c, mean in enumerate(self.means) if mean is not None]
        scores = [-sqdist(x, self.means[c]) / temperature for c in there]  # type: ignore[arg-type]
        result = [-np.inf] * len(self.means)
        for c, value in zip(there, log_softmax(scores), strict=True):
            result[c] = value
        return result


def batch_prototypes(
    features: Array, labels: Labels, support: list[int], remembered: Known, prior: float
) -> Prototypes:
    """Mean of the support of each class, the remembered mean counting for `prior` examples."""
    means: Known = []
    for c, memory in enumerate(remembered):
        own = [features[i] for i in support if labels[i] == c]
        if not own:
            means.append(memory)
        elif memory is None or prior == 0:
            means.append(mean_of(own))
        else:
            total = prior * memory
            for vector in own:
                total = total + vector
            means.append(total / (len(own) + prior))
    return Prototypes(means)


def episode_loss(
    features: Array,
    labels: Labels,
    remembered: Known,
    *,
    prior: float = 0.0,
    temperature: float = 1.0,
) -> float:
    """Mean over the queries of -log P(y|x)."""
    support, query = halves(labels, [True] * len(labels))
    prototypes = batch_prototypes(features, labels, support, remembered, prior)
    total = 0.0
    for i in query:
        total -= prototypes.log_prob(features[i], temperature)[int(labels[i])]
    return total / len(query)


def moved_mean(memory: Array, new: list[Array], momentum: float) -> Array:
    """gamma^n m + (1 - gamma^n) mean(new), with n new examples."""
    kept = momentum ** len(new)
    return kept * memory + (1 - kept) * mean_of(new)
