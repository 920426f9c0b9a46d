"""A Glance made of thin air: everything a report can show, without a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from protofit.explain import results as r


def make_glance(
    texts: list[Any],
    classes: tuple[Any, ...] = ("billing", "returns", "account"),
    prototypes: int = 6,
    seed: int = 0,
    **changes: Any,
) -> r.Glance:
    """A classifier's Glance over these texts, whose labels take turns."""
    random = np.random.default_rng(seed)
    count = len(classes)
    centres = random.normal(size=(prototypes, 2)) * 5
    home = np.arange(len(texts)) % prototypes
    places = centres[home] + random.normal(size=(len(texts), 2))
    labels = [classes[int(k) % count] for k in home]
    cards = [make_card(k, texts, classes, centres[k]) for k in range(prototypes)]
    points = [
        r.MapPoint((float(x), float(y)), i, labels[i], labels[i], int(home[i]), texts[i], "data")
        for i, (x, y) in enumerate(places)
    ]
    confusion = [[9 if i == j else (i + j) % 2 for j in range(count)] for i in range(count)]
    fields: dict[str, Any] = {
        "task": "classification",
        "method": "pfit",
        "classes": list(classes),
        "summary": {"encoder": "tiny", "examples": len(texts), "steps": 40, "seed": 0, "K": 6},
        "measured_on": "data",
        "metrics": {"examples": len(texts), "accuracy": 0.9, "macro_f1": 0.89, "log_loss": 0.31,
                    "ece": 0.04},
        "confusion": confusion,
        "per_class": [{"label": name, "count": 10, "precision": 0.9, "recall": 0.8, "f1": 0.85}
                      for name in classes],
        "calibration": [r.CalibrationBin(i / 5, (i + 1) / 5, i * 10, i / 5 + 0.1 if i else None,
                                         i / 5 if i else None) for i in range(5)],
        "values": [],
        "map": r.Map(points, [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], (0.4, 0.2), len(points),
                     len(points)),
        "cards": cards,
        "trace": [r.TraceRow(s, 3 + s // 10, int(s % 10 == 0), int(s == 25), 1.0) for s in
                  range(1, 41)],
        "overlaps": [r.Overlap((0, 1), (cards[0].name, cards[1].name), (classes[0], classes[1]),
                               1.2, 0.3, 0.5)],
        "label_errors": [r.LabelError(0, texts[0], classes[0], classes[1], 0.8, 0.1, [])],
        "novel": [r.NovelText(1, texts[1], classes[1], classes[0], 0.99, 9.0)],
        "has_index": True,
        "has_texts": True,
    }  # fmt: skip
    return r.Glance(**{**fields, **changes})


def make_card(row: int, texts: list[Any], classes: tuple[Any, ...], place: Any) -> r.PrototypeCard:
    """A card whose nearest texts are the first ones."""
    label = classes[row % len(classes)]
    near = [r.Neighbour(i, i, label, 0.5 + i, text) for i, text in enumerate(texts[:8])]
    outputs = [0.8 if name == label else 0.2 / max(1, len(classes) - 1) for name in classes]
    return r.PrototypeCard(
        row=row, name=f"{label}: word{row}", suggested=f"{label}: word{row}", words=[f"word{row}"],
        label=label, outputs=outputs, polarity=0.6, support=10 * (row + 1), importance=0.2,
        born=row, age=40 - row, history=[r.Use(10, 0.1), r.Use(20, 0.2), r.Use(40, 0.15)],
        nearest=near, tau=3.0, inside=5,
        neighbourhood=near[:4], labels=[r.LabelShare(label, 4, 0.8),
                                        r.LabelShare(classes[0], 1, 0.2)],
        confused=[r.Confused(near[0], classes[0])], decoded="a decoded text",
        position=(float(place[0]), float(place[1])),
    )  # fmt: skip


def make_values(texts: list[Any], **changes: Any) -> r.Glance:
    """A regressor's Glance over these texts, without index or labels."""
    glance = make_glance(texts, classes=(0.5, 1.5, 2.5))
    points = [
        r.MapPoint(p.position, p.row, float(p.row), float(p.row) + 0.1, p.prototype, p.text, "data")
        for p in glance.map.points
    ]
    fields = {**vars(glance), "task": "regression", "classes": [], "confusion": [],
              "per_class": [], "calibration": [],
              "metrics": {"examples": len(texts), "mse": 0.2, "pearson": None, "spearman": 0.5},
              "values": [(float(i), float(i) + 0.1) for i in range(len(texts))],
              "map": r.Map(points, [[1.0], [0.0]], [0.0], (0.5, 0.1), len(points),
                           len(points))}  # fmt: skip
    return r.Glance(**{**fields, **changes})
