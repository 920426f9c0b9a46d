"""Nearest rows of an index by exact search, in blocks: the distances of all pairs are never held.

Beside the index and the answer at most `BUDGET` bytes are used, whatever N and Q are. A matrix
product finds the candidates; those are measured again in float64 from the stored features, each
difference for itself. Ties go to the lower position, so equal rows and the size of the blocks
change nothing. For `MANY` queries to `LARGE` rows FAISS is used where it is installed: its exact
flat index holds all features again in float32 (about twice that while it grows), and its answers
are measured again in the same way. For fewer, building it takes longer than searching.
"""

from __future__ import annotations

import importlib.util
from typing import Any, Literal

import numpy as np

BUDGET = 128 << 20  # bytes
LARGE = 200_000  # rows
MANY = 300  # queries
QUERIES = 256  # queries at once
COPIES = 4  # arrays of the size of a block of distances that live at once
ROUNDING = 1e-12  # of the squared norms: more than a product of float64 is off by
EXTRA = 8  # FAISS: more candidates than asked for, because it rounds

Engine = Literal["auto", "blocked", "faiss"]
Found = tuple[np.ndarray, np.ndarray]  # positions (Q, n) and distances (Q, n), nearest first


def nearest(
    queries: np.ndarray,
    features: np.ndarray,
    count: int,
    *,
    engine: Engine = "auto",
    budget: int = BUDGET,
) -> Found:
    """The `count` nearest rows of (N, D) to each query (Q, D) by L2; fewer where N is less."""
    count = min(count, len(features))
    if count == 0 or len(queries) == 0:
        return np.zeros((len(queries), count), np.int64), np.zeros((len(queries), count))
    much = len(features) >= LARGE and len(queries) >= MANY
    if engine == "faiss" or (engine == "auto" and much and has_faiss()):
        return _by_faiss(queries, features, count, budget)
    found = [
        _blocked(queries[start : start + QUERIES].astype(np.float64), features, count, budget)
        for start in range(0, len(queries), QUERIES)
    ]
    return np.concatenate([p for p, _ in found]), np.concatenate([d for _, d in found])


def has_faiss() -> bool:
    """Whether FAISS is installed."""
    return importlib.util.find_spec("faiss") is not None


def block_rows(queries: int, dimension: int, budget: int) -> int:
    """Rows of the index looked at together: their float64 copy and all distances fit."""
    each = 8 * (2 * dimension + COPIES * queries)
    return max(1, budget // each)


def _blocked(queries: np.ndarray, features: np.ndarray, count: int, budget: int) -> Found:
    step = block_rows(len(queries), queries.shape[1], budget)
    positions = np.zeros((len(queries), 0), np.int64)
    squares = np.zeros((len(queries), 0))
    for start in range(0, len(features), step):
        block = features[start : start + step].astype(np.float64)
        here, found = _smallest(queries, block, min(count, len(block)), budget)
        positions = np.concatenate([positions, here + start], axis=1)
        squares = np.concatenate([squares, found], axis=1)
        best = np.argsort(squares, axis=1, kind="stable")[:, :count]
        positions = np.take_along_axis(positions, best, axis=1)
        squares = np.take_along_axis(squares, best, axis=1)
    return positions, np.sqrt(squares)


def squared(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Squared L2 distances in float64: (Q, D), (N, D) → (Q, N)."""
    product = left @ right.T
    product *= -2
    product += np.square(left).sum(axis=1)[:, None]
    product += np.square(right).sum(axis=1)[None, :]
    clipped: np.ndarray = np.maximum(product, 0, out=product)
    return clipped


def _smallest(queries: np.ndarray, block: np.ndarray, count: int, budget: int) -> Found:
    """Positions and squared distances of the nearest of a block, ties to the lower position."""
    rough = squared(queries, block)
    norms = np.square(queries).sum(axis=1) + np.square(block).sum(axis=1).max()
    limit = np.partition(rough, count - 1, axis=1)[:, count - 1] + ROUNDING * norms
    rows, columns = np.nonzero(rough <= limit[:, None])
    counts = np.bincount(rows, minlength=len(queries))
    rank = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    candidates = np.full((len(queries), int(counts.max())), -1)
    candidates[rows, rank] = columns
    return _best(queries, block, candidates, count, budget)


def _best(
    queries: np.ndarray, features: np.ndarray, candidates: np.ndarray, count: int, budget: int
) -> Found:
    """The nearest of the candidates (Q, m) of each query, given by ascending position; −1: none."""
    width = candidates.shape[1]
    step = max(1, budget // (64 * width * queries.shape[1]))
    squares = np.empty(candidates.shape)
    for start in range(0, len(queries), step):
        some = candidates[start : start + step]
        apart = features[some].astype(np.float64, copy=False)
        apart -= queries[start : start + step, None, :]
        squares[start : start + step] = np.square(apart, out=apart).sum(axis=2)
    squares[candidates < 0] = np.inf
    order = np.argsort(squares, axis=1, kind="stable")[:, :count]
    found = np.take_along_axis(candidates, order, axis=1)
    return found, np.take_along_axis(squares, order, axis=1)


def _by_faiss(queries: np.ndarray, features: np.ndarray, count: int, budget: int) -> Found:
    faiss: Any = importlib.import_module("faiss")
    index = faiss.IndexFlatL2(features.shape[1])
    for start in range(0, len(features), LARGE):
        index.add(np.ascontiguousarray(features[start : start + LARGE], dtype=np.float32))
    wanted = min(count + EXTRA, len(features))
    _, rough = index.search(np.ascontiguousarray(queries, dtype=np.float32), wanted)
    wide = queries.astype(np.float64)
    positions, squares = _best(wide, features, np.sort(rough, axis=1), count, budget)
    return positions, np.sqrt(squares)
