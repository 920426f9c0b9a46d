from __future__ import annotations

import re

import pytest
from fake_records import failed_record, record_of, spec_of

from protofit.bench.board import compare_cell, difference
from protofit.bench.boards import Experiment, gather
from protofit.bench.coverage import coverage_table
from protofit.bench.explain import optimism, places, pooled, ranked, tally, verdicts
from protofit.bench.labels import MNLI_M, MNLI_MM, QNLI, SST2, STSB, pair_name
from protofit.bench.markdown import plain, signed
from protofit.bench.paper_facts import misprints, paper_says
from protofit.bench.paper_tables import ARMS, MEANS, SDS, SIZES, best_baseline, gain, printed
from protofit.bench.regression_table import regression_table
from protofit.bench.select import Cell
from protofit.bench.summary_tables import (
    optimism_table,
    outcome_table,
    rank_table,
    steps_table,
)
from protofit.bench.tables import arms_table, difference_table, paper_table, score_text
from protofit.bench.trial import trials_of
from protofit.errors import InputError


def experiment(spec, keep=lambda trial: True, change=lambda record: record):
    trials = list(trials_of(spec))
    planned = tuple((Cell.of(trial.to_dict()), trial.rate, trial.seed) for trial in trials)
    records = tuple(change(record_of(trial)) for trial in trials if keep(trial))
    return Experiment(spec, planned, records)


@pytest.fixture(scope="module")
def boards():
    return gather([experiment(spec_of()), experiment(spec_of(name="p", protocol="paper"))])


@pytest.fixture(scope="module")
def board(boards):
    return boards.board("e5-small", "fair")


def test_figures_are_percent_of_the_chosen_runs(board):
    values = board.values(SST2, 100, "raw")
    wanted = {"data": "sst2", "size": 100, "arm": "raw", "seed": 3}
    run = next(r for r in board.records if r["trial"].items() >= wanted.items())
    assert values[3] == pytest.approx(100 * run["dev"]["validation"]["accuracy"])
    assert sorted(values) == [0, 1, 2, 3, 4]


def test_the_two_mnli_columns_share_their_runs(board):
    assert board.tasks == [MNLI_M, MNLI_MM, SST2, QNLI]
    assert board.values(MNLI_M, 100, "raw") != board.values(MNLI_MM, 100, "raw")


def test_a_seed_without_all_its_rates_has_no_figure():
    def keep(trial):
        return (trial.seed, trial.rate, trial.arm) != (2, 1e-4, "raw")

    board = gather([experiment(spec_of(), keep)]).board("e5-small", "fair")
    assert sorted(board.values(SST2, 1000, "raw")) == [0, 1, 3, 4]
    assert sorted(board.values(SST2, 100, "raw")) == [0, 1, 2, 3, 4]  # one fixed rate
    assert score_text(board.score(SST2, 1000, "raw")).endswith("(4/5)")


def test_runs_outside_the_plan_do_not_count():
    wide, narrow = spec_of(), spec_of(rates=[2e-5])
    found = gather([Experiment(narrow, experiment(narrow).planned, experiment(wide).records)])
    board = found.board("e5-small", "fair")
    assert {record["trial"]["rate"] for record in board.records} == {2e-5, 5e-5}
    assert board.values(SST2, 1000, "raw") == board.values(SST2, 1000, "raw", oracle=True)


def test_missing_and_failed_cells_are_said():
    def change(record):
        trial = record["trial"]
        if (trial["arm"], trial["size"]) != ("imp", 100):
            return record
        return {**record, "error": "the loss of step 3 is nan"}

    found = gather([experiment(spec_of(), lambda trial: trial.arm != "raw", change)])
    table = paper_table(found.board("e5-small", "fair"), (SST2,), "pfit")
    row = table.splitlines()[2].split("|")
    assert row[5].strip().startswith("failed")
    assert row[8].strip().startswith("—")
    assert coverage_table(found).splitlines()[2].endswith("| 30 | 6 | 225 | 45 | 15 |")


def test_the_paper_table(board):
    table = paper_table(board, (SST2, QNLI), "pfit")
    head, _, first = table.splitlines()[:3]
    assert head.startswith(
        "| **SST-2** | DP-Means | ProtoNet | ProSeNet | IMP | BSS | VIBERT | Raw"
    )
    assert head.endswith("| PFit − best baseline |")
    assert "(paper 78.7)" in first
    assert "(paper 64.7)" in first
    assert "(paper +3.8)" in first
    assert "| **QNLI** |" in table
    assert all(line.count("**") == 2 for line in table.splitlines() if line.startswith("| 1"))


def test_bold_is_the_best_mean_of_the_row(board):
    row = paper_table(board, (SST2,), "pfit").splitlines()[2]
    means = [float(found) for found in re.findall(r"(\d\d\.\d)\*{0,2} ± ", row)]
    assert float(re.search(r"\*\*([\d.]+)\*\*", row)[1]) == max(means)


def test_differences_are_paired_and_need_the_same_subset(board):
    mine, theirs = board.values(QNLI, 1000, "pfit"), board.values(QNLI, 1000, "raw")
    found = difference((board, "pfit"), (board, "raw"), QNLI, 1000)
    assert found == {seed: mine[seed] - theirs[seed] for seed in range(5)}

    def change(record):
        return record | ({"subset": "other"} if record["trial"]["arm"] == "pfit" else {})

    other = gather([experiment(spec_of(), change=change)]).board("e5-small", "fair")
    with pytest.raises(InputError, match="different subsets at seed 0"):
        compare_cell(other, QNLI, 1000, "pfit", "raw")


