from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protofit.bench.stats import (
    Interval,
    bootstrap_interval,
    cliques,
    compare,
    mean_sd,
    rank_test,
    ranks,
    sign_counts,
    student_interval,
)
from reference import statistics as slow

FIVE = [0.3, -0.1, 1.2, 0.8, 0.05]
values = st.lists(st.floats(-20, 20).map(lambda x: round(x, 2)), min_size=2, max_size=5)


@given(values)
def test_the_bootstrap_is_that_over_all_resamples(data):
    found = bootstrap_interval(data)
    assert (found.mean, found.low, found.high) == pytest.approx(slow.bootstrap(data), abs=1e-9)


def test_many_values_are_resampled_with_a_seed():
    data = np.random.default_rng(3).normal(1, 2, 60)
    found = bootstrap_interval(data)
    assert found == bootstrap_interval(data)
    normal = 1.96 * data.std(ddof=1) / math.sqrt(60)
    assert found.high - found.low == pytest.approx(2 * normal, rel=0.1)


def test_drawn_and_enumerated_resamples_agree(monkeypatch):
    exact = bootstrap_interval(FIVE)
    monkeypatch.setattr("protofit.bench.stats.EXACT_UP_TO", 0)
    drawn = bootstrap_interval(FIVE)
    assert (drawn.low, drawn.high) == pytest.approx((exact.low, exact.high), abs=0.08)


@given(values, st.floats(-5, 5))
def test_an_interval_moves_with_its_values(data, shift):
    here, there = bootstrap_interval(data), bootstrap_interval([v + shift for v in data])
    assert there.low == pytest.approx(here.low + shift, abs=1e-9)
    assert there.high == pytest.approx(here.high + shift, abs=1e-9)


@given(values)
def test_an_interval_holds_its_mean_and_stays_within_the_values(data):
    found = bootstrap_interval(data)
    assert min(data) - 1e-9 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= max(data) + 1e-9


def test_student_interval():
    found = student_interval(FIVE)
    assert (found.mean, found.low, found.high) == pytest.approx(slow.student(FIVE))
    assert student_interval([1.0]) is None


def test_mean_and_deviation():
    assert mean_sd([1.0, 3.0]) == pytest.approx((2.0, math.sqrt(2)))
    assert mean_sd([4.0]) == (4.0, None)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.1, 1, "win"), (-1, -0.1, "loss"), (-0.1, 0.1, "tie"), (0.0, 1, "tie"), (-1, 0.0, "tie"),
     (3e-15, 1, "tie"), (-1, -3e-15, "tie")],
)  # fmt: skip
def test_a_tie_is_an_interval_with_zero(low, high, outcome):
    assert Interval(0.0, low, high).outcome == outcome


def test_five_equal_signs_are_a_win_by_bootstrap_but_need_not_be_by_t():
    found = compare([0.1, 0.1, 0.2, 0.1, 3.0])
    assert found.outcome == "win"
    assert found.student.outcome == "tie"
    assert found.signs == (5, 0, 0)


def test_sign_counts():
    assert sign_counts([0.5, 0.0, -1, 2]) == (2, 1, 1)


rows = st.integers(3, 6).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 6), min_size=k, max_size=k), min_size=2, max_size=9
    ).filter(lambda block: any(len(set(row)) > 1 for row in block))
)


@given(rows)
def test_ranks_and_friedman_agree_with_the_definition(block):
    scores = np.array(block, dtype=float)
    assert ranks(scores).tolist() == slow.rank_rows(block)
    found = rank_test(scores)
    assert found.statistic == pytest.approx(slow.friedman(block), abs=1e-9)
    assert found.average == pytest.approx(np.mean(slow.rank_rows(block), axis=0))


def test_equal_means_share_a_rank_whatever_the_order_of_their_sums():
    """Two arms of SST-2 at 200: 83.80736 both, summed over other seeds' figures."""
    first = np.mean([86.4679, 83.83030000000001, 84.1743, 80.61930000000001, 83.94500000000001])
    second = np.mean([84.289, 83.7156, 84.289, 83.94500000000001, 82.7982])
    assert first != second
    assert ranks(np.array([[first, 80.0, second]])).tolist() == [[1.5, 3.0, 1.5]]


def test_friedman_agrees_with_scipy():
    from scipy.stats import friedmanchisquare

    scores = np.random.default_rng(1).normal(size=(24, 5)).round(1)
    found, theirs = rank_test(scores), friedmanchisquare(*scores.T)
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(theirs.pvalue)


def test_rows_without_any_difference():
    found = rank_test(np.ones((4, 3)))
    assert (found.statistic, found.p_value, found.average) == (0.0, 1.0, (2.0, 2.0, 2.0))


@pytest.mark.parametrize("methods", slow.NEMENYI_Q)
def test_the_critical_difference_is_the_tabulated_one(methods):
    scores = np.random.default_rng(0).normal(size=(24, methods))
    expected = slow.NEMENYI_Q[methods] * math.sqrt(methods * (methods + 1) / (6 * 24))
    assert rank_test(scores).critical == pytest.approx(expected, abs=2e-3)


def test_cliques_are_the_longest_runs():
    assert cliques([1.0, 2.0, 2.5, 4.0, 4.1], 1.6) == [(0, 2), (2, 4)]
    assert cliques([1.0, 3.0, 5.0], 1.0) == []
    assert cliques([1.0, 1.5, 2.0], 5.0) == [(0, 2)]
