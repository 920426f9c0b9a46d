"""Texts whose neighbours have another label: where a label may be wrong, or a class is unclear.

Neighbours are found by the encoder as it was before training where texts and that encoder are at
hand: training moves a text with a wrong label among the texts of that label.
"""

from __future__ import annotations

import numpy as np

from protofit.explain.neighbours import nearest
from protofit.explain.reading import Reading, spread_rows
from protofit.explain.results import LabelError

NEIGHBOURS = 10  # looked at for each text
DOUBT = 0.5  # share of neighbours of another label above which a text is listed
MOST = 5_000  # texts questioned; without texts, neighbours come from the whole index


def label_errors(reading: Reading, most: int = 50) -> list[LabelError]:
    """Texts of the index that their neighbours contradict, the most doubtful first.

    In regression the doubt is the gap between a target and the mean of its neighbours, over the
    standard deviation of all targets; above 1 it is listed.
    """
    index, survey = reading.index, reading.survey
    if index is None or survey is None or len(index) < 3:
        return []
    before = reading.untrained
    asked = spread_rows(len(index), MOST if before is None else len(before))
    if before is None:
        positions, distances = _others(index.features[asked], index.features, asked)
    else:
        positions, distances = _others(before, before, np.arange(len(asked)))
        positions = asked[positions]
    labels, around = index.labels[asked], index.labels[positions]
    if reading.regression:
        spread = max(float(index.labels.std()), 1e-12)
        suggested = around.mean(axis=1)
        doubt, limit = np.abs(labels - suggested) / spread, 1.0
    else:
        doubt, limit = (around != labels[:, None]).mean(axis=1), DOUBT
        suggested = np.array([_majority(row) for row in around])
        doubt = np.where(suggested == labels, 0, doubt)
    sure = np.nan_to_num(survey.given[asked])
    order = np.lexsort((sure, -doubt))
    listed = [i for i in order[:most] if doubt[i] > limit]
    return [
        LabelError(
            row=int(index.rows[asked[i]]),
            text=index.text(int(asked[i])),
            label=reading.given(labels[i]),
            suggested=reading.given(suggested[i]),
            doubt=float(doubt[i]),
            probability=None if reading.regression else float(survey.given[asked[i]]),
            nearest=reading.neighbours(positions[i, :3], distances[i, :3]),
        )
        for i in listed
    ]


def _others(
    questions: np.ndarray, features: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Nearest rows of `features` to each question, without the row it is itself (`own`)."""
    count = min(NEIGHBOURS, len(features) - 1)
    positions, distances = nearest(questions, features, count + 1)
    same = positions == own[:, None]
    same[~same.any(axis=1), -1] = True  # duplicates may push a text off its own list
    shape = (len(own), count)
    return positions[~same].reshape(shape), distances[~same].reshape(shape)


def _majority(labels: np.ndarray) -> int:
    values, counts = np.unique(labels, return_counts=True)
    return int(values[counts.argmax()])
