"""The chart panels: title, note, specification, and the words for those who listen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from protofit.explain.results import Glance
from protofit.report import charts
from protofit.report.wording import counted, figure, percent

TABLE_CLASSES = 12  # classes up to which the confusion is a table as well
LINES = 40  # prototypes whose importance is drawn


@dataclass(frozen=True)
class Panel:
    """One chart with what surrounds it."""

    id: str
    title: str
    note: str
    alt: str
    spec: charts.Spec
    table: dict[str, Any] | None = None  # head and rows: the same figures to read


def quality(glance: Glance) -> Iterator[Panel]:
    """Confusion and calibration; in regression, predicted against true values."""
    if glance.confusion:
        yield _confusion(glance)
    if any(each.count for each in glance.calibration):
        yield _calibration(glance)
    if glance.values:
        points = [
            {"true": float(f"{true:.4g}"), "predicted": float(f"{guess:.4g}")}
            for true, guess in glance.values
        ]
        yield Panel(
            "scatter", "Predicted and true values", "On the dashed line both agree.",
            f"Scatter plot of {counted(len(points), 'text')}: predicted against true value",
            charts.scatter(points),
        )  # fmt: skip


def _confusion(glance: Glance) -> Panel:
    names = [str(name) for name in glance.classes]
    right = sum(row[i] for i, row in enumerate(glance.confusion))
    total = sum(map(sum, glance.confusion))
    table = None
    if len(names) <= TABLE_CLASSES:
        rows = [[name, *row] for name, row in zip(names, glance.confusion, strict=True)]
        table = {"head": ["true \\ predicted", *names], "rows": rows}
    return Panel(
        "confusion", "Confusion", "Texts by true and predicted class, shaded by share of the row.",
        f"Confusion of {counted(len(names), 'class')}: {right} of {total} texts on the diagonal",
        charts.confusion(glance.confusion, names), table,
    )  # fmt: skip


def _calibration(glance: Glance) -> Panel:
    bins = [each for each in glance.calibration if each.count]
    rows = [
        {"confidence": each.confidence, "accuracy": each.accuracy, "texts": each.count}
        for each in bins
    ]
    shown = [
        [
            f"{100 * each.lower:.0f} to {100 * each.upper:.0f} %",
            each.count,
            percent(each.confidence),
            percent(each.accuracy),
        ]
        for each in bins
    ]
    return Panel(
        "calibration",
        "Calibration",
        "Below the dashed line the model is surer than it is right. Larger dots hold more texts.",
        f"Accuracy against confidence in {counted(len(bins), 'bin')}, "
        f"calibration error {percent(glance.metrics.get('ece'))}",
        charts.calibration(rows),
        {"head": ["Confidence", "Texts", "Mean confidence", "Accuracy"], "rows": shown},
    )


def growth(glance: Glance) -> Iterator[Panel]:
    """K(t), births and deaths, importance over training."""
    rows = [asdict(row) for row in glance.trace]
    if rows:
        first, last = rows[0]["prototypes"], rows[-1]["prototypes"]
        born, died = (sum(row[name] for row in rows) for name in ("born", "died"))
        yield Panel(
            "growth", "Number of prototypes K(t)", f"From {first} to {last}.{_since(glance)}",
            f"Number of prototypes over training, from {first} to {last}", charts.growth(rows),
        )  # fmt: skip
        if born or died:
            yield Panel(
                "births", "Births and deaths", f"{born} born (up) and {died} died (down).",
                f"Prototypes over training: {born} born and {died} died", charts.births(rows),
            )  # fmt: skip
    lines = _importance(glance)
    if lines:
        yield Panel(
            "importance",
            "Importance over training",
            "Mean importance of each prototype; a line that falls towards nothing is soon pruned.",
            "Mean importance of each prototype over training",
            charts.importance(lines),
        )


def growth_lead(glance: Glance) -> str:
    """What the section shows, and where else to look for what it lacks."""
    lead = "How the number of prototypes came about, step by step."
    if not glance.has_index or any(card.history for card in glance.cards):
        return lead
    return (
        f"{lead} {glance.method} keeps no record of importance over training; the cards tell the "
        "mean over the training texts."
    )


def _since(glance: Glance) -> str:
    """What became of K after the last step."""
    now = len(glance.cards)
    if now == glance.trace[-1].prototypes:
        return ""
    if glance.summary.get("edits"):
        return f" Now {now}, by edits after training."
    return f" Now {now}: after the last step they were made anew from all training texts."


def _importance(glance: Glance) -> list[dict[str, Any]]:
    hues = {name: i for i, name in enumerate(glance.classes)}
    kept = sorted(
        (card for card in glance.cards if len(card.history) > 1),
        key=lambda card: -card.history[-1].importance,
    )
    return [
        {
            "step": use.step,
            "importance": float(f"{use.importance:.4g}"),
            "row": card.row,
            "name": f"{card.name} (no. {card.row})",
            "l": hues.get(card.label, 0),
        }
        for card in kept[:LINES]
        for use in card.history
        if math.isfinite(use.importance)
    ]


def sparks(glance: Glance) -> tuple[charts.Spec, dict[int, list[dict[str, Any]]]] | None:
    """The importance of each prototype over training, one small chart for each card."""
    lines: dict[int, list[dict[str, Any]]] = {}
    for each in _importance(glance):
        point = {"step": each["step"], "importance": each["importance"]}
        lines.setdefault(each["row"], []).append(point)
    if not lines:
        return None
    top, last = (max(p[name] for line in lines.values() for p in line)
                 for name in ("importance", "step"))  # fmt: skip
    return charts.spark(top or 1.0, last), lines


def prototype_map(glance: Glance) -> Panel | None:
    """The map, if there is anything on it."""
    if not glance.cards and not glance.map.points:
        return None
    titles = [
        f"{name} component ({100 * share:.0f} % of the variance)"
        for name, share in zip(("first", "second"), glance.map.explained, strict=True)
    ]
    span = None if glance.classes else _span(glance)
    spec = charts.prototype_map(
        len(glance.classes), span, len(glance.cards) <= charts.NAMES_ON_MAP, (titles[0], titles[1])
    )
    texts, protos = counted(glance.map.shown, "text"), counted(len(glance.cards), "prototype")
    beyond = glance.map.total - glance.map.shown
    note = (
        f"{texts} (dots) and {protos} (diamonds) on the two main axes of the features, which hold "
        f"{percent(sum(glance.map.explained))} of their variance: what lies apart here is apart, "
        "what lies together may still differ."
    )
    if beyond:
        note += f" {figure(beyond)} more texts are not drawn."
    if not glance.map.points:
        note = f"{protos} on their two main axes. Give a table of texts to see them here as well."
    return Panel("map", "Map", note, f"Map of {texts} and {protos} on two axes", spec)


def _span(glance: Glance) -> tuple[float, float]:
    """Least and greatest value of prototypes and texts."""
    values = [float(card.label) for card in glance.cards]
    values += [float(p.predicted if p.label is None else p.label) for p in glance.map.points]
    return min(values), max(values)
