"""The charts as Vega-Lite specifications; colours and fonts are the page's, given when it draws."""

from __future__ import annotations

import math
from typing import Any

Spec = dict[str, Any]
Rows = list[dict[str, Any]]

CELLS_WITH_NUMBERS = 12  # classes up to which a confusion cell shows its count
NAMES_ON_MAP = 8  # prototypes up to which all names stand on the map
STEPS_SHOWN = 400  # points of a line over training
BINS = 50  # bars of births and deaths
QUIET_AXIS = {"tickMinStep": 1, "tickCount": 8, "grid": False}
RAMP = ("#d9772b", "#8d8f94", "#3f86d6")  # low, middle and high values, on light and on dark


def confusion(matrix: list[list[int]], names: list[str]) -> Spec:
    """Counts (C, C), true class down, predicted class across, shaded by share of the row.

    Of many classes nearly all cells are empty and are left out: they alone would fill the page.
    """
    few = len(names) <= CELLS_WITH_NUMBERS
    cells = [
        {
            "true": names[i],
            "predicted": names[j],
            "texts": count,
            "share": count / max(1, sum(row)),
        }
        for i, row in enumerate(matrix)
        for j, count in enumerate(row)
        if few or count
    ]
    axis = {"labelLimit": 110, "ticks": False, "domain": False, "labelOverlap": not few}
    room = f"width / {len(names)} > {7 * max(map(len, names), default=1) + 10}"  # names lie flat
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "style": "square", "cornerRadius": 3 if few else 0},
            "encoding": {
                "fillOpacity": {"field": "share", "type": "quantitative", "legend": None,
                                "scale": {"domain": [0, 1], "range": [0.05, 1]}},
            },
        }
    ]  # fmt: skip
    if few:
        layers += [_counts("low", "datum.share <= 0.5"), _counts("high", "datum.share > 0.5")]
    return {
        "data": {"values": cells},
        "width": "container",
        "height": 40 * len(names) + 20 if few else 460,
        "encoding": {
            "tooltip": [{"field": name} for name in ("true", "predicted", "texts")],
            "x": {"field": "predicted", "type": "nominal", "scale": {"domain": names},
                  "axis": {**axis, "title": "predicted",
                           "labelAngle": {"expr": f"{room} ? 0 : -40"},
                           "labelAlign": {"expr": f"{room} ? 'center' : 'right'"},
                           "labelBaseline": {"expr": f"{room} ? 'top' : 'middle'"}}},
            "y": {"field": "true", "type": "nominal", "scale": {"domain": names},
                  "axis": {**axis, "title": "true"}},
        },
        "layer": layers,
    }  # fmt: skip


def _counts(style: str, test: str) -> Spec:
    return {
        "transform": [{"filter": f"{test} && datum.texts > 0"}],
        "mark": {"type": "text", "style": style},
        "encoding": {"text": {"field": "texts", "type": "quantitative"}},
    }


def calibration(bins: Rows) -> Spec:
    """Accuracy of the texts of each bin of confidence; on the diagonal both agree."""
    unit = {"domain": [0, 1]}
    return {
        "width": "container",
        "height": 260,
        "layer": [
            {
                "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
                "mark": {"type": "line", "style": "quiet", "strokeDash": [5, 4]},
                "encoding": {"x": _number("x"), "y": _number("y")},
            },
            {
                "data": {"values": bins},
                "mark": {"type": "line", "style": "accent", "strokeWidth": 1.5, "opacity": 0.6},
                "encoding": {
                    "x": _number("confidence", "confidence", unit),
                    "y": _number("accuracy", "accuracy", unit),
                },
            },
            {
                "data": {"values": bins},
                "mark": {"type": "circle", "style": "accent", "opacity": 0.9, "clip": False},
                "encoding": {
                    "x": _number("confidence", "confidence", unit),
                    "y": _number("accuracy", "accuracy", unit),
                    "size": {"field": "texts", "type": "quantitative",
                             "scale": {"range": [30, 420]}, "legend": None},
                    "tooltip": [
                        {"field": "confidence", "format": ".2f"},
                        {"field": "accuracy", "format": ".2f"},
                        {"field": "texts"},
                    ],
                },
            },
        ],
    }  # fmt: skip


