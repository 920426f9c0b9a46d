"""Who is told how a run goes; silence unless somebody listens."""

from __future__ import annotations

from protofit.storage.trace import Row


class Reporter:
    """Listener of a run; this one says nothing."""

    def stage(self, name: str) -> None:
        """A part of the run begins: reading, tokenising, starting, training."""

    def begin(self, total_steps: int, done: int) -> None:
        """The loop begins at step `done`."""

    def advance(self, row: Row) -> None:
        """A step ended, and its trace has been read."""

    def end(self) -> None:
        """The loop ended, well or not."""
