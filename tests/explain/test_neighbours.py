"""Blocked search against brute force, with ties; the bound on memory; FAISS where it is."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.explain import neighbours
from protofit.explain.neighbours import block_rows, has_faiss, nearest, squared

MIB = 1 << 20


def brute(queries: np.ndarray, features: np.ndarray, count: int) -> tuple[list, list]:
    """Every distance by itself; sorted by distance, then position."""
    positions, distances = [], []
    for query in queries.astype(np.float64):
        away = [
            (float(np.sqrt(np.square(row - query).sum())), i)
            for i, row in enumerate(features.astype(np.float64))
        ]
        best = sorted(away)[:count]
        positions.append([i for _, i in best])
        distances.append([distance for distance, _ in best])
    return positions, distances


def drawn(seed: int, size: int, repeats: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Queries, and features that repeat a few rows: ties everywhere."""
    draw = np.random.default_rng(seed)
    few = draw.normal(size=(repeats, 24)).astype(dtype)
    features = few[draw.integers(0, repeats, size)]
    return np.concatenate([draw.normal(size=(4, 24)), few[:2].astype(np.float64)]), features


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 60),
    repeats=st.integers(2, 70),
    count=st.integers(1, 12),
    rows=st.integers(1, 40),
    half=st.booleans(),
)
def test_blocks_give_what_brute_force_gives(
    seed: int, size: int, repeats: int, count: int, rows: int, half: bool
) -> None:
    queries, features = drawn(seed, size, repeats, np.float16 if half else np.float32)
    budget = rows * 8 * (2 * 24 + neighbours.COPIES * len(queries))
    assert block_rows(len(queries), 24, budget) == rows
    found = nearest(queries, features, count, engine="blocked", budget=budget)
    positions, distances = brute(queries, features, count)
    assert found[0].tolist() == positions
    assert found[1].tolist() == distances


def test_many_queries_are_cut_into_blocks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, features = drawn(0, 50, 9, np.float16)
    wanted = nearest(queries, features, 5)
    monkeypatch.setattr(neighbours, "QUERIES", 2)
    found = nearest(queries, features, 5)
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[1], wanted[1])


def test_fewer_rows_than_asked_for_and_none() -> None:
    queries, features = drawn(1, 3, 9, np.float32)
    assert nearest(queries, features, 10)[0].shape == (6, 3)
    assert nearest(queries, features, 0)[0].shape == (6, 0)
    assert nearest(queries[:0], features, 2)[1].shape == (0, 2)
    assert nearest(queries, features[:0], 2)[0].shape == (6, 0)


def test_squared_distances_are_never_negative() -> None:
    rows = np.random.default_rng(0).normal(1e4, 1, (30, 8))
    away = squared(rows, rows)
    assert (away >= 0).all()
    assert np.abs(np.diag(away)).max() < 1e-4


@pytest.mark.parametrize("count", [10, 200])
def test_memory_stays_below_the_budget(count: int) -> None:
    draw = np.random.default_rng(0)
    features = draw.normal(size=(20_000, 64)).astype(np.float16)
    queries = features[:300].astype(np.float64)
    budget = 8 * MIB
    tracemalloc.start()
    try:
        nearest(queries, features, count, engine="blocked", budget=budget)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    answer = 2 * 2 * 8 * len(queries) * count  # twice: parts and the whole
    assert peak < budget + answer
    assert peak > budget / 10  # it was measured at all
    assert 8 * len(queries) * len(features) > 4 * budget  # all distances would not fit


@pytest.mark.skipif(not has_faiss(), reason="needs the package faiss-cpu, which is not installed")
def test_faiss_finds_the_same() -> None:
    draw = np.random.default_rng(0)
    features = draw.normal(size=(500, 24)).astype(np.float16)
    queries = draw.normal(size=(20, 24))
    found = nearest(queries, features, 7, engine="faiss")
    wanted = nearest(queries, features, 7, engine="blocked")
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[1], wanted[1])


@pytest.mark.parametrize(
    ("rows", "queries", "installed", "used"),
    [(99, 5, True, False), (100, 4, True, False), (100, 5, True, True), (100, 5, False, False)],
)
def test_faiss_is_for_many_queries_to_large_indexes_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, rows: int, queries: int, installed: bool, used: bool
) -> None:
    calls = []

    def note(queries: np.ndarray, *_: object) -> tuple[np.ndarray, np.ndarray]:
        calls.append(len(queries))
        return np.zeros((len(queries), 1), np.int64), np.zeros((len(queries), 1))

    monkeypatch.setattr(neighbours, "LARGE", 100)
    monkeypatch.setattr(neighbours, "MANY", 5)
    monkeypatch.setattr(neighbours, "has_faiss", lambda: installed)
    monkeypatch.setattr(neighbours, "_by_faiss", note)
    nearest(np.ones((queries, 3)), np.ones((rows, 3), np.float32), 1)
    assert bool(calls) == used