def scatter(points: Rows) -> Spec:
    """Predicted against true values of a regression."""
    ends = [p[name] for p in points for name in ("true", "predicted")]
    low, high = min(ends), max(ends)
    scale = {"domain": [low, high], "nice": True}
    return {
        "width": "container",
        "height": 300,
        "layer": [
            {
                "data": {"values": [{"x": low, "y": low}, {"x": high, "y": high}]},
                "mark": {"type": "line", "style": "quiet", "strokeDash": [5, 4]},
                "encoding": {"x": _number("x"), "y": _number("y")},
            },
            {
                "data": {"values": points},
                "mark": {"type": "circle", "style": "accent", "opacity": 0.6},
                "encoding": {
                    "x": _number("true", "true", scale),
                    "y": _number("predicted", "predicted", scale),
                    "tooltip": [{"field": "true"}, {"field": "predicted"}],
                },
            },
        ],
    }


def prototype_map(
    classes: int, span: tuple[float, float] | None, named: bool, titles: tuple[str, str]
) -> Spec:
    """Texts (dots) and prototypes (diamonds); the page gives the data and the frame."""
    x, y = (_bounded(name, title) for name, title in zip("xy", titles, strict=True))
    colour: Spec = {"field": "l", "type": "nominal", "legend": None,
                    "scale": {"domain": list(range(classes))}}  # fmt: skip
    if span is not None:
        colour |= {
            "type": "quantitative",
            "scale": {
                "domain": [span[0], sum(span) / 2, span[1]],
                "range": list(RAMP),
                "clamp": True,
            },
        }
    along = "(datum.x - x0) / (x1 - x0)"  # names near an edge are written away from it
    align = {"expr": f"{along} < 0.25 ? 'left' : {along} > 0.75 ? 'right' : 'center'"}
    return {
        "width": "container",
        "height": 520,
        "usermeta": {"narrow": {"height": 380, "names": False}},
        "datasets": {"texts": [], "prototypes": []},
        "params": [{"name": name, "value": value} for name, value in
                   (("x0", 0), ("x1", 1), ("y0", 0), ("y1", 1), ("names", named))],
        "encoding": {"x": x, "y": y, "tooltip": {"field": "kind"}},  # a text: 0 would show none
        "layer": [
            {
                "data": {"name": "texts"},
                "mark": {"type": "circle", "clip": True, "size": 44},
                "encoding": {
                    "color": colour,
                    "opacity": {"condition": {"test": "datum.on == 1", "value": 0.62},
                                "value": 0.12},
                },
            },
            {
                "data": {"name": "prototypes"},
                "mark": {"type": "point", "shape": "diamond", "filled": True, "clip": True,
                         "style": "proto", "cursor": "pointer"},
                "encoding": {
                    "fill": colour,
                    "size": {"condition": {"test": "datum.on == 2", "value": 420}, "value": 190},
                    "opacity": {"condition": {"test": "datum.on > 0", "value": 1}, "value": 0.28},
                },
            },
            *[
                {
                    "data": {"name": "prototypes"},
                    "transform": [
                        {"filter": "datum.on == 2 || (names && datum.room && datum.on > 0)"}
                    ],
                    "mark": {"type": "text", "style": style, "dy": -15, "clip": True,
                             "limit": 260, "align": align},
                    "encoding": {"text": {"field": "name"}},
                }
                for style in ("halo", "name")
            ],
        ],
    }  # fmt: skip


def _bounded(name: str, title: str) -> Spec:
    scale = {"domain": {"expr": f"[{name}0, {name}1]"}, "zero": False, "nice": False}
    axis = {"title": title, "labels": False, "ticks": False, "grid": True, "tickCount": 6}
    return {"field": name, "type": "quantitative", "scale": scale, "axis": axis}


def _number(field: str, title: str | None = None, scale: Spec | None = None) -> Spec:
    encoded: Spec = {"field": field, "type": "quantitative"}
    if title is not None:
        encoded["title"] = title
    if scale is not None:
        encoded["scale"] = scale
    return encoded


