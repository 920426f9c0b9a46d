"""What is not complete is marked, left out of every average, and never judged."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fake_records import record_of, spec_of

from protofit.bench.board import Board
from protofit.bench.boards import Boards, Experiment, gather
from protofit.bench.coverage import cells_tables, state_text
from protofit.bench.explain import judged, mean_optimism, places, pooled, settled_places, verdicts
from protofit.bench.headline import control_effect, headline
from protofit.bench.labels import QNLI, SST2
from protofit.bench.plot_data import curve_panels, prototype_panels
from protofit.bench.provenance import commands, versions_mixed
from protofit.bench.select import Cell
from protofit.bench.summary_tables import each_table
from protofit.bench.tables import arms_table, difference_table, paper_table
from protofit.bench.trial import Trial, trials_of


def some(keep: Callable[[Trial], bool], **changes: object) -> Boards:
    trials = list(trials_of(spec_of(**changes)))
    planned = tuple((Cell.of(trial.to_dict()), trial.rate, trial.seed) for trial in trials)
    records = tuple(record_of(trial) for trial in trials if keep(trial))
    return gather([Experiment(spec_of(**changes), planned, records)])


def there(trial: Trial) -> bool:
    """SST-2 whole, QNLI at 1000 without two seeds of IMP, MNLI not begun."""
    if trial.data == "mnli":
        return False
    return not (
        trial.data == "qnli" and trial.size == 1000 and trial.arm == "imp" and trial.seed > 2
    )


@pytest.fixture(scope="module")
def boards() -> Boards:
    return some(there)


@pytest.fixture(scope="module")
def board(boards: Boards) -> Board:
    found = boards.board("e5-small", "fair")
    assert found
    return found


def test_only_cells_with_all_seeds_are_judged(board: Board) -> None:
    assert judged(board, "pfit") == [(SST2, 100), (SST2, 1000), (QNLI, 100)]
    assert len(verdicts(board, "pfit")) == 3


def test_the_headline_says_of_how_many_cells_it_speaks(boards: Boards) -> None:
    text = headline(boards)
    assert text.count("in the 3 of 8 cells that can be judged") == 2
    assert text.count("points on average over 3 cells") == 2


def test_a_preset_that_was_not_run_is_said() -> None:
    found = some(lambda trial: trial.arm != "pfit-paper")
    assert "- **PFit, `paper` preset, fair protocol.** Not yet run." in headline(found)


def test_a_row_with_missing_seeds_has_no_best_method(board: Board) -> None:
    rows = {row.split(" | ")[0]: row for row in paper_table(board, (QNLI,), "pfit").splitlines()}
    assert rows["| 100"].count("**") == 2
    assert re.search(r"vs (IMP|ProtoNet|Raw)", rows["| 100"])
    assert "**" not in rows["| 1000"]
    assert "(3/5)" in rows["| 1000"]
    assert "| — <sub>(paper +1.1)</sub> |" in rows["| 1000"]


def test_rows_and_columns_without_figures_are_named_instead(board: Board) -> None:
    table = arms_table(board, ("raw", "pfit", "raw-snn"))
    assert "MNLI-m | " not in table
    assert "Not yet run: MNLI-m at 100 and 1000; MNLI-mm at 100 and 1000." in table
    none = some(lambda trial: trial.arm != "pfit").board("e5-small", "fair")
    assert none
    assert "| data | N | Raw |" in arms_table(none, ("raw", "pfit"))
    assert "Not yet run: PFit." in arms_table(none, ("raw", "pfit"))
    assert arms_table(none, ("raw", "pfit"), ["pfit"]) == "Not yet run.\n"


def test_a_difference_over_some_seeds_is_marked(board: Board) -> None:
    table = difference_table(board, (("pfit", "raw"), ("pfit", "imp")))
    row = next(line for line in table.splitlines() if line.startswith("| QNLI | 1000 |"))
    assert row.endswith("(3/5) |")
    assert row.count("/5)") == 1
    assert "MNLI" not in table


def test_averages_leave_incomplete_cells_out(boards: Boards, board: Board) -> None:
    assert pooled((board, "pfit"), (board, "raw"), places(board)).where == (
        (SST2, 100), (SST2, 1000), (QNLI, 100), (QNLI, 1000),
    )  # fmt: skip
    whole = pooled((board, "pfit"), (board, "imp"), places(board))
    assert (QNLI, 1000) not in whole.where
    text = control_effect(boards, "pfit", "imp")
    counts = [int(found) for found in re.findall(r"(\d+) (?:win|tie|loss)", text)]
    assert "over 3 cells" in text
    assert sum(counts) == 3
    row = next(
        line for line in each_table(board, ("pfit",), ("imp",)).splitlines() if "IMP" in line
    )
    assert sum(map(int, re.findall(r"(\d+) / (\d+) / (\d+)", row)[0])) == 3


def test_optimism_compares_methods_on_the_same_cells(board: Board) -> None:
    where = settled_places(board, places(board), ("raw", "imp", "pfit"))
    assert (QNLI, 1000) not in where
    assert mean_optimism(board, where, ("pfit",)) is not None


def test_curves_have_whole_points_only(board: Board) -> None:
    panels = {panel.title: panel for panel in curve_panels(board)}
    assert set(panels) == {"SST-2", "QNLI"}
    assert {line.x for line in panels["QNLI"].lines} == {(100.0,)}
    assert {line.x for line in panels["SST-2"].lines} == {(100.0, 1000.0)}
    few = some(lambda trial: trial.seed < 4).board("e5-small", "fair")
    assert few
    assert prototype_panels(few) == []
    assert prototype_panels(board)


def test_the_state_is_said_first(boards: Boards) -> None:
    text = state_text(boards)
    done = sum(there(trial) for trial in trials_of(spec_of()))
    assert f"{done} of 225 planned trainings" in text
    assert "Of the 8 cells" in text
    assert (
        "3 have all seeds of every baseline and of both presets, 1 have some, 4 have none" in text
    )
    assert state_text(some(lambda _: True)).startswith("All 225 planned trainings are done.")


def test_exactly_the_finished_seeds_are_listed(boards: Boards) -> None:
    table = cells_tables(boards)
    row = next(line for line in table.splitlines() if line.startswith("| qnli | 1000 |"))
    assert row.count("5/5") == 4
    assert row.count("3/5") == 1
    assert "Cells without any: mnli at 100 and mnli at 1000." in table


def test_code_versions_and_commands_are_named(boards: Boards) -> None:
    assert versions_mixed(boards) == "All come from version `fakefakefake` of the code."
    assert "protofit bench run benchmarks/specs/fake-fair.toml --data-dir DATA" in commands(boards)
