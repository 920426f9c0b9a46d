"""Panels: which charts there are, and the words and tables beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.glances import make_card, make_glance, make_values
from protofit.explain.results import CalibrationBin, TraceRow, Use
from protofit.report import panels
from protofit.report.library import compiled

TEXTS = [f"text {i}" for i in range(12)]
GLANCE = make_glance(TEXTS)


def test_a_classifier_has_its_confusion_and_calibration() -> None:
    found = {panel.id: panel for panel in panels.quality(GLANCE)}
    assert list(found) == ["confusion", "calibration"]
    right = sum(row[i] for i, row in enumerate(GLANCE.confusion))
    total = sum(map(sum, GLANCE.confusion))
    assert f"{right} of {total} texts on the diagonal" in found["confusion"].alt
    assert found["confusion"].table == {
        "head": ["true \\ predicted", "billing", "returns", "account"],
        "rows": [[name, *row] for name, row in zip(GLANCE.classes, GLANCE.confusion, strict=True)],
    }
    rows = found["calibration"].spec["layer"][1]["data"]["values"]
    filled = [each for each in GLANCE.calibration if each.count]
    assert [(row["confidence"], row["accuracy"], row["texts"]) for row in rows] == [
        (each.confidence, each.accuracy, each.count) for each in filled
    ]
    assert found["calibration"].table is not None
    assert found["calibration"].table["rows"][0] == ["20 to 40 %", 10, "30.0 %", "20.0 %"]


def test_many_classes_have_no_table_of_thousands_of_cells() -> None:
    classes = tuple(f"class {i}" for i in range(40))
    glance = make_glance(TEXTS, classes=classes, prototypes=40)
    assert next(panels.quality(glance)).table is None


def test_a_regressor_has_a_scatter_alone() -> None:
    glance = make_values(TEXTS)
    found = list(panels.quality(glance))
    assert [panel.id for panel in found] == ["scatter"]
    values = found[0].spec["layer"][1]["data"]["values"]
    assert [(row["true"], row["predicted"]) for row in values] == [
        (pytest.approx(true), pytest.approx(guess, rel=1e-3)) for true, guess in glance.values
    ]


def test_growth_tells_from_where_to_where() -> None:
    found = {panel.id: panel for panel in panels.growth(GLANCE)}
    assert list(found) == ["growth", "births", "importance"]
    first, last = GLANCE.trace[0].prototypes, GLANCE.trace[-1].prototypes
    assert found["growth"].note.startswith(f"From {first} to {last}. Now 6: after the last step")
    edited = replace(GLANCE, summary={**GLANCE.summary, "edits": 1})
    assert next(panels.growth(edited)).note.endswith("Now 6, by edits after training.")
    same = replace(GLANCE, trace=[TraceRow(0, 6, 0, 0, None)])
    assert next(panels.growth(same)).note == "From 6 to 6."
    born, died = (sum(getattr(row, name) for row in GLANCE.trace) for name in ("born", "died"))
    assert found["births"].note.startswith(f"{born} born (up) and {died} died (down)")


def test_without_births_or_a_trace_there_is_nothing_to_draw() -> None:
    still = [TraceRow(step, 3, 0, 0, None) for step in range(3)]
    assert [panel.id for panel in panels.growth(replace(GLANCE, trace=still))][0:2] == [
        "growth", "importance"
    ]  # fmt: skip
    cards = [replace(card, history=[]) for card in GLANCE.cards]
    assert list(panels.growth(replace(GLANCE, trace=[], cards=cards))) == []


def test_lines_of_importance_end_at_the_last_step_and_are_those_of_the_strongest() -> None:
    cards = [
        replace(make_card(row, TEXTS, ("a", "b"), (0, 0)), history=[Use(5, 0.5), Use(9, row / 100)])
        for row in range(60)
    ]
    glance = replace(GLANCE, classes=["a", "b"], cards=cards)
    found = {panel.id: panel for panel in panels.growth(glance)}
    values = found["importance"].spec["data"]["values"]
    assert {row["row"] for row in values} == set(range(60 - panels.LINES, 60))
    assert {row["step"] for row in values} == {5, 9}
    assert {row["l"] for row in values} == {0, 1}


def test_where_importance_over_training_is_not_kept_the_page_says_so() -> None:
    assert "importance" not in panels.growth_lead(GLANCE)
    silent = replace(GLANCE, method="imp", cards=[replace(c, history=[]) for c in GLANCE.cards])
    assert "imp keeps no record of importance" in panels.growth_lead(silent)
    assert "importance" not in panels.growth_lead(replace(silent, has_index=False))


def test_a_spark_is_the_line_of_a_card_on_a_scale_that_all_share() -> None:
    found = panels.sparks(GLANCE)
    assert found is not None
    spec, lines = found
    assert set(lines) == {card.row for card in GLANCE.cards}
    for card in GLANCE.cards:
        assert [(point["step"], point["importance"]) for point in lines[card.row]] == [
            (use.step, use.importance) for use in card.history
        ]
    assert spec["encoding"]["y"]["scale"]["domain"] == [0, 0.2]
    assert spec["encoding"]["x"]["scale"]["domain"] == [0, 40]  # one born late begins late
    assert compiled(spec)["marks"]
    silent = [replace(card, history=[]) for card in GLANCE.cards]
    assert panels.sparks(replace(GLANCE, cards=silent)) is None


def test_the_map_tells_what_its_axes_hold_and_what_is_left_out() -> None:
    panel = panels.prototype_map(GLANCE)
    assert panel is not None
    assert "60.0 % of their variance" in panel.note
    assert panel.spec["encoding"]["x"]["axis"]["title"].startswith("first component (40 %")
    assert "not drawn" not in panel.note
    more = panels.prototype_map(replace(GLANCE, map=replace(GLANCE.map, total=1_012)))
    assert more is not None
    assert "1,000 more texts are not drawn" in more.note


def test_names_stand_on_the_map_while_there_is_room() -> None:
    few, many = (panels.prototype_map(make_glance(TEXTS, prototypes=n)) for n in (8, 9))
    assert few is not None
    assert many is not None
    named = [
        {each["name"]: each["value"] for each in panel.spec["params"]} for panel in (few, many)
    ]
    assert [each["names"] for each in named] == [True, False]


def test_a_map_without_texts_says_how_to_get_them_and_of_nothing_there_is_none() -> None:
    bare = replace(GLANCE, map=replace(GLANCE.map, points=[], shown=0, total=0))
    panel = panels.prototype_map(bare)
    assert panel is not None
    assert "Give a table of texts" in panel.note
    assert panels.prototype_map(replace(bare, cards=[])) is None


def test_every_panel_compiles_in_every_kind() -> None:
    kinds = [GLANCE, make_values(TEXTS), make_glance(TEXTS, classes=(False, True))]
    for glance in kinds:
        plot = panels.prototype_map(glance)
        assert plot is not None
        for panel in [*panels.quality(glance), *panels.growth(glance), plot]:
            assert compiled(panel.spec)["marks"], panel.id
            assert panel.title
            assert panel.alt


def test_bins_without_texts_are_no_points() -> None:
    empty = [CalibrationBin(0.0, 1.0, 0, None, None)]
    assert [panel.id for panel in panels.quality(replace(GLANCE, calibration=empty))] == [
        "confusion"
    ]