def growth(trace: Rows) -> Spec:
    """K(t), the number of prototypes after each step."""
    rows = _thinned(trace)
    return {
        "data": {"values": [{"step": row["step"], "K": row["prototypes"]} for row in rows]},
        "width": "container",
        "height": 200,
        "mark": {"type": "line", "style": "accent", "interpolate": "step-after", "strokeWidth": 2},
        "encoding": {
            "x": {**_number("step", "step", _steps(trace)), "axis": QUIET_AXIS},
            "y": {
                **_number("K", "prototypes", {"zero": True}),
                "axis": {"tickMinStep": 1, "tickCount": 5},
            },
            "tooltip": [{"field": "step"}, {"field": "K"}],
        },
    }


def births(trace: Rows) -> Spec:
    """Prototypes born (up) and died (down) in equal spans of the training."""
    last = int(trace[-1]["step"])
    span = max(1, math.ceil((last + 1) / BINS))
    sums: dict[int, list[int]] = {}
    for row in trace:
        place = sums.setdefault(int(row["step"]) // span, [0, 0])
        place[0] += int(row["born"])
        place[1] += int(row["died"])
    values = [
        {"from": at * span, "to": (at + 1) * span, "count": sign * count, "what": what,
         "prototypes": count}
        for at, pair in sorted(sums.items())
        for what, sign, count in (("born", 1, pair[0]), ("died", -1, pair[1]))
        if count
    ]  # fmt: skip
    return {
        "data": {"values": values},
        "width": "container",
        "height": 150,
        "encoding": {
            "x": {**_number("from", "step", _steps(trace)), "axis": QUIET_AXIS},
            "x2": {"field": "to"},
            "y2": {"datum": 0},
            "y": {**_number("count", "died · born"),
                  "axis": {"tickMinStep": 1, "tickCount": 5,
                           "labelExpr": "format(abs(datum.value), 'd')"}},
            "tooltip": [{"field": "what"}, {"field": "prototypes"},
                        {"field": "from", "title": "from step"}, {"field": "to", "title": "to"}],
        },
        "layer": [
            {"transform": [{"filter": f"datum.what == '{what}'"}],
             "mark": {"type": "rect", "style": what}}
            for what in ("born", "died")
        ],
    }  # fmt: skip


def importance(rows: Rows) -> Spec:
    """Mean importance of each prototype over training: step, prototype, importance."""
    return {
        "data": {"values": rows},
        "width": "container",
        "height": 220,
        "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.8},
        "encoding": {
            "x": {**_number("step", "step"), "axis": {**QUIET_AXIS, "format": "d"}},
            "y": _number("importance", "mean importance"),
            "color": {"field": "l", "type": "nominal", "legend": None},
            "detail": {"field": "row"},
            "tooltip": [{"field": "name"}, {"field": "step"},
                        {"field": "importance", "format": ".3f"}],
        },
    }  # fmt: skip


def spark(top: float, last: int) -> Spec:
    """The importance of one prototype, in a line of text; the page gives the data.

    All share one scale: what was born late begins late.
    """
    return {
        "width": "container",
        "height": 30,
        "datasets": {"spark": []},
        "data": {"name": "spark"},
        "mark": {"type": "line", "style": "hue", "strokeWidth": 1.6},
        "encoding": {
            "x": {**_number("step", None, {"domain": [0, last], "nice": False}), "axis": None},
            "y": {**_number("importance", None, {"domain": [0, top]}), "axis": None},
        },
    }


def _steps(trace: Rows) -> Spec:
    return {"domain": [0, max(1, int(trace[-1]["step"]) + 1)], "nice": False}


def _thinned(trace: Rows) -> Rows:
    """Every row where K changes; where they are too many, equally spaced ones."""
    changes = [
        row
        for i, row in enumerate(trace)
        if i in (0, len(trace) - 1) or row["prototypes"] != trace[i - 1]["prototypes"]
    ]
    stride = math.ceil(len(changes) / STEPS_SHOWN)
    return changes if stride <= 1 else [*changes[:-1:stride], changes[-1]]
