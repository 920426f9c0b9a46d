"""The map of the page: texts of the index on the two principal axes of the features."""

from __future__ import annotations

from protofit.explain.reading import Reading, spread_rows
from protofit.explain.results import MapPoint
from protofit.model.bundle import Bundle
from protofit.serve.answers import Atlas

TEXTS = 2_000  # dots that a picture can bear


def make_atlas(bundle: Bundle, *, prototypes: bool) -> Atlas:
    """At most `TEXTS` texts, evenly spread; none without an index or without prototypes."""
    if not prototypes:
        return Atlas([], (0.0, 0.0), 0, 0)
    reading = Reading.of(bundle)
    index, survey = reading.index, reading.survey
    if index is None or survey is None:
        return Atlas([], reading.plane.explained, 0, 0)
    picked = spread_rows(len(index), TEXTS)
    places = reading.plane.places(index.features[picked])
    points = [
        MapPoint(
            position=(float(x), float(y)),
            row=int(index.rows[i]),
            label=reading.given(index.labels[i]),
            predicted=reading.given(survey.predicted[i]),
            prototype=reading.rows[int(survey.owner[i])],
            text=index.text(int(i)),
            source="training",
        )
        for i, (x, y) in zip(picked, places, strict=True)
    ]
    return Atlas(points, reading.plane.explained, len(points), len(index))
