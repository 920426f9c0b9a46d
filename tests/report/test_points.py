"""The map in columns: every text once, its label, its neighbourhood, within its budget."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from helpers.glances import make_glance, make_values
from protofit.explain.results import MapPoint, Neighbour
from protofit.report.points import fitted, map_data

TEXTS = [f"text {i} about an order" for i in range(24)]
GLANCE = make_glance(TEXTS)


def test_columns_are_the_points() -> None:
    found = map_data(GLANCE, 10**6)
    columns = found["texts"]
    assert columns["text"] == TEXTS
    assert {len(column) for column in columns.values()} == {len(TEXTS)}
    for i, point in enumerate(GLANCE.map.points):
        assert (columns["x"][i], columns["y"][i]) == pytest.approx(point.position, abs=6e-4)
        assert found["classes"][columns["label"][i]] == point.label
        assert found["classes"][columns["predicted"][i]] == point.predicted


def test_the_frame_holds_everything_with_a_margin() -> None:
    found = map_data(GLANCE, 10**6)
    x0, x1, y0, y1 = found["frame"]
    for place in [*(p.position for p in GLANCE.map.points), *(c.position for c in GLANCE.cards)]:
        assert x0 < place[0] < x1
        assert y0 < place[1] < y1


def test_a_neighbourhood_holds_the_texts_a_prototype_is_most_important_for() -> None:
    for one in map_data(GLANCE, 10**6)["prototypes"]:
        mine = [i for i, p in enumerate(GLANCE.map.points) if p.prototype == one["row"]]
        assert sorted(one["members"]) == mine
        centre = next(c.position for c in GLANCE.cards if c.row == one["row"])
        away = [
            (GLANCE.map.points[i].position[0] - centre[0]) ** 2
            + (GLANCE.map.points[i].position[1] - centre[1]) ** 2
            for i in one["members"]
        ]
        assert away == sorted(away)


def test_training_texts_within_tau_come_first_and_only_once() -> None:
    """On a map of training texts the card's own neighbourhood is known."""
    points = [replace(point, source="training", row=100 + i)
              for i, point in enumerate(GLANCE.map.points)]  # fmt: skip
    near = [Neighbour(0, 107, "billing", 0.1, None), Neighbour(1, 100, "billing", 0.2, None),
            Neighbour(2, 999, "billing", 0.3, None)]  # fmt: skip
    cards = [replace(GLANCE.cards[0], neighbourhood=near), *GLANCE.cards[1:]]
    glance = replace(GLANCE, map=replace(GLANCE.map, points=points), cards=cards)
    members = map_data(glance, 10**6)["prototypes"][0]["members"]
    assert members[:2] == [7, 0]
    assert len(members) == len(set(members))


def test_texts_that_edits_added_are_told_apart_by_their_words() -> None:
    """They have no row in a table: all of them are in row −1."""
    points = [replace(point, source="training", row=-1) for point in GLANCE.map.points]
    near = [Neighbour(i, -1, "billing", 0.1, points[i].text) for i in (2, 4, 6)]
    cards = [replace(GLANCE.cards[0], neighbourhood=near), *GLANCE.cards[1:]]
    glance = replace(GLANCE, map=replace(GLANCE.map, points=points), cards=cards)
    members = map_data(glance, 10**6)["prototypes"][0]["members"]
    assert members[:3] == [2, 4, 6]
    assert len(members) == len(set(members))


def test_of_names_that_would_lie_over_each_other_one_stands_on_the_map() -> None:
    places = [(0.0, 0.0), (0.2, 0.0), (50.0, 50.0), (0.0, 50.0), (50.0, 0.0), (0.0, 25.0)]
    cards = [
        replace(card, position=place) for card, place in zip(GLANCE.cards, places, strict=True)
    ]
    found = map_data(replace(GLANCE, cards=cards), 10**6)["prototypes"]
    assert [one["room"] for one in found] == [False, True, True, True, True, True]  # by support


def test_points_without_a_label_have_none_and_values_stay_values() -> None:
    bare = [replace(point, label=None) for point in GLANCE.map.points]
    found = map_data(replace(GLANCE, map=replace(GLANCE.map, points=bare)), 10**6)
    assert found["texts"]["label"] == [None] * len(TEXTS)
    values = map_data(make_values(TEXTS), 10**6)
    assert values["classes"] == []
    assert values["texts"]["label"][:3] == [0.0, 1.0, 2.0]


def test_classes_that_are_numbers_or_truths_are_told_apart() -> None:
    """0 and False are equal keys, but a model has classes of one type."""
    found = map_data(make_glance(TEXTS, classes=(False, True)), 10**6)
    assert found["classes"] == ["False", "True"]
    assert set(found["texts"]["label"]) == {0, 1}


@pytest.mark.parametrize("budget", [60_000, 20_000, 5_000])
def test_texts_are_cut_alike_until_they_fit(budget: int) -> None:
    texts = [f"word{i} " * 100 for i in range(50)]
    cut = fitted(texts, budget)
    assert sum(len(json.dumps(text, ensure_ascii=False).encode()) for text in cut) <= budget
    for text, whole in zip(cut, texts, strict=True):
        assert text is not None
        assert whole.startswith(text.removesuffix("…"))


def test_texts_that_were_not_kept_stay_away() -> None:
    assert fitted([None, None], 1_000) == [None, None]


def test_a_map_of_nothing() -> None:
    empty = replace(GLANCE, cards=[], map=replace(GLANCE.map, points=[]))
    found = map_data(empty, 1_000)
    assert found["prototypes"] == []
    assert found["frame"][0] < found["frame"][1]


def test_one_point_alone_has_a_frame() -> None:
    point = MapPoint((2.0, 3.0), 0, "billing", "billing", 0, "a", "data")
    alone = replace(GLANCE, cards=[], map=replace(GLANCE.map, points=[point]))
    assert map_data(alone, 1_000)["frame"] == [1.0, 3.0, 2.0, 4.0]
