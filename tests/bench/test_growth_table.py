"""The table of growth counts what the records say."""

from __future__ import annotations

from typing import Any

from protofit.bench.board import Board
from protofit.bench.growth_table import growth_table
from protofit.bench.markdown import NOT_YET
from protofit.bench.select import Cell


def record(arm: str, seed: int, **more: Any) -> dict[str, Any]:
    trial = {"data": "sst2", "size": 100, "arm": arm, "encoder": "e", "rate": 5e-5, "seed": seed,
             "protocol": "fair"}  # fmt: skip
    return {"key": f"{arm}{seed}", "code": "c", "trial": trial, "dev": {}, **more}


def board(records: list[dict[str, Any]]) -> Board:
    return Board("e", "fair", [(Cell.of(r["trial"]), 5e-5, r["trial"]["seed"]) for r in records],
                 records)  # fmt: skip


def test_growth_is_counted() -> None:
    pfit = [
        record("pfit", seed, K=[[1, 2], [300, last]], created=made, pruned=gone)
        for seed, (last, made, gone) in enumerate([(5, 4, 1), (2, 0, 0), (8, 6, 0)])
    ]
    still = [record("dpmeans", seed, K=[[300, 2]], created=0, pruned=0) for seed in (0, 1)]
    text = growth_table(board([*pfit, *still, record("raw", 0, K=None)]))
    assert "| PFit | 3 | 2 | 1 | 6 | 5 | 8 |" in text
    assert "| DP-Means | 2 | 0 | 0 | 0 | 2 | 2 |" in text
    assert "DP-Means never created one" in text
    assert "Raw" not in text
    assert "never" not in growth_table(board(pfit))


def test_without_records_it_says_so() -> None:
    assert growth_table(board([record("raw", 0, K=None)])) == NOT_YET
