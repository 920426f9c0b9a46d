"""What the template shows, section by section, from a Glance."""

from __future__ import annotations

from typing import Any

from protofit.explain.results import Glance, Label, Neighbour, Overlap, PrototypeCard
from protofit.report.wording import (
    counted,
    figure,
    fixed,
    labelled,
    listed,
    percent,
    said,
    shortened,
)

View = dict[str, Any]
Hues = dict[Label, int]  # which colour a class has

MAX_CARDS = 300  # cards of the prototypes with the most support
TABLE_ROWS = 25
TABLE_TEXT = 400  # characters
BARS = 5  # labels whose share a card shows
DETAIL = ((40, 6, 220), (150, 3, 160), (MAX_CARDS, 2, 100))  # prototypes up to, texts, characters

CLOSEST = 5  # pairs shown where no two prototypes overlap
SHARED = 0.1  # of their nearest texts, from which on two prototypes overlap

_RELATIVE = "Relative: their distance over the median distance of a text to its prototype."
OVERLAPPING = (
    "Two of one class may say the same thing and can be merged; two of different classes mark a "
    f"border worth reading. {_RELATIVE}"
)
APART = f"No two prototypes overlap; these pairs are the closest. {_RELATIVE}"
MEASURED = {
    "data": "the texts given",
    "training": "the training texts themselves, which flatters it: give a table of other texts",
}
FIGURES = {
    "accuracy": ("Accuracy", percent, ""),
    "macro_f1": ("Macro F1", percent, ""),
    "log_loss": ("Log-loss", figure, "lower is better"),
    "ece": ("Calibration error", percent, "lower is better"),
    "mse": ("Mean squared error", figure, "lower is better"),
    "pearson": ("Pearson", figure, ""),
    "spearman": ("Spearman", figure, ""),
    "examples": ("Texts", figure, "measured"),
}


def overview(glance: Glance, source: str | None = None) -> View:
    """Head of the page, figures and classes; `source` is what the texts given are called."""
    summary = glance.summary
    known = (
        ("Method", glance.method),
        ("Encoder", summary.get("encoder")),
        ("Trained on", _trained(summary)),
        ("Preset", summary.get("preset")),
        ("Seed", summary.get("seed")),
        ("Edits", summary.get("edits") or None),
    )
    tiles = [{"name": "Prototypes", "value": len(glance.cards), "hint": _births(glance)}]
    tiles += [
        {"name": name, "value": shape(glance.metrics[key]), "hint": hint}
        for key, (name, shape, hint) in FIGURES.items()
        if glance.metrics.get(key) is not None
    ]
    return {
        "facts": [(name, value) for name, value in known if value is not None],
        "lead": _lead(glance, source),
        "tiles": tiles,
        "judged": glance.measured_on is not None and bool(glance.metrics),
        "class_rows": _class_rows(glance),
        "quality_lead": f"Measured on {_measured(glance, source)}.",
    }


def _trained(summary: View) -> str | None:
    examples, steps = summary.get("examples"), summary.get("steps")
    if examples is None:
        return None
    return counted(examples, "text") + (f", {steps:,} steps" if steps else "")


def _births(glance: Glance) -> str:
    born, died = (sum(getattr(row, name) for row in glance.trace) for name in ("born", "died"))
    return f"{born} born, {died} died in training" if born or died else ""


def _measured(glance: Glance, source: str | None) -> str:
    if glance.measured_on == "data" and source is not None:
        return f"the texts of {source}"
    return MEASURED.get(glance.measured_on or "", "nothing")


def _lead(glance: Glance, source: str | None) -> str:
    does = (
        "predicts a value"
        if glance.task == "regression"
        else f"decides between {counted(len(glance.classes), 'class')}"
    )
    held = (
        f"The figures below come from {_measured(glance, source)}"
        if glance.measured_on
        else "No labelled texts were at hand, so quality was not measured"
    )
    return f"The model {does} by {counted(len(glance.cards), 'prototype')}. {held}."


