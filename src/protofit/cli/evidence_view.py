"""An explanation on a terminal: shares as bars, prototypes and the texts they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protofit.explain.wording import headline, label_of, quoted, safe, says, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from protofit.explain.results import Explanation, Label, Neighbour, PrototypeEvidence

BAR = 12  # characters of a whole share
NAME = 44  # characters of the name of a prototype
SMALL = 5e-4  # shares below this are only counted, unless they are the first
INDENT = 21  # characters before the text of a neighbour


def show(found: Explanation, console: Console) -> None:
    """The text, the prediction, the evidence for it and against it, texts like it."""
    from rich.text import Text

    console.print(Text(f"“{shortened(found.text, 200)}”", style="italic"))
    console.print(Text(headline(found), style="bold"))
    unit = "the value" if found.task == "regression" else f"P({safe(str(found.prediction))})"
    _heading(console, f"share of {unit}")
    listed = [item for i, item in enumerate(found.evidence) if not i or _weight(item) >= SMALL]
    for item in listed:
        _evidence(console, item, found.classes, "cyan")
    _rest(console, found, listed)
    if found.counter is not None:
        other = safe(str(found.runner_up))
        _heading(console, f"the strongest for {other}: share of P({other})")
        _evidence(console, found.counter, found.classes, "magenta")
    if found.nearest:
        _heading(console, "nearest training texts")
        for near in found.nearest:
            _neighbour(console, near)


def _heading(console: Console, words: str) -> None:
    from rich.text import Text

    console.print(Text(f"\n{words}", style="bold dim"))


def _evidence(console: Console, item: PrototypeEvidence, classes: list[Label], colour: str) -> None:
    from rich.text import Text

    without = "" if item.without is None else f", without it {item.without:.4f}"
    line = Text(f"{item.share:+8.4f} ")
    line.append(f"{_bar(item):<{BAR}}", style=colour)
    line.append(f" {shortened(item.name, NAME)}", style="bold")
    traits = f"  row {item.row}, z {item.importance:.3f}, {says(item, classes)}{without}"
    line.append(traits, style="dim")
    console.print(line, soft_wrap=True)
    if item.decoded is not None:
        said = f"{'decoded':>{INDENT - 3}}   “{shortened(item.decoded, 200)}”"
        console.print(Text(said, style="dim"), soft_wrap=True)
    for near in item.nearest:
        _neighbour(console, near)


def _neighbour(console: Console, near: Neighbour) -> None:
    from rich.text import Text

    start = f"{near.distance:{INDENT - 3}.2f}   {label_of(near)}  "
    room = max(20, console.width - len(start) - 2)
    console.print(Text(start + quoted(near, room), style="dim"), soft_wrap=True)


def _rest(console: Console, found: Explanation, listed: list[PrototypeEvidence]) -> None:
    from rich.text import Text

    lines: list[Any] = []
    hidden = found.rest_count + len(found.evidence) - len(listed)
    if hidden:
        share = found.total - found.base - sum(item.share for item in listed)
        lines.append(Text(f"{share:+8.4f} {hidden} other prototypes", style="dim"))
    if found.base:
        lines.append(Text(f"{found.base:+8.4f} of no prototype", style="dim"))
    for line in [*lines, Text(f"{found.total:+8.4f} together", style="bold")]:
        console.print(line)


def _weight(item: PrototypeEvidence) -> float:
    """How much an item matters: its share, or in regression its importance."""
    return abs(item.share) if item.target is not None else item.importance


def _bar(item: PrototypeEvidence) -> str:
    return "█" * round(min(1.0, _weight(item)) * BAR) or "▏"
