"""An explanation in lines of text, for a terminal without colours and for `print`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protofit.explain.results import Explanation, PrototypeEvidence, Text

WIDTH = 72  # characters of a text that are shown


def told(found: Explanation) -> str:
    """The prediction, the evidence with its shares, the rest, and the counter-evidence."""
    lines = [f"“{shortened(found.text)}”", headline(found), ""]
    lines += [line for item in found.evidence for line in _evidence(item)]
    if found.rest_count:
        lines.append(f"  {found.rest_share:+.4f}  {found.rest_count} other prototypes")
    if found.base:
        lines.append(f"  {found.base:+.4f}  of no prototype")
    if found.counter is not None:
        lines += ["", f"for {found.runner_up} instead:", *_evidence(found.counter)]
    return "\n".join(lines)


def headline(found: Explanation) -> str:
    """What was predicted, how surely, and how novel the text is."""
    if found.probability is None:
        words = f"→ {found.prediction:.4g}"
    else:
        words = f"→ {found.prediction} ({found.probability:.1%})"
    if found.novelty is not None:
        words += f", farther from the prototypes than {found.novelty:.0%} of the training texts"
    return words + (" (cut: longer than the model reads)" if found.truncated else "")


def shortened(text: Text | None, width: int = WIDTH) -> str:
    """A text, or a pair, on one line."""
    if text is None:
        return ""
    whole = " ".join((text if isinstance(text, str) else " ‖ ".join(text)).split())
    return whole if len(whole) <= width else f"{whole[: width - 1]}…"


def _evidence(item: PrototypeEvidence) -> list[str]:
    without = "" if item.without is None else f", without it {item.without:.4f}"
    lines = [f"  {item.share:+.4f}  {item.name} (row {item.row}, z {item.importance:.3f}{without})"]
    if item.decoded is not None:
        lines.append(f"           decoded  “{shortened(item.decoded)}”")
    for near in item.nearest:
        shown = f"“{shortened(near.text)}”" if near.text is not None else f"row {near.row}"
        lines.append(f"           {near.distance:6.2f}  {near.label}  {shown}")
    return lines
