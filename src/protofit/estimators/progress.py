"""A progress bar on a terminal; silence elsewhere."""

from __future__ import annotations

import sys
from typing import Any

from protofit.storage.trace import Row
from protofit.training.reporter import Reporter


def make_reporter(verbose: int) -> Reporter:
    """A bar on standard error if asked for and a person is looking, else silence."""
    return BarReporter() if verbose and sys.stderr.isatty() else Reporter()


class BarReporter(Reporter):
    """Loss, accuracy, K and the time left."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(stderr=True)
        self.bar: Any = None
        self.task: Any = None

    def stage(self, name: str) -> None:
        """One dim line for each stage."""
        self.console.print(f"[dim]{name} …[/dim]")

    def begin(self, total_steps: int, done: int) -> None:
        """Show the bar."""
        from rich import progress

        self.bar = progress.Progress(
            progress.TextColumn("training"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[facts]}"),
            progress.TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self.task = self.bar.add_task("", total=total_steps, completed=done, facts="")
        self.bar.start()

    def advance(self, row: Row) -> None:
        """Move the bar to the row's step."""
        self.bar.update(self.task, completed=row["step"], facts=facts_of(row))

    def end(self) -> None:
        """Take the bar away."""
        self.bar.stop()


def facts_of(row: Row) -> str:
    """The few figures of a step that a person follows."""
    parts = [f"loss {row['loss']:.3f}"]
    if "accuracy" in row:
        parts.append(f"accuracy {row['accuracy']:.0%}")
    if "prototypes" in row:
        parts.append(f"K {row['prototypes']:.0f}")
    return "  ".join(parts)
