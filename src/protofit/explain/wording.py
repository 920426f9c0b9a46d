"""An explanation in lines of text, for a terminal without colours and for `print`."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protofit.explain.results import (
        Explanation,
        Label,
        Neighbour,
        PrototypeEvidence,
        Text,
    )

WIDTH = 72  # characters of a text that are shown
TURNS = ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")  # of direction
SAID = 2  # classes that a prototype is quoted with
LEAST = 0.01  # probability below which a second one is not


def told(found: Explanation) -> str:
    """The prediction, the evidence with its shares, the rest, and the counter-evidence."""
    lines = [f"“{shortened(found.text)}”", headline(found), ""]
    lines += [line for item in found.evidence for line in _evidence(item, found.classes)]
    if found.rest_count:
        lines.append(f"  {found.rest_share:+.4f}  {found.rest_count} other prototypes")
    if found.base:
        lines.append(f"  {found.base:+.4f}  of no prototype")
    if found.counter is not None:
        told = _evidence(found.counter, found.classes)
        lines += ["", f"for {safe(str(found.runner_up))} instead:", *told]
    return "\n".join(lines)


def headline(found: Explanation) -> str:
    """What was predicted, how surely, and how novel the text is."""
    if found.probability is None:
        words = f"→ {found.prediction:.4g}"
    else:
        words = f"→ {safe(str(found.prediction))} ({found.probability:.1%})"
    if found.novelty is not None:
        words += f", farther from the prototypes than {found.novelty:.0%} of the training texts"
    return words + (" (cut: longer than the model reads)" if found.truncated else "")


def says(item: PrototypeEvidence, classes: list[Label]) -> str:
    """What a prototype says about the classes: the most probable, and a second that counts."""
    if not classes:
        return f"says {item.outputs[0]:.4g}"
    chances = sorted(zip(item.outputs, map(str, classes), strict=True), key=lambda one: -one[0])
    told = [one for i, one in enumerate(chances[:SAID]) if not i or one[0] >= LEAST]
    return "says " + ", ".join(f"{safe(name)} {chance:.0%}" for chance, name in told)


def label_of(near: Neighbour) -> str:
    """The class of a training text, or its target in four digits."""
    return f"{near.label:.4g}" if isinstance(near.label, float) else safe(str(near.label))


def quoted(near: Neighbour, width: int = WIDTH) -> str:
    """A training text, or where it stood if it is not kept."""
    if near.text is not None:
        return f"“{shortened(near.text, width)}”"
    return "added by an edit" if near.row < 0 else f"row {near.row}"


def safe(text: str) -> str:
    """The text without characters that control a terminal, or turn the direction of a line."""
    return "".join("�" if _controls(sign) else sign for sign in text)


def _controls(sign: str) -> bool:
    return unicodedata.category(sign) == "Cc" or unicodedata.bidirectional(sign) in TURNS


def shortened(text: Text | None, width: int = WIDTH) -> str:
    """A text, or a pair, on one line that is safe to print."""
    if text is None:
        return ""
    whole = safe(" ".join((text if isinstance(text, str) else " ‖ ".join(text)).split()))
    return whole if len(whole) <= width else f"{whole[: width - 1]}…"


def _evidence(item: PrototypeEvidence, classes: list[Label]) -> list[str]:
    without = "" if item.without is None else f", without it {item.without:.4f}"
    traits = f"row {item.row}, z {item.importance:.3f}, {says(item, classes)}{without}"
    lines = [f"  {item.share:+.4f}  {shortened(item.name)} ({traits})"]
    if item.decoded is not None:
        lines.append(f"           decoded  “{shortened(item.decoded)}”")
    return lines + [
        f"           {near.distance:6.2f}  {label_of(near)}  {quoted(near)}"
        for near in item.nearest
    ]
