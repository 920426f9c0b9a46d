"""The model at a glance: the same figures as evaluation, and the same births as the trace."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explain.conftest import Opened
from helpers.opened import CLASSES, KINDS, METHODS, OTHERS, data_of, said
from helpers.quick import ROOMY, exactly, quick_classifier
from protofit.evaluation.metrics import classification_metrics, regression_metrics
from protofit.explain import glance as module
from protofit.explain.glance import trace_rows

HELD = OTHERS[0][18:], OTHERS[1][18:]


@pytest.mark.parametrize("method", METHODS)
def test_metrics_are_those_of_evaluation(opened: Opened, method: str) -> None:
    model = opened(method)
    found = model.glance(*HELD)
    truth = np.array([CLASSES.index(label) for label in HELD[1]])
    wanted = classification_metrics(np.log(said(model, HELD[0])), truth)
    confusion = wanted.pop("confusion")
    assert found.measured_on == "data"
    assert found.metrics == pytest.approx(wanted, abs=1e-6)
    assert found.confusion == confusion
    table = np.array(confusion)
    assert [one["count"] for one in found.per_class] == list(table.sum(axis=1))
    for c, one in enumerate(found.per_class):
        assert one["recall"] == table[c, c] / table[c].sum()
        column = table[:, c].sum()
        assert one["precision"] == (table[c, c] / column if column else None)


def test_metrics_of_a_regression(opened: Opened) -> None:
    model = opened("pfit", "numbers")
    truth = [float(i % 3) for i in range(len(HELD[0]))]
    found = model.glance(HELD[0], truth)
    values = said(model, HELD[0])[:, 0]
    assert found.metrics == pytest.approx(regression_metrics(values, np.array(truth)), abs=1e-5)
    assert (found.confusion, found.calibration, found.per_class) == ([], [], [])
    assert np.array(found.values) == pytest.approx(np.stack([truth, values], axis=1), abs=1e-5)


def test_calibration_bins_hold_every_text_and_give_the_ece(opened: Opened) -> None:
    model = opened()
    found = model.glance(*HELD)
    assert sum(one.count for one in found.calibration) == len(HELD[0])
    gaps = [
        one.count * abs(one.confidence - one.accuracy) for one in found.calibration if one.count
    ]
    assert sum(gaps) / len(HELD[0]) == pytest.approx(found.metrics["ece"], abs=1e-6)
    for one in found.calibration:
        if one.count:
            assert one.lower <= one.confidence <= one.upper
        else:
            assert one.confidence is one.accuracy is None


def test_births_and_deaths_are_those_of_the_trace(tiny_bert: Path) -> None:
    settings = {**ROOMY, **exactly(16), "head.prune.threshold": 0.5, "head.prune.grace": 2,
                "head.prune.window": 3}  # fmt: skip
    model = quick_classifier(tiny_bert, settings).fit(*OTHERS)
    trace = model.trace_
    assert trace[-1]["created"] > 0
    assert trace[-1]["pruned"] > 0
    for most in (300, 7):
        rows = trace_rows(trace, most)
        assert len(rows) == min(most, len(trace))
        assert sum(row.born for row in rows) == trace[-1]["created"]
        assert sum(row.died for row in rows) == trace[-1]["pruned"]
        for before, row in itertools.pairwise(rows):
            assert row.prototypes - before.prototypes == row.born - row.died
        assert rows[-1].prototypes == len(model.prototypes)
    assert [row.step for row in trace_rows(trace)] == [row["step"] for row in trace]
    assert trace_rows([{"step": 1.0, "loss": 0.1}]) == []


def test_rows_are_what_the_texts_are_called_by(opened: Opened) -> None:
    model = opened()
    labels = np.array([CLASSES.index(label) for label in HELD[1]])
    rows = [100 + 3 * i for i in range(len(labels))]
    found = module.glance(model.bundle_, HELD[0], labels, rows)
    assert [point.row for point in found.map.points] == rows
    plain = model.glance(*HELD)
    assert [one.row for one in found.novel] == [rows[one.row] for one in plain.novel]


def test_on_the_index_where_no_data_is_given(opened: Opened) -> None:
    model = opened()
    found = model.glance()
    assert found.measured_on == "training"
    assert [point.text for point in found.map.points] == list(model.bundle_.index.texts)
    labels = [CLASSES[i] for i in model.bundle_.index.labels]
    assert [point.label for point in found.map.points] == labels
    assert found.metrics["examples"] == len(labels)
    assert found.has_index
    assert found.has_texts


def test_without_labels_nothing_is_measured_and_without_an_index_there_are_cards(
    opened: Opened,
) -> None:
    model = opened()
    found = model.glance(HELD[0])
    assert (found.measured_on, found.metrics, found.calibration) == (None, {}, [])
    assert len(found.map.points) == len(HELD[0])
    assert all(point.label is None for point in found.map.points)
    model.bundle_.index = None
    bare = model.glance()
    assert (bare.map.points, bare.novel, bare.label_errors) == ([], [], [])
    assert len(bare.cards) == len(model.prototypes)
    assert not bare.has_index
    assert model.glance(*HELD).metrics["examples"] == len(HELD[0])


def test_the_map_is_the_plane_of_the_explanations(opened: Opened) -> None:
    model = opened()
    found = model.glance(*HELD)
    axes, centre = np.array(found.map.axes), np.array(found.map.centre)
    assert axes @ axes.T == pytest.approx(np.eye(2), abs=1e-9)
    one = model.explain(HELD[0][0])
    assert found.map.points[0].position == pytest.approx(one.position, abs=1e-6)
    assert (
        found.map.points[0].prototype
        == max(model.explain(HELD[0][0], top=None).evidence, key=lambda item: item.importance).row
    )
    for card in found.cards:
        vector = model.bundle_.model.head.bank.vectors[card.row].detach().numpy()
        assert card.position == pytest.approx(list((vector - centre) @ axes.T), abs=1e-5)


def test_novel_texts_are_the_farthest_first(opened: Opened) -> None:
    model = opened()
    found = model.glance(*HELD).novel
    away = {row: one.distance for row, one in enumerate(model.explain(HELD[0]))}
    wanted = sorted(away, key=lambda row: -away[row])[: module.NOVEL]
    assert [one.row for one in found] == wanted
    assert [one.distance for one in found] == pytest.approx([away[row] for row in wanted], abs=1e-5)


def test_overlaps_are_the_nearest_pairs(opened: Opened) -> None:
    model = opened()
    reading = module.Reading.of(model.bundle_)
    pairs = sorted(
        (float(np.linalg.norm(reading.vectors[a] - reading.vectors[b])), reading.rows[a],
         reading.rows[b])
        for a in range(len(reading.rows)) for b in range(a)
    )  # fmt: skip
    found = model.glance().overlaps
    assert [one.distance for one in found] == pytest.approx(
        [away for away, _, _ in pairs][: module.OVERLAPS]
    )
    assert {*found[0].rows} == {*pairs[0][1:]}
    cards = {card.row: {near.position for near in card.nearest} for card in model.interpret()}
    one, other = (cards[row] for row in found[0].rows)
    assert found[0].shared == len(one & other) / len(one | other)


@pytest.mark.parametrize(
    ("method", "kind"),
    [(method, kind) for method in ("pfit", "prosenet", "imp") for kind in KINDS],
)
def test_a_glance_is_strict_json(opened: Opened, method: str, kind: str) -> None:
    inputs: Any = data_of(kind)
    told = json.loads(json.dumps(opened(method, kind).glance(*inputs).to_dict(), allow_nan=False))
    assert told["method"] == method
    assert told["summary"]["K"] == len(told["cards"])
    assert told["summary"]["paired"] == (kind == "pairs")


def test_blocks_change_nothing(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = opened("imp").glance(*HELD)
    monkeypatch.setattr(module.Reading, "block", 4)
    found = opened("imp").glance(*HELD)
    assert found.metrics == pytest.approx(wanted.metrics, abs=1e-6)
    owners = [[point.prototype for point in one.map.points] for one in (found, wanted)]
    assert owners[0] == owners[1]
