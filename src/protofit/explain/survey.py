"""One pass over the index: which prototype each text belongs to, what the model says of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from protofit.explain.names import MOST_TEXTS, Vocabulary
from protofit.model.index import TrainingIndex

if TYPE_CHECKING:
    from protofit.explain.reading import Reading

NUMBERS = 4_000_000  # of a block: rows · max(D, K, C)
NAMING = 50  # nearest own texts that name a prototype
QUANTILE = 0.95  # of within-class distances: the derived radius of a neighbourhood


@dataclass
class Survey:
    """What N texts of the index look like to the prototypes."""

    owner: np.ndarray  # (N,) place of the most important prototype
    agrees: np.ndarray  # (N,) whether it stands for the label of the text; regression: always
    distance: np.ndarray  # (N,) L2 to the nearest prototype
    owner_distance: np.ndarray  # (N,) L2 to the most important prototype
    predicted: np.ndarray  # (N,) class index, or value
    given: np.ndarray  # (N,) P(given label|x); NaN in regression
    importance: np.ndarray  # (K,) mean z_k
    support: np.ndarray  # (K,) texts of which k is the owner
    sorted_distance: np.ndarray  # (N,)
    vocabulary: Vocabulary | None  # of the texts, where they are kept
    sampled: np.ndarray  # positions that the vocabulary counts
    tau: float  # QUANTILE of distances of texts to the nearest prototype of their class
    _words: dict[int, list[str]] = field(default_factory=dict)

    def novelty(self, distance: float) -> float:
        """Share of texts nearer to their prototype than this distance."""
        below = np.searchsorted(self.sorted_distance, distance, side="left")
        return float(below / len(self.sorted_distance))

    def words(self, k: int) -> list[str]:
        """Distinctive words of the nearest texts that prototype k owns, of its label if any is."""
        if self.vocabulary is None:
            return []
        if k not in self._words:
            owned = self.owner[self.sampled] == k
            mine = np.flatnonzero(owned & self.agrees[self.sampled])
            mine = mine if len(mine) else np.flatnonzero(owned)
            order = np.argsort(self.owner_distance[self.sampled[mine]], kind="stable")
            self._words[k] = self.vocabulary.distinctive(mine[order[:NAMING]])
        return self._words[k]


@torch.no_grad()
def make_survey(reading: Reading, index: TrainingIndex) -> Survey:
    """Block by block: memory does not grow with N · K."""
    count, protos = len(index), len(reading.rows)
    owner = np.zeros(count, np.int64)
    distance, mine, own = (np.zeros(count) for _ in range(3))
    predicted, given = np.zeros(count), np.full(count, np.nan)
    importance = np.zeros(protos)
    step = max(1, NUMBERS // max(index.features.shape[1], reading.outputs.size))
    device = next(reading.head.buffers()).device
    for start in range(0, count, step):
        span = slice(start, min(start + step, count))
        features = torch.from_numpy(index.features[span].astype(np.float32)).to(device)
        z = reading.head.importance(features).cpu().numpy()
        away = reading.distances(features.cpu().numpy())
        chances = reading.predictions(features)
        owner[span] = z.argmax(axis=1)
        distance[span] = away.min(axis=1)
        mine[span] = away[np.arange(len(away)), owner[span]]
        importance += z.sum(axis=0)
        labels = index.labels[span]
        own[span] = _own_distance(reading, away, labels, owner[span])
        if reading.regression:
            predicted[span] = chances[:, 0]
        else:
            predicted[span] = chances.argmax(axis=1)
            given[span] = chances[np.arange(len(labels)), labels]
    vocabulary, sampled = _vocabulary(reading, index)
    agrees = np.ones(count, bool) if reading.regression else reading.groups[owner] == index.labels
    return Survey(
        owner=owner,
        agrees=agrees,
        distance=distance,
        owner_distance=mine,
        predicted=predicted,
        given=given,
        importance=importance / max(1, count),
        support=np.bincount(owner, minlength=protos),
        sorted_distance=np.sort(distance),
        vocabulary=vocabulary,
        sampled=sampled,
        tau=float(np.quantile(own, QUANTILE)) if count else 0.0,
    )


def _own_distance(
    reading: Reading, away: np.ndarray, labels: np.ndarray, owner: np.ndarray
) -> np.ndarray:
    """L2 distance to the nearest prototype of the own class; to the owner where there is none."""
    to_owner = away[np.arange(len(away)), owner]
    if reading.regression:
        return np.asarray(to_owner)
    same = reading.groups[None, :] == labels[:, None]
    nearest = np.where(same, away, np.inf).min(axis=1)
    return np.asarray(np.where(np.isfinite(nearest), nearest, to_owner))


def _vocabulary(reading: Reading, index: TrainingIndex) -> tuple[Vocabulary | None, np.ndarray]:
    from protofit.explain.reading import spread_rows

    sampled = spread_rows(len(index), MOST_TEXTS)
    if index.texts is None:
        return None, sampled
    labels = index.labels[sampled]
    if reading.regression and len(labels):
        edges = np.quantile(labels, np.linspace(0, 1, 5)[1:-1])
        labels = np.searchsorted(edges, labels)
    return Vocabulary.of([index.texts[i] for i in sampled], labels), sampled