def test_verdicts_are_against_the_best_mean(board):
    for verdict in verdicts(board, "pfit"):
        means = [board.score(verdict.task, verdict.size, arm).mean
                 for arm in ("raw", "protonet", "imp")]  # fmt: skip
        assert board.score(verdict.task, verdict.size, verdict.baseline).mean == max(means)
    assert len(verdicts(board, "pfit")) == 8


def test_pooling_takes_the_seed_as_unit(board):
    found = pooled((board, "pfit"), (board, "raw"), places(board))
    by_hand = [
        sum(difference((board, "pfit"), (board, "raw"), *place)[seed] for place in places(board))
        / 8
        for seed in range(5)
    ]
    assert found.cells == 8
    assert found.comparison.mean == pytest.approx(sum(by_hand) / 5)
    assert found.comparison.bootstrap.high <= max(by_hand) + 1e-9


def test_optimism_is_never_negative_and_zero_with_one_rate(board):
    assert set(optimism(board, SST2, 100, "raw").values()) == {0.0}
    assert all(value >= 0 for place in places(board) for arm in board.arms
               for value in optimism(board, *place, arm).values())  # fmt: skip


def test_optimism_table_leaves_out_sizes_with_one_rate(boards):
    rows = optimism_table(boards, {"baselines": ("raw",)}).splitlines()[2:]
    assert [row.split(" | ")[2] for row in rows] == ["1000", "1000"]
    assert [row.split(" | ")[3] for row in rows] == ["4 of 4", "4 of 4"]


def test_other_tables_name_what_they_hold(boards, board):
    assert "| MNLI-m | 100 |" in arms_table(board, ["raw", "pfit"])
    assert "| data | N | PFit − Raw |" in difference_table(
        board, [("pfit", "raw"), ("pf-i", "raw")]
    )
    assert "| e5-small | fair | PFit | 8 of 8 |" in outcome_table(boards, ("pfit",))
    assert "| 100 | 20 | 300 |" in steps_table(boards.board("e5-small", "paper"), board, ["raw"])
    order, test = ranked(board, ["raw", "imp", "pfit"])
    assert order[0] == "pfit"
    assert f"critical difference (Nemenyi, 5 %) {test.critical:.2f}" in rank_table(
        board, ["raw", "imp", "pfit"]
    )


def test_sts_b(board):
    spec = spec_of(data=["stsb"], arms=["raw", "pfit"])
    table = regression_table(gather([experiment(spec)]).board("e5-small", "fair"))
    assert table.startswith("| N | × 100 | PFit | Raw | PFit − Raw |")
    assert [line.split(" | ")[1] for line in table.splitlines()[2:4]] == ["Pearson", "Spearman"]
    assert STSB not in board.tasks


def test_versions_are_not_mixed_silently():
    later = {"code": "laterlater12"}
    parts = [experiment(spec_of(arms=["raw"])),
             experiment(spec_of(arms=["pfit"]), change=lambda record: record | later)]  # fmt: skip
    with pytest.raises(InputError, match="2 versions of the code"):
        gather(parts)
    one = gather(parts, code="laterlater12").board("e5-small", "fair")
    assert (one.values(SST2, 100, "raw"), len(one.values(SST2, 100, "pfit"))) == ({}, 5)
    both = gather(parts, mix=True).board("e5-small", "fair")
    assert len(both.values(SST2, 100, "raw")) == len(both.values(SST2, 100, "pfit")) == 5


def test_tallies():
    assert tally(["win", "tie", "win", "loss"]) == (2, 1, 1)


def test_signs():
    assert (signed(1.26), signed(-0.44), signed(-0.04), plain(-1.0)) == (
        "+1.3",
        "−0.4",
        "0.0",
        "−1.0",
    )
    assert pair_name("pfit", "raw-snn") == "PFit − (Raw + SNN)"


def test_the_papers_figures():
    assert all(len(table[task]) == len(SIZES) for table in (MEANS, SDS) for task in MEANS)
    assert all(
        len(row) == len(ARMS) for table in (MEANS, SDS) for rows in table.values() for row in rows
    )
    assert printed("SST-2", 100, "pfit").mean == 78.7
    assert printed("QNLI", 1000, "protonet").mean == 80.2
    assert printed("MNLI-m", 500, "bss").sd == 0.5
    assert printed("STS-B", 100, "raw") is None
    assert printed("SST-2", 300, "raw") is None


def test_the_audit_of_the_papers_figures():
    assert best_baseline("SST-2", 1000) == ("raw", 86.0)
    assert best_baseline("QNLI", 1000) == ("protonet", 80.2)
    assert gain("MNLI-mm", 500) == 5.4
    assert [(task, size) for task, size, _, _ in misprints()] == [
        ("MNLI-mm", 100), ("SST-2", 1000), ("QNLI", 1000),
    ]  # fmt: skip
    assert "best in 24 of 24 cells" in paper_says()
    assert "+1.1 in the median; 7 cells gain 2 points" in paper_says()


def test_a_failed_record_takes_part():
    spec = spec_of(sizes=[100], arms=["raw"], data=["sst2"])
    part = experiment(spec)
    trials = list(trials_of(spec))
    records = (failed_record(trials[0]), *part.records[1:])
    board = gather([Experiment(spec, part.planned, records)]).board("e5-small", "fair")
    score = board.score(SST2, 100, "raw")
    assert (score.seeds, score.failed, score.complete) == (4, 1, True)
