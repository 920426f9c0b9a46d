"""A model opened for reading: prototypes, shares and neighbours in the units of a person.

Everything that can be derived once is kept in the bundle's cache until the head or index changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from protofit.data.tokens import Tokens
from protofit.errors import InputError
from protofit.explain.names import suggest
from protofit.explain.neighbours import Found, nearest, squared
from protofit.explain.planar import Plane
from protofit.explain.results import Label, Neighbour
from protofit.explain.survey import Survey, make_survey
from protofit.explain.untrained import untrained_features
from protofit.methods.editable import Editable
from protofit.model.bundle import Bundle, Inputs

MAP_TEXTS = 5_000  # texts that the axes of the map are made of
SHARE_NUMBERS = 4_000_000  # numbers of B · K · C worked on at once


@dataclass(frozen=True)
class Parts:
    """Shares of a block of texts, in the unit of the predictions: share.sum(1) + base = P."""

    probabilities: np.ndarray  # (B, C), or values (B, 1)
    importance: np.ndarray  # (B, K)
    share: np.ndarray  # (B, K, C)
    without: np.ndarray  # (B, K, C)
    base: np.ndarray  # (B, C)
    density: np.ndarray  # (B,)
    distances: np.ndarray  # (B, K) L2, to the prototypes


class Reading:
    """Prototypes with their labels and names, and what they say about texts."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.method = bundle.settings.method
        self.head = head_of(bundle)
        self.index = bundle.index
        found = self.head.prototypes()
        if not len(found.rows):
            raise InputError("the model has no active prototype", fix="Undo the last edits.")
        self.mixture = found.mixture
        self.rows = [int(row) for row in found.rows]
        self.vectors = found.vectors.double().cpu().numpy()  # (K, D)
        self.groups = found.labels.cpu().numpy()  # (K,)
        self.outputs = self._in_unit(found.outputs.double().cpu().numpy())  # (K, C)
        self.born = None if found.born is None else [int(step) for step in found.born]
        self.regression = bundle.classes is None
        self.inside: dict[float, np.ndarray] = {}  # by τ: what `cards.inside` counted
        self.classes: list[Label] = (
            [] if bundle.classes is None else cast("Any", bundle.classes.to_json())
        )

    @classmethod
    def of(cls, bundle: Bundle) -> Reading:
        """The reading of a bundle as it is now."""
        known = bundle.cache.get("reading")
        if isinstance(known, Reading) and known.reads(bundle):
            return known
        fresh = cls(bundle)
        bundle.cache["reading"] = fresh
        return fresh

    def reads(self, bundle: Bundle) -> bool:
        """Whether this is a reading of the bundle as it is now (names aside)."""
        return self.head is bundle.model.head and self.index is bundle.index

    @property
    def unit(self) -> tuple[float, float]:
        """Scale and shift from the inner unit of the head to that of the targets."""
        if self.bundle.task != "regression":
            return 1.0, 0.0
        config = self.bundle.model.config
        return config.target_scale, config.target_mean

    def _in_unit(self, outputs: np.ndarray) -> np.ndarray:
        scale, shift = self.unit
        return np.asarray(outputs * scale + (shift if self.mixture else 0.0))

    def label(self, group: int) -> Label:
        """The class at an index."""
        return self.classes[group]

    def labels_of(self, k: int) -> Label:
        """The class that prototype k stands for; in regression the value it says."""
        return float(self.outputs[k, 0]) if self.regression else self.label(int(self.groups[k]))

    def given(self, value: float) -> Label:
        """A label of the index, or of an evaluation set, as a person gave it."""
        return float(value) if self.regression else self.label(int(value))

    def place(self, row: int) -> int:
        """Which prototype stands in a row of the head."""
        if row not in self.rows:
            known = ", ".join(map(str, self.rows[:20])) + (" …" if len(self.rows) > 20 else "")
            raise InputError(
                f"there is no prototype {row}", where=self.method, fix=f"There are {known}."
            )
        return self.rows.index(row)

    def features(self, inputs: Inputs) -> tuple[Tensor, Tokens]:
        """Features (n, D) of texts or pairs, and their tokens."""
        tokens = self.bundle.tokens(inputs)
        return self.bundle.features(tokens), tokens

    @torch.no_grad()
    def parts(self, features: Tensor) -> Parts:
        """How the predictions of (B, D) divide; B is to be small: see `block`."""
        scale, shift = self.unit
        found = self.head.shares(features)
        importance, share = _numpy(found.importance), _numpy(found.share) * scale
        without, base = _numpy(found.without) * scale + shift, _numpy(found.base) * scale
        if self.mixture:
            share = share + shift * importance[:, :, None]
        else:
            base = base + shift
        distances = self.distances(_numpy(features))
        density = _numpy(self.head.density(features))
        return Parts(
            self.predictions(features), importance, share, without, base, density, distances
        )

    @torch.no_grad()
    def predictions(self, features: Tensor) -> np.ndarray:
        """P(y|x) (B, C), rows summing to 1; or values (B, 1)."""
        logits = _numpy(self.head(features))
        scale, shift = self.unit
        if self.regression:
            return np.asarray(logits * scale + shift)
        chances: np.ndarray = np.exp(logits)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    @property
    def block(self) -> int:
        """Texts whose shares are worked on at once."""
        return max(1, SHARE_NUMBERS // self.outputs.size)

    def distances(self, features: np.ndarray) -> np.ndarray:
        """L2 distances to the prototypes: (B, D) → (B, K)."""
        return np.asarray(np.sqrt(squared(features.astype(np.float64), self.vectors)))

    @cached_property
    def survey(self) -> Survey | None:
        """One look at all texts of the index."""
        return None if self.index is None else make_survey(self, self.index)

    @cached_property
    def plane(self) -> Plane:
        """The two principal axes of prototypes and (at most 5,000) texts of the index."""
        some = [self.vectors]
        if self.index is not None:
            picked = spread_rows(len(self.index), MAP_TEXTS)
            some.append(self.index.features[picked].astype(np.float64))
        return Plane.of(np.concatenate(some))

    @cached_property
    def reach(self) -> Found:
        """Ten nearest texts of the index to each prototype."""
        return self.search(self.vectors, 10)

    @cached_property
    def untrained(self) -> np.ndarray | None:
        """The (at most 5,000) texts of the index by the encoder before training, if it is there."""
        if self.index is None or self.index.texts is None:
            return None
        picked = spread_rows(len(self.index), MAP_TEXTS)
        return untrained_features(self.bundle, [self.index.texts[i] for i in picked])

    def search(self, queries: np.ndarray, count: int) -> Found:
        """Nearest texts of the index to (Q, D); none where there is no index."""
        if self.index is None:
            return np.zeros((len(queries), 0), np.int64), np.zeros((len(queries), 0))
        return nearest(queries, self.index.features, count)

    def nearest_own(self, k: int) -> int:
        """The nearest text of the class of prototype k; in regression of any."""
        own = np.arange(0 if self.index is None else len(self.index))
        if self.index is not None and not self.regression:
            own = np.flatnonzero(self.index.labels == self.groups[k])
        if self.index is None or not len(own):
            said = f"no training text has the class {self.labels_of(k)!r}"
            raise InputError(said, fix="Add texts of this class first.")
        return int(own[nearest(self.vectors[k : k + 1], self.index.features[own], 1)[0][0, 0]])

    def near_prototype(self, k: int, count: int) -> list[Neighbour]:
        """The nearest texts of prototype k."""
        if count <= self.reach[0].shape[1] or self.index is None:
            positions, distances = self.reach[0][k, :count], self.reach[1][k, :count]
        else:
            found = self.search(self.vectors[k : k + 1], count)
            positions, distances = found[0][0], found[1][0]
        return self.neighbours(positions, distances)

    def neighbours(self, positions: np.ndarray, distances: np.ndarray) -> list[Neighbour]:
        """Texts of the index as a person reads them."""
        index = self.index
        if index is None:
            return []
        return [
            Neighbour(
                position=int(i),
                row=int(index.rows[i]),
                label=self.given(index.labels[i]),
                distance=float(distance),
                text=index.text(int(i)),
            )
            for i, distance in zip(positions, distances, strict=True)
        ]

    def name(self, k: int) -> str:
        """The name a person gave, else the suggested one."""
        return self.bundle.names.get(self.rows[k]) or self.suggested(k)[0]

    def suggested(self, k: int) -> tuple[str, list[str]]:
        """A name from distinctive words, and the words."""
        words = [] if self.survey is None else self.survey.words(k)
        label = self.labels_of(k)
        shown = f"{label:.3g}" if self.regression else str(label)
        return suggest(shown, words, self.rows[k]), words


def head_of(bundle: Bundle) -> Editable:
    """The head, if it is one with prototypes."""
    head = bundle.model.head
    if head.prototypes() is None or not isinstance(head, Editable):
        raise InputError(
            f"{bundle.settings.method} has no prototypes, so there is no evidence to show",
            fix="Train with method pfit, protonet, prosenet, imp or dpmeans.",
        )
    return head


def spread_rows(count: int, most: int) -> np.ndarray:
    """At most `most` of `count` rows, evenly spread, always the same."""
    if count <= most:
        return np.arange(count)
    return np.asarray(np.linspace(0, count - 1, most).round(), dtype=np.int64)


def _numpy(tensor: Tensor) -> np.ndarray:
    array: np.ndarray = tensor.detach().double().cpu().numpy()
    return array