def _class_rows(glance: Glance) -> list[View]:
    figures = {row["label"]: row for row in glance.per_class}
    kept = [card.label for card in glance.cards]
    rows = []
    for i, name in enumerate(glance.classes):
        own = figures.get(name, {})
        rows.append(
            {
                "name": str(name),
                "prototypes": kept.count(name),
                "texts": own.get("count", 0),
                **{key: own.get(key) for key in ("precision", "recall", "f1")},
                "taken_for": _taken_for(glance, i),
            }
        )
    return rows


def _taken_for(glance: Glance, i: int) -> View | None:
    if not glance.confusion:
        return None
    wrong = [(count, -j) for j, count in enumerate(glance.confusion[i]) if j != i and count]
    if not wrong:
        return None
    count, j = max(wrong)
    return {"name": str(glance.classes[-j]), "count": count}


def cards(glance: Glance) -> View:
    """A card per prototype; fewer and shorter texts where there are many."""
    shown = sorted(glance.cards, key=lambda card: -card.support)[:MAX_CARDS]
    hues = {name: i for i, name in enumerate(glance.classes)}
    shown.sort(key=lambda card: (hues.get(card.label, card.label), -card.support))
    texts, length = next((n, size) for most, n, size in DETAIL if len(shown) <= most)
    left_out = len(glance.cards) - len(shown)
    return {
        "cards": [_card(card, glance, hues, texts, length) for card in shown],
        "shown_rows": {card.row for card in shown},
        "names": {card.row: card.name for card in glance.cards},
        "cards_lead": " ".join(
            [
                "What each prototype stands for, and the texts that show it.",
                "" if glance.has_index else _NO_INDEX,
                f"{left_out} with the least support are left out." if left_out else "",
                f"{_DECODED} {glance.decoder['verdict']}" if glance.decoder else "",
            ]
        ).strip(),
    }


_NO_INDEX = (
    "The model keeps no index of its training texts, so support and neighbours are not known: "
    "train with --keep-index, and with --keep-texts to read the texts here."
)

_DECODED = "Decoded texts are what a small decoder makes of a prototype; no one wrote them."


