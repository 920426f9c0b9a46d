"""A progress bar over runs on a terminal; silence elsewhere."""

from __future__ import annotations

import sys
from typing import Any

from protofit.bench.records import Record


class Listener:
    """Told how a bench run goes; this one says nothing."""

    def begin(self, runs: int, steps: int) -> None:
        """So many runs with so many planned steps lie ahead."""

    def advance(self, record: Record, steps: int) -> None:
        """A run of so many planned steps is on disk."""

    def end(self) -> None:
        """No more runs, well or not."""


def make_listener(*, quiet: bool) -> Listener:
    """A bar on standard error if a person is looking."""
    return Listener() if quiet or not sys.stderr.isatty() else BarListener()


class BarListener(Listener):
    """Runs done, the last one, and the time left by planned steps."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.task: Any = None
        self.done, self.runs = 0, 0

    def begin(self, runs: int, steps: int) -> None:
        """Show the bar."""
        from rich import progress
        from rich.console import Console

        self.runs = runs
        self.bar = progress.Progress(
            progress.TextColumn("{task.fields[runs]} runs"),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[last]}"),
            progress.TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(stderr=True),
            transient=True,
            speed_estimate_period=600,
        )
        self.task = self.bar.add_task("", total=steps, runs=f"0/{runs}", last="")
        self.bar.start()

    def advance(self, record: Record, steps: int) -> None:
        """Move the bar by the run's planned steps."""
        self.done += 1
        trial = record["trial"]
        last = f"{trial['data']} {trial['size']} {trial['arm']}"
        if "error" in record:
            last += " (diverged)"
        self.bar.update(self.task, advance=steps, runs=f"{self.done}/{self.runs}", last=last)

    def end(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
