"""Bins of targets that act as classes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from protofit.prototypes.bins import TargetBins, quantile_edges


@given(
    st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=30),
    st.integers(2, 6),
)
def test_a_bin_stands_for_the_mean_of_its_targets(targets: list[float], count: int) -> None:
    bins = TargetBins(count).double()
    bins.fit(np.array(targets))
    edges = [*bins.edges.tolist(), math.inf]
    for b in range(count):
        low = -math.inf if b == 0 else edges[b - 1]
        own = [t for t in targets if low < t <= edges[b]]
        wanted = sum(own) / len(own) if own else 0.0
        assert math.isclose(bins.values[b].item(), wanted, rel_tol=1e-9, abs_tol=1e-12)


@given(
    st.lists(st.integers(0, 12), min_size=2, max_size=60),
    st.integers(2, 6),
)
def test_no_other_edges_divide_the_targets_more_evenly(targets: list[int], count: int) -> None:
    """An edge lies between two values, as near as ties allow to its share of the rows."""
    values = sorted(set(targets))
    edges = quantile_edges(np.array(targets, float), count)
    assert len(edges) == count - 1
    finite = edges[np.isfinite(edges)].tolist()
    middles = [(a + b) / 2 for a, b in pairwise(values)]
    assert finite == sorted(set(finite) & set(middles))
    if len(values) <= count:
        assert finite == middles
        return
    below = {edge: sum(t < edge for t in targets) / len(targets) for edge in middles}
    for part in range(1, count):
        nearest = min(abs(share - part / count) for share in below.values())
        assert math.isclose(min(abs(below[e] - part / count) for e in finite), nearest)


def test_the_expected_value_is_between_the_bins() -> None:
    bins = TargetBins(3)
    bins.fit(np.array([0.0, 0, 1, 1, 4, 4]))
    assert bins.groups(torch.tensor([-1.0, 0.9, 9])).tolist() == [0, 1, 2]
    log_prob = torch.tensor([[1.0, 0, 0], [0, 0.5, 0.5]]).log()
    assert bins.expected(log_prob).tolist() == [[0.0], [2.5]]