def _card(card: PrototypeCard, glance: Glance, hues: Hues, texts: int, length: int) -> View:
    regression = glance.task == "regression"
    bars, title = ([], "") if regression else _bars(card, glance, hues)
    return {
        "row": card.row,
        "name": card.name,
        "option": f"{card.name} (no. {card.row})",
        "label": labelled(card.label),
        "hue": hues.get(card.label, 0),
        "support": card.support,
        "polarity": card.polarity,
        "age": card.age,
        "traits": _traits(card, glance),
        "bars": bars,
        "bars_title": title,
        "decoded": shortened(card.decoded, length),
        "nearest": [neighbour(near, length) for near in card.nearest[:texts]],
        "confused": [
            {**neighbour(each.neighbour, length), "predicted": labelled(each.predicted)}
            for each in card.confused[: max(1, texts // 2)]
        ],
    }


def _traits(card: PrototypeCard, glance: Glance) -> list[tuple[str, str]]:
    found: list[tuple[str, Any]] = [("Says" if not glance.classes else "Class", card.label)]
    if glance.has_index:
        found += [("Support", counted(card.support, "text"))]
        if card.tau is not None:
            found += [(f"Within τ = {card.tau:.3g}", counted(card.inside, "text"))]
        if card.importance is not None:
            found += [("Mean importance", percent(card.importance))]
    found += [("Polarity", f"{card.polarity:.2f}")]
    if card.age is not None:
        found += [("Age", f"{counted(card.age, 'step')}")]
    return [(name, labelled(value)) for name, value in found]


def _bars(card: PrototypeCard, glance: Glance, hues: Hues) -> tuple[list[View], str]:
    """Labels around the prototype, or what it says itself where no texts are known."""
    if card.labels:
        shares = [(each.label, each.share) for each in card.labels]
        title = "Labels in its neighbourhood"
    else:
        shares = list(zip(glance.classes, card.outputs, strict=False))
        title = "What it says about the classes"
    shares = sorted(shares, key=lambda each: -each[1])[:BARS]
    bars = [{"name": str(name), "share": share, "hue": hues.get(name, 7)} for name, share in shares]
    return bars, title


def neighbour(near: Neighbour, length: int) -> View:
    """A neighbour for a list: its text cut to `length`."""
    return {
        "row": near.row,
        "label": labelled(near.label),
        "distance": None if near.distance is None else fixed(near.distance),
        "text": shortened(said(near.text), length),
    }


def checks(glance: Glance) -> View:
    """Overlapping prototypes, likely label errors, most novel texts."""
    regression = glance.task == "regression"
    touching = [each for each in glance.overlaps if _overlap(each)]
    pairs = touching[:TABLE_ROWS] or glance.overlaps[:CLOSEST]
    return {
        "has_index": glance.has_index,
        "overlaps_lead": OVERLAPPING if touching else APART,
        "overlap_heads": ("Distance", "Relative", "Nearest texts in common"),
        "overlaps": [
            {
                "one": each.rows[0],
                "other": each.rows[1],
                "figures": (fixed(each.distance), fixed(each.relative), percent(each.shared)),
                "labels": [labelled(label) for label in each.labels],
                "same": each.labels[0] == each.labels[1],
            }
            for each in pairs
        ],
        "errors_figure": "Doubt",
        "errors_lead": (
            "Training texts whose neighbours have other labels, the most doubtful first. "
            + (_BEFORE if glance.untrained else _FITTED)
            + ("Doubt: the gap in spreads of the targets." if regression else
               "Doubt: the share of the neighbours with another label.")
            + " A suggestion to look, not a verdict."
        ),
        "errors": [
            {
                "row": each.row,
                "text": _cell(each.text),
                "label": labelled(each.label),
                "suggested": labelled(each.suggested),
                "figure": figure(each.doubt) if regression else percent(each.doubt),
            }
            for each in glance.label_errors[:TABLE_ROWS]
        ],
        "novel": [
            {
                "row": each.row,
                "text": _cell(each.text),
                "label": labelled(each.label),
                "predicted": labelled(each.predicted),
                "novelty": percent(each.novelty),
                "distance": fixed(each.distance),
            }
            for each in glance.novel[:TABLE_ROWS]
        ],
        **_missing(glance),
    }  # fmt: skip


_BEFORE = "Neighbours are those of the encoder before it was trained. "
_FITTED = (
    "The encoder was trained on these labels and has fitted wrong ones too, so few show: train "
    "with --keep-texts to compare texts as they were before training. "
)


def _overlap(pair: Overlap) -> bool:
    """Whether two prototypes are as near as a text to its own, or share some nearest texts."""
    return pair.relative < 1 or (pair.shared or 0) >= SHARED


def _cell(text: Any) -> str | None:
    return shortened(said(text), TABLE_TEXT)


def _none_doubtful(glance: Glance) -> str:
    said = "No training text has neighbours that disagree with its label."
    return said if glance.untrained else f"{said} {_FITTED}".strip()


def _missing(glance: Glance) -> View:
    """What an empty section says, and what would fill it."""
    needs = listed(["a table of texts (protofit report MODEL DATA)", "train with --keep-index"])
    nothing = f"There are no texts to look at. Give {needs}."
    looked = bool(glance.map.points)
    unindexed = "Label errors are looked for in the training texts: train with --keep-index."
    return {
        "overlaps_missing": "No two prototypes lie close together.",
        "errors_missing": _none_doubtful(glance) if glance.has_index else unindexed,
        "novel_missing": "No text stands out as novel." if looked else nothing,
        "map_missing": "There are neither prototypes nor texts to draw.",
    }
