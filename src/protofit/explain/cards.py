"""A card for each prototype: nearest texts, neighbourhood, name, use, and what it confuses."""

from __future__ import annotations

from typing import Any

import numpy as np

from protofit.explain.decoded import decoded
from protofit.explain.reading import Reading
from protofit.explain.results import Confused, LabelShare, Neighbour, PrototypeCard, Use
from protofit.model.bundle import Bundle
from protofit.model.index import TrainingIndex

BLOCK = 8_192  # texts of the index looked at together


def interpret(bundle: Bundle, *, n: int = 10, tau: float | None = None) -> list[PrototypeCard]:
    """A card for each prototype with its n nearest texts and those within `tau`.

    Without `tau` the radius is the 95 % quantile of the distances of training texts to the
    nearest prototype of their class. The nearest texts and the texts of a neighbourhood come from
    the index; without one the cards hold what the head alone knows.
    """
    reading = Reading.of(bundle)
    return [card(reading, k, n, tau) for k in range(len(reading.rows))]


def card(reading: Reading, k: int, n: int = 10, tau: float | None = None) -> PrototypeCard:
    """The card of one prototype."""
    survey = reading.survey
    radius = tau if tau is not None else (None if survey is None else survey.tau)
    near = reading.near_prototype(k, n)
    count, labels = _neighbourhood(reading, k, radius, near)
    suggested, words = reading.suggested(k)
    born = None if reading.born is None else reading.born[k]
    clock = int(reading.head.clock)
    return PrototypeCard(
        row=reading.rows[k],
        name=reading.name(k),
        suggested=suggested,
        words=words,
        label=reading.labels_of(k),
        outputs=[float(value) for value in reading.outputs[k]],
        polarity=_polarity(reading, k),
        support=0 if survey is None else int(survey.support[k]),
        importance=None if survey is None else float(survey.importance[k]),
        born=born,
        age=None if born is None else max(0, clock - born),
        history=_history(reading, k),
        nearest=near,
        tau=radius,
        inside=count,
        neighbourhood=[] if radius is None else [one for one in near if one.distance <= radius],
        labels=labels,
        confused=_confused(reading, k, n),
        decoded=decoded(reading, k),
        position=reading.plane.place(reading.vectors[k]),
    )


def _polarity(reading: Reading, k: int) -> float:
    outputs = reading.outputs[k]
    if reading.regression:
        return float(outputs[0] - (reading.unit[1] if reading.mixture else 0.0))
    best = np.sort(outputs)[::-1]
    return float(best[0] - best[1])


def _neighbourhood(
    reading: Reading, k: int, tau: float | None, near: list[Neighbour]
) -> tuple[int, list[LabelShare]]:
    """The number of texts within τ, and their labels; those of the nearest where there is none."""
    if reading.index is None or tau is None:
        return 0, []
    counts = inside(reading, tau)[k]
    if not counts.any():
        for item in near:
            counts[0 if reading.regression else reading.index.labels[item.position]] += 1
        return 0, label_shares(reading, counts)
    return int(counts.sum()), label_shares(reading, counts)


def inside(reading: Reading, tau: float) -> np.ndarray:
    """How many texts of each label lie within τ of each prototype: (K, C), or (K, 1).

    One pass over the index for all prototypes, which is remembered for this τ.
    """
    assert reading.index is not None  # noqa: S101
    if tau not in reading.inside:
        reading.inside = {tau: _counted(reading, reading.index, tau)}
    return np.array(reading.inside[tau])


def _counted(reading: Reading, index: TrainingIndex, tau: float) -> np.ndarray:
    count = max(1, len(reading.classes))
    found = np.zeros((len(reading.rows), count), np.int64)
    for start in range(0, len(index), BLOCK):
        span = slice(start, start + BLOCK)
        near = reading.distances(index.features[span]) <= tau
        labels = np.zeros(len(near), np.int64) if reading.regression else index.labels[span]
        for label in np.unique(labels):
            found[:, label] += near[labels == label].sum(axis=0)
    return found


def label_shares(reading: Reading, counts: np.ndarray) -> list[LabelShare]:
    """Labels by how often each occurs (C,), the most frequent first; none in regression."""
    if reading.regression:
        return []
    order = [i for i in np.argsort(-counts, kind="stable") if counts[i]]
    return [
        LabelShare(reading.given(i), int(counts[i]), float(counts[i] / counts.sum())) for i in order
    ]


def _confused(reading: Reading, k: int, n: int) -> list[Confused]:
    """Nearest texts that prototype k owns and that have another label; none in regression."""
    survey, index = reading.survey, reading.index
    if survey is None or index is None or reading.regression:
        return []
    strange = (survey.owner == k) & (index.labels != reading.groups[k])
    found = np.flatnonzero(strange)
    order = found[np.argsort(survey.owner_distance[found], kind="stable")][:n]
    texts = reading.neighbours(order, survey.owner_distance[order])
    return [
        Confused(item, reading.given(survey.predicted[i]))
        for i, item in zip(order, texts, strict=True)
    ]


def _history(reading: Reading, k: int) -> list[Use]:
    """Mean importance in equal parts of the training, as the bank remembers it."""
    bank: Any = getattr(reading.head, "bank", None)
    if bank is None:
        return []
    parts, span, clock = len(bank.past_count), int(bank.span), int(reading.head.clock)
    born = 0 if reading.born is None else reading.born[k]
    counts, past = bank.past_count.tolist(), bank.past[:, reading.rows[k]].tolist()
    ends = [min(clock, -(-(part + 1) * span // parts)) for part in range(parts)]
    return [
        Use(end, total / count)
        for end, total, count in zip(ends, past, counts, strict=True)
        if count and end >= born
    ]
