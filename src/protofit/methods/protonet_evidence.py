"""Evidence and edits of ProtoNet: the mean of a class is its one prototype."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot, softmax

from protofit.errors import InputError
from protofit.methods.editable import Editable, copied, grown
from protofit.prototypes.evidence import PrototypeSet, Shares, mixture_shares
from protofit.prototypes.functional import sqdist, widened
from protofit.prototypes.memory import ClassMemory


class ProtoNetEvidence(Editable):
    """A mixture whose prototypes are certain of their class; a row is the index of the class."""

    memory: ClassMemory
    bins: Any
    group_count: int

    def temperature(self) -> Tensor | float:
        """What squared distances are divided by."""
        raise NotImplementedError

    def groups(self, labels: Tensor) -> Tensor:
        """Class or bin of labels or targets (B,)."""
        raise NotImplementedError

    @property
    def live(self) -> Tensor:
        """Classes (or bins) that have a mean (K,)."""
        return self.memory.known.nonzero().flatten()

    def prototypes(self) -> PrototypeSet:
        """The means; each says its class with certainty, or the value of its bin."""
        rows = self.live
        if self.bins is None:
            outputs = one_hot(rows, self.group_count).double()
        else:
            outputs = self.bins.values[rows].double().unsqueeze(1)
        return PrototypeSet(rows, self.memory.means[rows], outputs, rows)

    @torch.no_grad()
    def energies(self, features: Tensor) -> Tensor:
        """−‖f(x) − p_c‖² / τ of the known classes: (B, K)."""
        with torch.autocast(features.device.type, enabled=False):
            return -sqdist(widened(features), self.memory.means[self.live]) / self.temperature()

    def shares(self, features: Tensor) -> Shares:
        """P(c|x) for the mean of class c."""
        return mixture_shares(self.energies(features), self.prototypes().outputs)

    def importance(self, features: Tensor) -> Tensor:
        """P(c|x) of the known classes."""
        return softmax(self.energies(features).double(), dim=1)

    def density(self, features: Tensor) -> Tensor:
        """log (1/K) Σ_c of Gaussian densities with 2σ = τ."""
        energies = self.energies(features).double()
        volume = self.shape.dimension / 2 * math.log(math.pi * float(self.temperature()))
        return torch.logsumexp(energies, dim=1) - math.log(energies.shape[1]) - volume

    @torch.no_grad()
    def remove(self, row: int) -> None:
        """Forget the mean of a class: it is not predicted any more."""
        self.memory.known[row] = False
        self.memory.means[row] = 0

    @torch.no_grad()
    def move(self, row: int, vector: Tensor) -> None:
        """Put the mean of a class somewhere else."""
        self.memory.means[row] = vector.to(self.memory.means)

    def merge(self, rows: list[int]) -> int:  # noqa: ARG002
        """Refused: two means are two classes."""
        raise InputError(
            "ProtoNet has one prototype for each class, so none can be merged",
            fix="Use method pfit, imp or dpmeans.",
        )

    def add(self, vector: Tensor, label: float) -> int:
        """The mean of a class (or bin) that has none."""
        if self.bins is None:
            row = int(label)
        else:
            target = torch.tensor([label], device=self.memory.means.device)
            row = int(self.groups(target)[0])
        if bool(self.memory.known[row]):
            raise InputError(
                "ProtoNet has one prototype for each class, and this class has it",
                fix="Use method pfit, imp, dpmeans or prosenet to have several.",
            )
        self.memory.known[row] = True
        self.move(row, vector)
        return row

    def with_room(self) -> Any:
        """A copy: every class has its place."""
        return copied(self)

    def with_class(self) -> Any:
        """A copy with a place for one class more."""
        return grown(self, self.config, self.shape.outputs + 1)
