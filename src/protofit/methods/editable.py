"""The verbs of a method whose prototypes people may question and edit.

prototypes   the active rows: vectors, what they say, labels, birth
shares       what each adds to a prediction, and the prediction without it
density      how near the prototypes a text is, as a logarithm
remove, merge, add    change a head in place
with_room    a copy that has a free row
with_class   a copy that knows one more class, of which it has no prototype yet
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from protofit.errors import InputError
from protofit.methods.base import HeadShape, Method
from protofit.prototypes.evidence import PrototypeSet, Shares


class Editable(Method):
    """What explanations and edits need of a method with prototypes."""

    def prototypes(self) -> PrototypeSet:
        """The active prototypes, by their rows."""
        raise NotImplementedError

    def shares(self, features: Tensor) -> Shares:
        """How the prediction of (B, D) divides among the active prototypes."""
        raise NotImplementedError

    def importance(self, features: Tensor) -> Tensor:
        """z_k(x) alone: (B, D) → (B, K)."""
        return self.shares(features).importance

    def density(self, features: Tensor) -> Tensor:
        """Logarithm of the density that the prototypes give (B, D), up to a constant: (B,)."""
        raise NotImplementedError

    def remove(self, row: int) -> None:
        """Switch a prototype off."""
        raise NotImplementedError

    def merge(self, rows: list[int]) -> int:
        """Put the mean of several prototypes in the place of the first of them: its row."""
        raise NotImplementedError

    def move(self, row: int, vector: Tensor) -> None:
        """Put a prototype somewhere else (D,), for example on a training text."""
        raise NotImplementedError

    def add(self, vector: Tensor, label: float) -> int:
        """A new prototype (D,) of a class, or with a target (inner unit): its row."""
        raise NotImplementedError

    def with_room(self) -> Editable:
        """A copy in which at least one more prototype fits."""
        raise NotImplementedError

    def with_class(self) -> Editable:
        """A copy with one class more, which no prototype believes in yet."""
        raise NotImplementedError


def grown(head: Any, config: Any, outputs: int) -> Any:
    """A head of these settings and outputs that holds what `head` holds, and zeros beyond."""
    shape = HeadShape(head.shape.dimension, outputs, head.shape.task)
    fresh = type(head)(config, shape)
    target, state = fresh.state_dict(), {}
    for name, old in head.state_dict().items():
        state[name] = (
            _padded(old, target[name].shape)
            if name != "bank.window"
            else _wider(old, target[name].shape[1])
        )
    fresh.load_state_dict(state)
    return fresh.to(next(iter(head.state_dict().values())).device).train(head.training)


def _padded(old: Tensor, shape: torch.Size) -> Tensor:
    if old.shape == shape:
        return old.clone()
    new = old.new_zeros(shape)
    new[tuple(slice(size) for size in old.shape)] = old
    return new


def _wider(window: Tensor, columns: int) -> Tensor:
    """The window of a bank keeps its length, whatever the settings say."""
    return _padded(window, torch.Size((window.shape[0], columns)))


def one_class(labels: Tensor) -> int:
    """The class that merged prototypes share."""
    found = set(labels.tolist())
    if len(found) > 1:
        raise InputError(
            "the prototypes are of different classes", fix="Merge prototypes of one class."
        )
    return int(found.pop())


def copied(head: Any) -> Any:
    """The same head again, sharing nothing."""
    return deepcopy(head)
