"""What the server asks of a model: the one seam between HTTP and everything else."""

from __future__ import annotations

from typing import Any, Protocol

from protofit.explain.results import Effect, PrototypeCard
from protofit.serve.answers import Atlas, Facts, History, Kept
from protofit.serve.batching import Ask


class Desk(Protocol):
    """Answers about one model; all calls but `facts` come from the same thread."""

    paired: bool

    def facts(self) -> Facts:
        """What the model is."""

    def answer(self, asks: list[Ask]) -> list[list[Any]]:
        """A `Scored` or an `Explanation` for every item, after one encoder pass."""

    def prototypes(self) -> list[PrototypeCard]:
        """A card for every prototype."""

    def atlas(self) -> Atlas:
        """The training texts on the map."""

    def try_edit(self, edit: Any) -> Effect:
        """What an edit would do; nothing is changed."""

    def keep_edit(self, edit: Any) -> Kept:
        """Apply an edit and save it as a new version."""

    def undo(self) -> Kept:
        """Take back the last edit that was kept."""

    def history(self) -> History:
        """The edits that were kept."""
