"""The model at a glance: everything a report shows, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from protofit.decoder.attach import quality_of
from protofit.evaluation.metrics import (
    CALIBRATION_BINS,
    classification_metrics,
    regression_metrics,
)
from protofit.explain.cards import interpret
from protofit.explain.label_errors import label_errors
from protofit.explain.reading import MAP_TEXTS, Reading, spread_rows
from protofit.explain.results import (
    CalibrationBin,
    Glance,
    Map,
    MapPoint,
    NovelText,
    Overlap,
    Text,
    TraceRow,
)
from protofit.model.bundle import Bundle

TRACE_ROWS = 300
OVERLAPS = 20
NOVEL = 20
VALUES = 5_000


@dataclass(frozen=True)
class Looked:
    """Texts that the glance measures and maps, with what the model says of them."""

    source: str  # "data" or "training"
    features: np.ndarray  # (n, D)
    labels: np.ndarray | None  # (n,)
    rows: np.ndarray  # (n,)
    texts: Sequence[Text] | None
    outputs: np.ndarray  # (n, C) probabilities, or (n, 1) values
    owner: np.ndarray  # (n,) place of the most important prototype
    distance: np.ndarray  # (n,) L2 to the nearest prototype


def glance(
    bundle: Bundle,
    inputs: Sequence[Any] | None = None,
    labels: np.ndarray | None = None,
    rows: Sequence[int] | None = None,
) -> Glance:
    """Measured on `inputs` with `labels` (class indices, or targets), else on the index.

    Figures on the index are figures on training texts. Without either there are cards only.
    `rows` are what the texts are called by; their places, from 0, by default.
    """
    reading = Reading.of(bundle)
    data = None if inputs is None else _given(reading, inputs, labels, rows)
    looked = data or _indexed(reading)
    figures = _figures(reading, looked)
    index, decoder = reading.index, quality_of(bundle)
    return Glance(
        task=bundle.task,
        method=reading.method,
        classes=reading.classes,
        summary=_summary(reading),
        measured_on=None if looked is None or looked.labels is None else looked.source,
        metrics={name: value for name, value in figures.items() if name != "confusion"},
        confusion=figures.get("confusion", []),
        per_class=_per_class(reading, figures.get("confusion", [])),
        calibration=_calibration(reading, looked),
        values=_values(reading, looked),
        map=_map(reading, looked),
        cards=interpret(bundle),
        trace=trace_rows(bundle.trace),
        overlaps=overlaps(reading),
        label_errors=label_errors(reading),
        novel=_novel(reading, looked),
        has_index=index is not None,
        has_texts=index is not None and index.texts is not None,
        decoder=None if decoder is None else decoder.to_dict(),
        untrained=reading.untrained is not None,
    )


def _given(
    reading: Reading,
    inputs: Sequence[Any],
    labels: np.ndarray | None,
    rows: Sequence[int] | None,
) -> Looked:
    features, _ = reading.features(inputs)
    owner, outputs, step = [], [], min(1024, reading.block)
    for start in range(0, len(inputs), step):
        block = features[start : start + step]
        owner.append(reading.head.importance(block).argmax(dim=1).cpu().numpy())
        outputs.append(reading.predictions(block))
    plain = features.cpu().numpy()
    distance = np.concatenate(
        [reading.distances(plain[i : i + step]).min(axis=1) for i in range(0, len(plain), step)]
    )
    names = np.arange(len(inputs)) if rows is None else np.asarray(rows, np.int64)
    return Looked(
        "data", plain, labels, names, list(inputs), np.concatenate(outputs),
        np.concatenate(owner), distance,
    )  # fmt: skip


def _indexed(reading: Reading) -> Looked | None:
    """At most 5,000 texts of the index, evenly spread."""
    index, survey = reading.index, reading.survey
    if index is None or survey is None:
        return None
    import torch

    picked = spread_rows(len(index), MAP_TEXTS)
    features = index.features[picked].astype(np.float32)
    device = next(reading.head.buffers()).device
    outputs = [
        reading.predictions(torch.from_numpy(features[i : i + 1024]).to(device))
        for i in range(0, len(features), 1024)
    ]
    texts = None if index.texts is None else [index.texts[i] for i in picked]
    return Looked(
        "training", features, index.labels[picked], index.rows[picked], texts,
        np.concatenate(outputs), survey.owner[picked], survey.distance[picked],
    )  # fmt: skip


def _figures(reading: Reading, looked: Looked | None) -> dict[str, Any]:
    if looked is None or looked.labels is None or not len(looked.labels):
        return {}
    if reading.regression:
        return regression_metrics(looked.outputs[:, 0], looked.labels)
    return classification_metrics(np.log(np.maximum(looked.outputs, 1e-300)), looked.labels)


def _per_class(reading: Reading, confusion: list[list[int]]) -> list[dict[str, Any]]:
    """Precision, recall and F1 of each class; None where nothing is divided by."""
    table = np.array(confusion)
    rows = []
    for c, label in enumerate(reading.classes if len(table) else []):
        hit, true, said = int(table[c, c]), int(table[c].sum()), int(table[:, c].sum())
        rows.append({
            "label": label,
            "count": true,
            "precision": hit / said if said else None,
            "recall": hit / true if true else None,
            "f1": 2 * hit / (true + said) if true + said else None,
        })  # fmt: skip
    return rows


def _calibration(reading: Reading, looked: Looked | None) -> list[CalibrationBin]:
    if looked is None or looked.labels is None or reading.regression:
        return []
    confidence = looked.outputs.max(axis=1)
    right = looked.outputs.argmax(axis=1) == looked.labels
    place = np.clip((confidence * CALIBRATION_BINS).astype(int), 0, CALIBRATION_BINS - 1)
    bins = []
    for b in range(CALIBRATION_BINS):
        mine = place == b
        filled = bool(mine.any())
        bins.append(
            CalibrationBin(
                lower=b / CALIBRATION_BINS,
                upper=(b + 1) / CALIBRATION_BINS,
                count=int(mine.sum()),
                confidence=float(confidence[mine].mean()) if filled else None,
                accuracy=float(right[mine].mean()) if filled else None,
            )
        )
    return bins


def _values(reading: Reading, looked: Looked | None) -> list[tuple[float, float]]:
    if looked is None or looked.labels is None or not reading.regression:
        return []
    picked = spread_rows(len(looked.labels), VALUES)
    return [(float(looked.labels[i]), float(looked.outputs[i, 0])) for i in picked]


def _map(reading: Reading, looked: Looked | None) -> Map:
    plane = reading.plane
    points = [] if looked is None else _points(reading, looked)
    return Map(
        points=points,
        axes=plane.axes.tolist(),
        centre=plane.centre.tolist(),
        explained=plane.explained,
        shown=len(points),
        total=0 if looked is None else _total(reading, looked),
    )


def _total(reading: Reading, looked: Looked) -> int:
    if looked.source == "training" and reading.index is not None:
        return len(reading.index)
    return len(looked.rows)


def _points(reading: Reading, looked: Looked) -> list[MapPoint]:
    picked = spread_rows(len(looked.rows), MAP_TEXTS)
    places = reading.plane.places(looked.features[picked])
    return [
        MapPoint(
            position=(float(x), float(y)),
            row=int(looked.rows[i]),
            label=None if looked.labels is None else reading.given(looked.labels[i]),
            predicted=_predicted(reading, looked.outputs[i]),
            prototype=reading.rows[int(looked.owner[i])],
            text=None if looked.texts is None else looked.texts[i],
            source=looked.source,
        )
        for i, (x, y) in zip(picked, places, strict=True)
    ]


def _predicted(reading: Reading, outputs: np.ndarray) -> Any:
    return reading.given(float(outputs[0] if reading.regression else outputs.argmax()))


def _novel(reading: Reading, looked: Looked | None) -> list[NovelText]:
    """The texts farthest from all prototypes."""
    if looked is None:
        return []
    survey = reading.survey
    order = np.argsort(-looked.distance, kind="stable")[:NOVEL]
    return [
        NovelText(
            row=int(looked.rows[i]),
            text=None if looked.texts is None else looked.texts[i],
            label=None if looked.labels is None else reading.given(looked.labels[i]),
            predicted=_predicted(reading, looked.outputs[i]),
            novelty=None if survey is None else survey.novelty(float(looked.distance[i])),
            distance=float(looked.distance[i]),
        )
        for i in order
    ]


def overlaps(reading: Reading, most: int = OVERLAPS) -> list[Overlap]:
    """The pairs of prototypes nearest to each other, relative to how far texts are from theirs."""
    count = len(reading.rows)
    away = reading.distances(reading.vectors)
    first, second = np.triu_indices(count, k=1)
    order = np.argsort(away[first, second], kind="stable")[:most]
    survey = reading.survey
    usual = float(np.median(survey.distance)) if survey is not None else float("nan")
    if survey is None and len(first):
        usual = float(np.median(away[first, second]))
    found = []
    for i in order:
        a, b = int(first[i]), int(second[i])
        near = [set(reading.reach[0][k].tolist()) for k in (a, b)]
        both = len(near[0] | near[1])
        found.append(
            Overlap(
                rows=(reading.rows[a], reading.rows[b]),
                names=(reading.name(a), reading.name(b)),
                labels=(reading.labels_of(a), reading.labels_of(b)),
                distance=float(away[a, b]),
                relative=float(away[a, b] / max(usual, 1e-12)),
                shared=len(near[0] & near[1]) / both if both else None,
            )
        )
    return found


def trace_rows(trace: list[dict[str, float]], most: int = TRACE_ROWS) -> list[TraceRow]:
    """K over the run; births and deaths between two rows are the differences of their totals."""
    known = [row for row in trace if "prototypes" in row]
    if not known:
        return []
    picked = [known[i] for i in spread_rows(len(known), most)]
    zero = {"created": 0.0, "pruned": 0.0}
    return [
        TraceRow(
            step=int(row["step"]),
            prototypes=int(row["prototypes"]),
            born=int(row.get("created", 0) - before.get("created", 0)),
            died=int(row.get("pruned", 0) - before.get("pruned", 0)),
            loss=row.get("loss"),
        )
        for before, row in pairwise([zero, *picked])
    ]


def _summary(reading: Reading) -> dict[str, Any]:
    bundle = reading.bundle
    record = bundle.record
    names = ("encoder", "examples", "steps", "seconds", "seed", "epochs", "device")
    return {
        **{name: record.get(name) for name in names},
        "preset": bundle.settings.preset,
        "method": reading.method,
        "K": len(reading.rows),
        "edits": len(bundle.history),
        "paired": bundle.paired,
    }
