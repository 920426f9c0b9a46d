"""Evidence and edits of heads that keep their prototypes in a bank: PFit, IMP, DP-means."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import softmax

from protofit.methods.editable import Editable, copied, grown, one_class
from protofit.prototypes.bank import PrototypeBank
from protofit.prototypes.evidence import PrototypeSet, Shares, closest_shares, mixture_shares
from protofit.prototypes.functional import sqdist, widened


class BankEvidence(Editable):
    """What is the same for every bank."""

    bank: PrototypeBank

    @property
    def live(self) -> Tensor:
        """Rows of the active prototypes (K,)."""
        return self.bank.active.nonzero().flatten()

    def energies(self, features: Tensor) -> Tensor:
        """Logits of the active prototypes: (B, D) → (B, K)."""
        raise NotImplementedError

    def log_normaliser(self) -> float:
        """Logarithm of what a prototype's density integrates to."""
        raise NotImplementedError

    def density(self, features: Tensor) -> Tensor:
        """log (1/K) Σ_k exp(e_k(x)) / normaliser: (B, D) → (B,)."""
        energies = self.energies(features).double()
        return (
            torch.logsumexp(energies, dim=1) - math.log(energies.shape[1]) - (self.log_normaliser())
        )

    @torch.no_grad()
    def remove(self, row: int) -> None:
        """Switch a row off and clear it."""
        mask = torch.zeros_like(self.bank.active)
        mask[row] = True
        self.bank.remove(mask)

    @torch.no_grad()
    def move(self, row: int, vector: Tensor) -> None:
        """Write another vector into a row."""
        self.bank.vectors[row] = vector.to(self.bank.vectors)

    @torch.no_grad()
    def merge(self, rows: list[int]) -> int:
        """The mean of vectors and of what they say, in the first row; the others are cleared."""
        first, picked = rows[0], torch.tensor(rows, device=self.bank.active.device)
        outputs, label = self.merged(picked)
        self.bank.vectors[first] = self.bank.vectors[picked].mean(dim=0)
        self.bank.outputs[first] = outputs
        self.bank.labels[first] = label
        for row in rows[1:]:
            self.remove(row)
        return first

    def merged(self, rows: Tensor) -> tuple[Tensor, int]:
        """Outputs (C,) and label of the prototype that takes the place of `rows`."""
        raise NotImplementedError

    @torch.no_grad()
    def put(self, vector: Tensor, outputs: Tensor, label: Tensor) -> int:
        """Into the lowest free row: (D,), (1, C), (1,)."""
        one = torch.ones(1, dtype=torch.bool, device=self.bank.active.device)
        vector = vector.to(self.bank.vectors).unsqueeze(0)
        new = self.bank.add(vector, outputs, label, one, self.clock)
        return int(new.nonzero())


