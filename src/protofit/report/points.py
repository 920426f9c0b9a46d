"""The map of prototypes and texts, in columns, within a budget of bytes."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from protofit.explain.results import Glance, MapPoint, Neighbour, PrototypeCard
from protofit.report.wording import said, shortened

LENGTHS = (600, 400, 300, 220, 160, 120, 80, 50)  # characters of a text on the map, the best first
PLOT = (600, 470)  # pixels of the map, about
LETTER, LINE = 7, 18  # pixels of a letter of a name, and of a line
MARGIN = 0.06  # of the frame, on each side


def map_data(glance: Glance, text_bytes: int) -> dict[str, Any]:
    """What the page's script needs of the map; texts take at most about `text_bytes`."""
    points = glance.map.points
    places = {name: i for i, name in enumerate(glance.classes)}
    known = bool(places)
    frame = _frame([*(p.position for p in points), *(c.position for c in glance.cards)])

    def label(value: Any) -> Any:
        return places.get(value) if known else value

    return {
        "classes": [str(name) for name in glance.classes],
        "texts": {
            "x": [round(point.position[0], 3) for point in points],
            "y": [round(point.position[1], 3) for point in points],
            "row": [point.row for point in points],
            "label": [label(point.label) for point in points],
            "predicted": [label(point.predicted) for point in points],
            "text": fitted([said(point.text) for point in points], text_bytes),
        },
        "prototypes": _prototypes(glance, label, frame),
        "frame": frame,
    }


def fitted(texts: list[str | None], budget: int) -> list[str | None]:
    """The texts, all cut to the greatest length whose JSON stays within the budget."""
    cut = texts
    for length in LENGTHS:
        cut = [shortened(text, length) for text in texts]
        if sum(_size(text) for text in cut) <= budget:
            break
    return cut


def _size(text: str | None) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))


def _prototypes(glance: Glance, label: Any, frame: list[float]) -> list[dict[str, Any]]:
    texts, roomy = _members(glance), _roomy(glance.cards, frame)
    return [
        {
            "row": card.row,
            "name": card.name,
            "says": str(card.label),
            "label": label(card.label),
            "x": round(card.position[0], 3),
            "y": round(card.position[1], 3),
            "members": texts[card.row],
            "room": card.row in roomy,
        }
        for card in glance.cards
    ]


def _roomy(cards: list[PrototypeCard], frame: list[float]) -> set[int]:
    """Prototypes whose names lie over no other: those with the most support come first."""
    taken: list[tuple[float, float, float]] = []
    found = set()
    for card in sorted(cards, key=lambda card: -card.support):
        along, down = (
            (place - low) / (high - low)
            for place, low, high in zip(card.position, frame[::2], frame[1::2], strict=True)
        )
        width, y = LETTER * len(card.name), PLOT[1] * down
        left = PLOT[0] * along - width * (0 if along < 0.25 else 1 if along > 0.75 else 0.5)
        if all(
            left > end or left + width < start or abs(y - other) > LINE
            for start, end, other in taken
        ):
            taken.append((left, left + width, y))
            found.add(card.row)
    return found


def _members(glance: Glance) -> dict[int, list[int]]:
    """Texts of each prototype: those it is most important for, and those within tau of it."""
    points = glance.map.points
    own: dict[int, set[int]] = defaultdict(set)
    for i, point in enumerate(points):
        own[point.prototype].add(i)
    trained = {_called(point): i for i, point in enumerate(points) if point.source == "training"}
    trained.pop(None, None)
    found = {}
    for card in glance.cards:
        near = map(_called, card.neighbourhood)
        first = list(dict.fromkeys(trained[each] for each in near if each in trained))
        rest = own[card.row] - set(first)
        found[card.row] = [*first, *sorted(rest, key=lambda i: _apart(points[i], card.position))]
    return found


def _called(one: MapPoint | Neighbour) -> Any:
    """What tells a training text from others: an edit's has no row, but words if they are kept."""
    return one.row if one.row >= 0 else one.text


def _apart(point: MapPoint, centre: tuple[float, float]) -> float:
    return (point.position[0] - centre[0]) ** 2 + (point.position[1] - centre[1]) ** 2


def _frame(places: list[tuple[float, float]]) -> list[float]:
    """Least and greatest x, least and greatest y, with a margin."""
    ends: list[float] = []
    for axis in range(2):
        values = [place[axis] for place in places] or [0.0]
        pad = MARGIN * (max(values) - min(values)) or 1.0
        ends += [min(values) - pad, max(values) + pad]
    return ends
