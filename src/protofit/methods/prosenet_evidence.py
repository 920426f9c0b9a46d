"""Evidence and edits of ProSeNet: prototypes add to the logits, t W_ck a_k(x) each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from protofit.errors import InputError
from protofit.methods.editable import Editable, copied, grown
from protofit.prototypes.evidence import PrototypeSet, Shares, additive_shares
from protofit.prototypes.functional import widened

NOT_AN_EXAMPLE = -1  # in `example`: the prototype was made by an edit


class ProSeNetEvidence(Editable):
    """A prototype is active where any of its weights W_ck is not 0: else it says nothing."""

    vectors: nn.Parameter
    weight: nn.Parameter
    factor: Tensor
    example: Tensor

    def similarity(self, features: Tensor) -> Tensor:
        """a_k(x): (B, D) → (B, rows)."""
        raise NotImplementedError

    @property
    def live(self) -> Tensor:
        """Rows that say something (K,)."""
        return (self.weight.detach() != 0).any(dim=0).nonzero().flatten()

    def prototypes(self) -> PrototypeSet:
        """Each votes for classes by W_ck / Σ_c W_ck, or adds t W_k at distance 0."""
        rows = self.live
        weight = self.weight.detach()[:, rows].T.double()
        if self.shape.task == "regression":
            outputs, labels = weight * self.factor, torch.zeros_like(rows)
        else:
            outputs, labels = weight / weight.sum(dim=1, keepdim=True), weight.argmax(dim=1)
        return PrototypeSet(rows, self.vectors.detach()[rows], outputs, labels, mixture=False)

    @torch.no_grad()
    def importance(self, features: Tensor) -> Tensor:
        """a_k(x) of the active prototypes: similarities, which do not sum to 1."""
        with torch.autocast(features.device.type, enabled=False):
            return self.similarity(widened(features))[:, self.live].double()

    @torch.no_grad()
    def shares(self, features: Tensor) -> Shares:
        """The parts of each probability in the proportion of the contributions to its logit."""
        similarity = self.importance(features)
        weight = self.weight.detach()[:, self.live].T.double() * self.factor
        contributions = similarity.unsqueeze(2) * weight
        named = self.shape.task != "regression"
        return additive_shares(contributions, similarity, probabilities=named)

    def density(self, features: Tensor) -> Tensor:
        """log of the mean similarity."""
        similarity = self.importance(features)
        tiny = torch.finfo(similarity.dtype).tiny
        return similarity.sum(dim=1).clamp_min(tiny).log() - math.log(similarity.shape[1])

    @torch.no_grad()
    def remove(self, row: int) -> None:
        """A prototype without weight says nothing."""
        self.weight[:, row] = 0

    @torch.no_grad()
    def move(self, row: int, vector: Tensor) -> None:
        """Put a prototype somewhere else; it is no training example of the run any more."""
        self.vectors[row] = vector.to(self.vectors)
        self.example[row] = NOT_AN_EXAMPLE

    @torch.no_grad()
    def merge(self, rows: list[int]) -> int:
        """The mean of the vectors with the sum of the weights: equal prototypes merge exactly."""
        first = rows[0]
        weight = self.weight[:, rows].sum(dim=1)
        self.move(first, self.vectors[rows].mean(dim=0))
        for row in rows[1:]:
            self.remove(row)
        self.weight[:, first] = weight
        return first

    @torch.no_grad()
    def add(self, vector: Tensor, label: float) -> int:
        """A prototype of a class, or with a target (inner unit): see `_vote` and `_missing`."""
        row = int((~(self.weight != 0).any(dim=0)).nonzero()[0])
        if self.shape.task == "regression":
            self.weight[0, row] = self._missing(vector, label)
        else:
            self.weight[int(label), row] = self._vote(int(label))
        self.move(row, vector)
        return row

    def _vote(self, label: int) -> Tensor:
        """The mean largest weight of the others; for a class without votes all of the strongest.

        The logit of a class is a sum over its prototypes: one usual weight could not win alone.
        """
        totals = self.weight.sum(dim=1)
        if not totals.any():
            return torch.ones_like(totals[0])
        return self.weight[:, self.live].amax(dim=0).mean() if totals[label] else totals.max()

    def _missing(self, vector: Tensor, target: float) -> Tensor:
        """The weight that makes the value at the place of the prototype (D,) the target."""
        told = self(vector.to(self.vectors).unsqueeze(0)).squeeze()
        weight: Tensor = ((target - told) / self.factor).to(self.weight)
        if not weight:
            raise InputError(
                "the model says this value there already, so a prototype would add nothing",
                fix="Give another value.",
            )
        return weight

    def with_room(self) -> Any:
        """A copy with a prototype that says nothing."""
        count = self.weight.shape[1]
        if len(self.live) < count:
            return copied(self)
        return grown(self, replace(self.config, prototypes=count + 1), self.shape.outputs)

    def with_class(self) -> Any:
        """A copy with one class more, for which no prototype votes."""
        config = replace(self.config, prototypes=self.weight.shape[1])
        return grown(self, config, self.shape.outputs + 1)