class PFitEvidence(BankEvidence):
    """P(y|x) = Σ_k z_k(x) P(y|p_k): the shares are the terms of the sum."""

    log_variance: nn.Parameter
    config: Any

    def prototypes(self) -> PrototypeSet:
        """Active rows with P(y|p_k) = softmax(l_k), or the values l_k."""
        rows, bank = self.live, self.bank
        said = bank.outputs.detach()[rows].double()
        outputs = said if self.shape.task == "regression" else softmax(said, dim=1)
        return PrototypeSet(
            rows, bank.vectors.detach()[rows], outputs, bank.labels[rows], bank.born[rows]
        )

    @torch.no_grad()
    def energies(self, features: Tensor) -> Tensor:
        """−‖f(x) − p_k‖² / 2σ."""
        with torch.autocast(features.device.type, enabled=False):
            distances = sqdist(widened(features), self.bank.vectors[self.live])
            return -distances / (2 * self.log_variance.exp())

    def log_normaliser(self) -> float:
        """(D/2) log 2πσ."""
        variance = float(self.log_variance.detach().exp())
        return self.shape.dimension / 2 * math.log(2 * math.pi * variance)

    def shares(self, features: Tensor) -> Shares:
        """z_k P(y|p_k), or z_k l_k."""
        return mixture_shares(self.energies(features), self.prototypes().outputs)

    def importance(self, features: Tensor) -> Tensor:
        """z_k(x)."""
        return softmax(self.energies(features).double(), dim=1)

    def merged(self, rows: Tensor) -> tuple[Tensor, int]:
        """The mean of P(y|p_k) as logits that keep the signs, or the mean value."""
        said = self.bank.outputs[rows]
        if self.shape.task == "regression":
            value = said.mean(dim=0)
            return value, int(self.groups(value)[0])
        chances = softmax(said.double(), dim=1).mean(dim=0)
        label = int(chances.argmax())
        logits = chances.log()
        others = logits.clone()
        others[label] = -torch.inf
        return (logits - others.max()).to(said.dtype), label

    def groups(self, labels: Tensor) -> Tensor:
        """Class or bin of labels or targets (B,)."""
        raise NotImplementedError

    def first_outputs(self, targets: Tensor) -> Tensor:
        """What a new prototype says: (B,) → (B, C)."""
        raise NotImplementedError

    def add(self, vector: Tensor, label: float) -> int:
        """A new prototype with the label logits of a newborn, or a value."""
        outputs = self.bank.outputs
        if self.shape.task == "regression":
            target = outputs.new_tensor([label])
        else:
            target = torch.tensor([int(label)], device=outputs.device)
        return self.put(vector, self.first_outputs(target), self.groups(target))

    def with_room(self) -> Any:
        """A copy with a free row: the capacity grows by a quarter where there is none."""
        if not bool(self.bank.active.all()):
            return copied(self)
        return self._grown(self.bank.capacity + max(8, self.bank.capacity // 4), self.shape.outputs)

    @torch.no_grad()
    def with_class(self) -> Any:
        """One column more: each prototype believes in the new class as in its least likely one.

        That is the least of its logits, or −β where that is less.
        """
        known = self.shape.outputs
        wider = self._grown(max(self.bank.capacity, known + 1), known + 1)
        least = self.bank.outputs.amin(dim=1).clamp_max(-wider.beta)
        wider.bank.outputs[:, known] = torch.where(self.bank.active, least, 0)
        return wider

    def _grown(self, capacity: int, outputs: int) -> Any:
        creation = replace(self.config.creation, capacity=capacity)
        return grown(self, replace(self.config, creation=creation), outputs)


class ClusterEvidence(BankEvidence):
    """The closest cluster of each class decides: it has the whole share of its class."""

    config: Any
    group_count: int
    bins: Any
    size: Tensor

    def scores(self, distances: Tensor) -> Tensor:
        """Squared distances → logits of the clusters."""
        raise NotImplementedError

    def _outputs(self, groups: Tensor) -> Tensor:
        """What clusters of these groups say (K, C)."""
        raise NotImplementedError

    def groups(self, labels: Tensor) -> Tensor:
        """Class or bin of labels or targets (B,)."""
        raise NotImplementedError

    def prototypes(self) -> PrototypeSet:
        """Active rows; each says its class with certainty, or the value of its bin."""
        rows, bank = self.live, self.bank
        outputs = self._outputs(bank.labels[rows]).double()
        return PrototypeSet(rows, bank.vectors.detach()[rows], outputs, bank.labels[rows])

    @torch.no_grad()
    def energies(self, features: Tensor) -> Tensor:
        """Scores of the active clusters."""
        with torch.autocast(features.device.type, enabled=False):
            return self.scores(sqdist(widened(features), self.bank.vectors[self.live]))

    def log_normaliser(self) -> float:
        """(D/2) log π/s where the score of a squared distance d is −s d."""
        slope = -float(self.scores(torch.ones_like(self.bank.vectors[0, 0])).detach())
        return self.shape.dimension / 2 * math.log(math.pi / slope)

    def shares(self, features: Tensor) -> Shares:
        """P(c|x) for the closest cluster of class c, nothing for the others."""
        values = None if self.bins is None else self.bins.values
        labels = self.bank.labels[self.live]
        return closest_shares(self.energies(features), labels, self.group_count, values)

    def merged(self, rows: Tensor) -> tuple[Tensor, int]:
        """Those of their class."""
        label = one_class(self.bank.labels[rows])
        return self._outputs(self.bank.labels[rows[:1]])[0], label

    def remove(self, row: int) -> None:
        """Switch a row off; the trace counts it."""
        super().remove(row)
        self.size.copy_(self.bank.active.sum())

    def add(self, vector: Tensor, label: float) -> int:
        """A new cluster of a class, or of the bin of a target."""
        device = self.bank.labels.device
        if self.bins is None:
            group = torch.tensor([int(label)], device=device)
        else:
            group = self.groups(torch.tensor([label], device=device))
        row = self.put(vector, self._outputs(group), group)
        self.size.copy_(self.bank.active.sum())
        return row

    def with_room(self) -> Any:
        """A copy with a free row: one more for every class where there is none."""
        if not bool(self.bank.active.all()):
            return copied(self)
        room = self.bank.capacity // self.group_count + 1
        config = replace(self.config, capacity=room * self.group_count)
        return grown(self, config, self.shape.outputs)

    def with_class(self) -> Any:
        """A copy with one class more, and as many rows for it as the others have."""
        room, known = self.bank.capacity // self.group_count, self.shape.outputs
        return grown(self, replace(self.config, capacity=room * (known + 1)), known + 1)
