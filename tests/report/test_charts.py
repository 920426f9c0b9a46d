"""Charts: each specification compiles, and says what the figures say."""

from __future__ import annotations

from typing import Any

import pytest

from protofit.report import charts
from protofit.report.library import compiled

NAMES = ["billing", "returns", "account"]
MANY = [f"class {i}" for i in range(77)]
MATRIX = [[8, 2, 0], [0, 5, 0], [0, 0, 0]]


def trace(*counts: int) -> list[dict[str, Any]]:
    """A row per step; births and deaths are the differences."""
    before = [counts[0], *counts]
    return [
        {"step": i, "prototypes": k, "born": max(0, k - before[i]), "died": max(0, before[i] - k),
         "loss": None}
        for i, k in enumerate(counts)
    ]  # fmt: skip


SPECS = {
    "confusion": charts.confusion(MATRIX, NAMES),
    "confusion of many": charts.confusion(
        [[int(i == j) for j in range(77)] for i in range(77)], MANY
    ),
    "confusion of odd names": charts.confusion([[1, 0], [0, 1]], ["it's", '"} + alert(1)']),
    "calibration": charts.calibration([{"confidence": 0.5, "accuracy": 0.4, "texts": 3}]),
    "scatter": charts.scatter([{"true": 1.0, "predicted": 2.0}]),
    "map": charts.prototype_map(3, None, True, ("first", "second")),
    "map of values": charts.prototype_map(0, (0.0, 5.0), False, ("first", "second")),
    "map of one value": charts.prototype_map(0, (2.0, 2.0), False, ("first", "second")),
    "growth": charts.growth(trace(3, 4, 4, 2)),
    "growth of one step": charts.growth(trace(3)),
    "births": charts.births(trace(3, 4, 4, 2)),
    "births of none": charts.births(trace(3, 3)),
    "importance": charts.importance(
        [{"step": -1, "importance": 0.1, "row": 3, "name": "a", "l": 0}]
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_it_compiles(name: str) -> None:
    assert compiled(SPECS[name])["marks"]


def test_a_specification_that_is_wrong_does_not_compile() -> None:
    """Else the test above could not fail."""
    with pytest.raises(ValueError, match="conversion failed"):
        compiled({**SPECS["growth"], "mark": {"style": "accent"}})


def test_a_cell_of_the_confusion_is_a_count_and_its_share_of_the_row() -> None:
    cells = {
        (cell["true"], cell["predicted"]): (cell["texts"], cell["share"])
        for cell in SPECS["confusion"]["data"]["values"]
    }
    assert len(cells) == 9
    assert cells["billing", "billing"] == (8, 0.8)
    assert cells["billing", "returns"] == (2, 0.2)
    assert cells["returns", "billing"] == (0, 0)
    assert cells["account", "account"] == (0, 0)  # a class without texts divides by nothing


def test_of_many_classes_empty_cells_are_left_out_and_every_class_keeps_its_place() -> None:
    spec = SPECS["confusion of many"]
    cells = spec["data"]["values"]
    assert [(cell["true"], cell["predicted"]) for cell in cells] == [
        (name, name) for name in MANY
    ]  # fmt: skip
    assert spec["encoding"]["x"]["scale"]["domain"] == MANY
    assert spec["encoding"]["y"]["scale"]["domain"] == MANY


def test_counts_stand_in_the_cells_only_where_there_is_room() -> None:
    assert [layer["mark"]["type"] for layer in SPECS["confusion"]["layer"]] == [
        "rect", "text", "text"
    ]  # fmt: skip
    assert [layer["mark"]["type"] for layer in SPECS["confusion of many"]["layer"]] == ["rect"]


def test_growth_keeps_every_change_and_both_ends() -> None:
    values = charts.growth(trace(3, 3, 3, 4, 4, 2, 2, 2))["data"]["values"]
    assert [(row["step"], row["K"]) for row in values] == [(0, 3), (3, 4), (5, 2), (7, 2)]


def test_growth_of_many_changes_is_thinned_to_the_ends() -> None:
    counts = [3 + i % 2 for i in range(5_000)]
    values = charts.growth(trace(*counts))["data"]["values"]
    assert len(values) <= charts.STEPS_SHOWN + 2
    assert (values[0]["step"], values[-1]["step"]) == (0, 4_999)


@pytest.mark.parametrize("steps", [5, 1_234])
def test_bars_of_births_and_deaths_lose_none(steps: int) -> None:
    counts = [3 + (i * 7) % 5 for i in range(steps)]
    rows = trace(*counts)
    values = charts.births(rows)["data"]["values"]
    for what, sign in (("born", 1), ("died", -1)):
        mine = [row for row in values if row["what"] == what]
        assert sum(row["count"] for row in mine) == sign * sum(row[what] for row in rows)
        assert all(row["prototypes"] == abs(row["count"]) > 0 for row in mine)
    assert len({row["from"] for row in values}) <= charts.BINS
    assert max(row["to"] for row in values) >= steps


def test_the_map_of_values_goes_from_least_to_greatest() -> None:
    colour = SPECS["map of values"]["layer"][0]["encoding"]["color"]
    assert colour["scale"]["domain"] == [0.0, 2.5, 5.0]
    assert colour["type"] == "quantitative"


def test_a_scatter_has_room_for_every_point_and_one_diagonal() -> None:
    spec = charts.scatter([{"true": 1.0, "predicted": 4.0}, {"true": -2.0, "predicted": 0.0}])
    assert spec["layer"][0]["data"]["values"] == [{"x": -2.0, "y": -2.0}, {"x": 4.0, "y": 4.0}]
    assert spec["layer"][1]["encoding"]["x"]["scale"]["domain"] == [-2.0, 4.0]
