from __future__ import annotations

from dataclasses import replace

import pytest
from fake_records import CODE, failed_record, record_of

from protofit.bench.select import Cell, choose, one_version, select
from protofit.bench.trial import Trial
from protofit.errors import InputError

TRIAL = Trial("sst2", 1000, "raw", "e5-small", 2e-5, 0, "fair")
CELL = Cell.of(TRIAL.to_dict())
SPLIT = "validation"


def run(rate, accuracy, log_loss, dev, seed=0, **changes):
    trial = replace(TRIAL, rate=rate, seed=seed)
    held = {"n": 100, "accuracy": accuracy, "log_loss": log_loss}
    record = {**record_of(trial), "slice": held}
    return record | {"dev": {SPLIT: {"n": 872, "accuracy": dev}}} | changes


def test_the_slice_chooses_and_the_oracle_looks_at_dev():
    choice = choose([run(1e-5, 0.8, 0.5, 0.95), run(2e-5, 0.9, 0.5, 0.85)], CELL)
    assert choice.reported(SPLIT) == 0.85
    assert choice.oracle(SPLIT) == 0.95


def test_log_loss_decides_between_equal_accuracies_and_then_the_rate():
    lower = choose([run(1e-5, 0.9, 0.5, 0.1), run(2e-5, 0.9, 0.4, 0.2)], CELL)
    assert lower.reported(SPLIT) == 0.2
    equal = choose([run(2e-5, 0.9, 0.4, 0.2), run(1e-5, 0.9, 0.4, 0.1)], CELL)
    assert equal.reported(SPLIT) == 0.1


def test_the_order_of_the_records_does_not_matter():
    runs = [run(rate, 0.9, 0.4, rate * 1e4) for rate in (1e-5, 2e-5, 5e-5)]
    assert choose(runs, CELL).chosen == choose(runs[::-1], CELL).chosen


def test_a_failed_run_is_never_chosen_and_is_counted():
    failed = failed_record(replace(TRIAL, rate=1e-4))
    choice = choose([failed, run(2e-5, 0.1, 9.0, 0.5)], CELL)
    assert choice.reported(SPLIT) == 0.5
    assert len(choice.failures) == 1


def test_only_failed_runs_give_no_figure():
    choice = choose([failed_record(TRIAL)], CELL)
    assert choice.chosen is None
    assert choice.reported(SPLIT) is None
    assert choice.oracle(SPLIT) is None


def test_one_run_without_a_slice_is_the_choice_and_two_are_refused():
    alone = run(5e-5, 0, 0, 0.7) | {"slice": None}
    assert choose([alone], CELL).reported(SPLIT) == 0.7
    with pytest.raises(InputError, match="no slice to choose"):
        choose([alone, run(1e-5, 0.5, 0.5, 0.6)], CELL)


def test_regression_is_chosen_by_squared_error():
    def regression(rate, mse, pearson):
        figures = {"dev": {SPLIT: {"n": 9, "mse": mse, "pearson": pearson}}}
        return run(rate, 0, 0, 0) | {"slice": {"n": 9, "mse": mse}} | figures

    choice = choose([regression(1e-5, 1.0, 0.6), regression(2e-5, 0.5, 0.5)], CELL)
    assert choice.reported(SPLIT, "pearson") == 0.5
    assert choice.oracle(SPLIT, "pearson") == 0.6
    assert choice.oracle(SPLIT, "mse") == 0.5


def test_a_log_loss_that_is_not_a_number_loses():
    choice = choose([run(1e-5, 0.9, float("nan"), 0.1), run(2e-5, 0.9, 5.0, 0.2)], CELL)
    assert choice.reported(SPLIT) == 0.2


def test_seeds_and_cells_are_kept_apart():
    found = select([run(2e-5, 0.9, 0.4, 0.7), run(2e-5, 0.9, 0.4, 0.8, seed=1)])
    assert {seed: choice.reported(SPLIT) for seed, choice in found[CELL].items()} == {
        0: 0.7,
        1: 0.8,
    }


def test_the_first_of_repeated_keys_counts():
    found = select([run(2e-5, 0.9, 0.4, 0.7), run(2e-5, 0.9, 0.4, 0.8)])
    assert found[CELL][0].reported(SPLIT) == 0.7


def test_one_trial_with_two_code_versions_is_refused():
    later = run(2e-5, 0.9, 0.4, 0.8, code="laterlater12", key="0" * 16)
    with pytest.raises(InputError, match="two versions of the code"):
        select([run(2e-5, 0.9, 0.4, 0.7), later])


def test_one_trial_with_two_settings_is_refused():
    with pytest.raises(InputError, match="two settings"):
        select([run(2e-5, 0.9, 0.4, 0.7), run(2e-5, 0.9, 0.4, 0.8, key="0" * 16)])


def test_a_mixture_of_versions_needs_a_choice():
    mixed = [run(2e-5, 0.9, 0.4, 0.7), run(5e-5, 0.9, 0.4, 0.8, code="laterlater12")]
    with pytest.raises(InputError, match="1 of fakefakefake, 1 of laterlater12"):
        one_version(mixed, None, "here")
    assert one_version(mixed, CODE, "here") == mixed[:1]
    assert one_version(mixed[:1], None, "here") == mixed[:1]
