"""What the template shows: figures, cards, and what is left to check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from helpers.glances import make_card, make_glance, make_values
from protofit.explain.results import LabelError, Overlap
from protofit.report import view

TEXTS = [f"text {i}" for i in range(12)]
GLANCE = make_glance(TEXTS)


def test_tiles_are_the_figures_that_were_measured() -> None:
    tiles = {each["name"]: each["value"] for each in view.overview(GLANCE)["tiles"]}
    assert tiles == {"Prototypes": 6, "Accuracy": "90.0 %", "Macro F1": "89.0 %",
                     "Log-loss": "0.31", "Calibration error": "4.0 %", "Texts": "12"}  # fmt: skip
    values = {each["name"] for each in view.overview(make_values(TEXTS))["tiles"]}
    assert values == {"Prototypes", "Mean squared error", "Spearman", "Texts"}


def test_a_class_row_has_its_prototypes_and_what_it_is_taken_for() -> None:
    rows = {row["name"]: row for row in view.overview(GLANCE)["class_rows"]}
    assert [row["prototypes"] for row in rows.values()] == [2, 2, 2]
    assert rows["billing"]["recall"] == 0.8
    assert rows["billing"]["taken_for"] == {"name": "returns", "count": 1}
    clean = replace(GLANCE, confusion=[[3, 0, 0], [0, 3, 0], [0, 0, 3]])
    assert view.overview(clean)["class_rows"][0]["taken_for"] is None


def test_it_is_said_where_the_figures_come_from() -> None:
    assert view.overview(GLANCE)["quality_lead"] == "Measured on the texts given."
    named = view.overview(GLANCE, "test.csv")
    assert named["quality_lead"] == "Measured on the texts of test.csv."
    assert named["lead"].endswith("The figures below come from the texts of test.csv.")
    training = view.overview(replace(GLANCE, measured_on="training"), "test.csv")
    assert "flatters" in training["quality_lead"]
    nothing = view.overview(replace(GLANCE, measured_on=None, metrics={}))
    assert not nothing["judged"]
    assert "not measured" in nothing["lead"]


def test_a_card_has_all_that_is_known_of_a_prototype() -> None:
    card = view.cards(GLANCE)["cards"][0]
    traits = dict(card["traits"])
    source = next(each for each in GLANCE.cards if each.row == card["row"])
    assert (card["name"], card["decoded"]) == (source.name, "a decoded text")
    assert traits["Support"] == f"{source.support} texts"
    assert traits["Age"] == f"{source.age} steps"
    assert traits["Polarity"] == "0.60"
    assert traits["Mean importance"] == "20.0 %"
    assert traits["Within τ = 3"] == "5 texts"
    assert [bar["share"] for bar in card["bars"]] == [0.8, 0.2]
    assert [near["text"] for near in card["nearest"]] == TEXTS[:6]
    assert card["confused"][0]["predicted"] == "billing"


def test_without_an_index_a_card_tells_what_the_head_alone_knows() -> None:
    bare = [
        replace(card, support=0, importance=None, nearest=[], tau=None, inside=0, labels=[],
                neighbourhood=[], confused=[])
        for card in GLANCE.cards
    ]  # fmt: skip
    found = view.cards(replace(GLANCE, has_index=False, has_texts=False, cards=bare))
    assert "train with --keep-index" in found["cards_lead"]
    card = found["cards"][0]
    assert {name for name, _ in card["traits"]} == {"Class", "Polarity", "Age"}
    assert card["bars_title"] == "What it says about the classes"
    assert card["bars"][0]["share"] == 0.8


def test_cards_of_many_prototypes_are_the_supported_ones_with_fewer_texts() -> None:
    cards = [make_card(row, TEXTS, ("a", "b"), (0, 0)) for row in range(400)]
    found = view.cards(replace(GLANCE, classes=["a", "b"], cards=cards))
    assert len(found["cards"]) == view.MAX_CARDS
    assert min(card["support"] for card in found["cards"]) == 10 * 101
    assert "100 with the least support are left out" in found["cards_lead"]
    assert len(found["cards"][0]["nearest"]) == 2
    assert len(found["names"]) == 400


def test_overlaps_are_pairs_that_touch_else_the_closest() -> None:
    def pair(relative: float, shared: float | None) -> Overlap:
        return Overlap((0, 1), ("a", "b"), ("billing", "returns"), 1.0, relative, shared)

    touching = [pair(0.5, None), pair(2.0, 0.5)]
    found = view.checks(replace(GLANCE, overlaps=[*touching, pair(2.0, 0.0)]))
    assert len(found["overlaps"]) == 2
    assert "can be merged" in found["overlaps_lead"]
    apart = view.checks(replace(GLANCE, overlaps=[pair(2.0, 0.0)] * 9))
    assert len(apart["overlaps"]) == view.CLOSEST
    assert apart["overlaps_lead"].startswith("No two prototypes overlap")


def test_what_is_missing_is_said_with_its_remedy() -> None:
    nothing = replace(GLANCE, has_index=False, label_errors=[], novel=[], overlaps=[],
                      map=replace(GLANCE.map, points=[]))  # fmt: skip
    found = view.checks(nothing)
    assert "--keep-index" in found["errors_missing"]
    assert "protofit report MODEL DATA" in found["novel_missing"]
    fitted, before = (
        view.checks(replace(GLANCE, label_errors=[], untrained=known)) for known in (False, True)
    )
    assert before["errors_missing"].startswith("No training text has neighbours that disagree")
    assert "has fitted wrong ones too" in fitted["errors_missing"]
    assert "fitted" not in before["errors_missing"]


def test_a_doubt_is_a_share_or_in_regression_a_number_of_spreads() -> None:
    assert view.checks(GLANCE)["errors"][0]["figure"] == "80.0 %"
    assert "has fitted wrong ones too" in view.checks(GLANCE)["errors_lead"]
    assert "before it was trained" in view.checks(replace(GLANCE, untrained=True))["errors_lead"]
    wrong = LabelError(0, "a", 1.0, 4.25, 1.5, None, [])
    values = view.checks(replace(make_values(TEXTS), label_errors=[wrong]))
    assert values["errors"][0]["figure"] == "1.5"
    assert values["errors"][0]["suggested"] == "4.25"
    assert "spreads of the targets" in values["errors_lead"]


def test_in_regression_a_card_says_a_value_and_has_no_bars() -> None:
    card: dict[str, Any] = view.cards(make_values(TEXTS))["cards"][0]
    assert card["bars"] == []
    assert card["traits"][0][0] == "Says"


def test_cards_stand_in_the_order_of_the_classes_or_of_the_values() -> None:
    numbers = view.cards(make_glance(TEXTS, classes=(900, 1234, 20)))["cards"]
    assert list(dict.fromkeys(card["label"] for card in numbers)) == ["900", "1234", "20"]
    glance = make_values(TEXTS)
    says = (10.0, -0.5, 9.0, 2.0, 1.0, 30.0)
    found = [replace(card, label=value) for card, value in zip(glance.cards, says, strict=True)]
    values = view.cards(replace(glance, cards=found))["cards"]
    assert [card["label"] for card in values] == ["-0.5", "1", "2", "9", "10", "30"]


def test_a_class_that_is_a_number_is_called_as_it_is() -> None:
    """Filters and colours find it by its name."""
    glance = make_glance(TEXTS, classes=(1234, 20_000, 7))
    names = {row["name"] for row in view.overview(glance)["class_rows"]}
    card: dict[str, Any] = view.cards(glance)["cards"][0]
    found = view.checks(glance)
    said = [card["label"], card["nearest"][0]["label"], found["errors"][0]["suggested"],
            found["novel"][0]["predicted"], *found["overlaps"][0]["labels"]]  # fmt: skip
    assert names.issuperset(said)
