"""Whether methods that can grow did: prototypes created and pruned over all trainings."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from protofit.bench.board import Board
from protofit.bench.labels import arm_name, in_order
from protofit.bench.markdown import NOT_YET, grid, listed


def growth_table(board: Board) -> str:
    """A row per method that counts its prototypes; a sentence on those that never made one."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for record in board.records:
        if record.get("K"):
            found.setdefault(str(record["trial"]["arm"]), []).append(record)
    if not found:
        return NOT_YET
    rows = [_row(arm, found[arm]) for arm in in_order(set(found))]
    header = ["", "trainings", "created in", "pruned in", "most created", "K at the end, median",
              "largest"]  # fmt: skip
    idle = [arm for arm in in_order(set(found)) if not any(map(_created, found[arm]))]
    said = (
        f"\n{listed([arm_name(arm) for arm in idle])} never created one on this encoder: these "
        f"figures are those of one prototype per class.\n"
    )
    return f"{grid(header, rows)}{said if idle else ''}"


def _row(arm: str, records: list[Mapping[str, Any]]) -> list[str]:
    made = [_created(record) for record in records]
    pruned = sum(bool(record.get("pruned")) for record in records)
    last = [int(record["K"][-1][1]) for record in records]
    return [
        arm_name(arm), f"{len(records):,}", f"{sum(map(bool, made)):,}", f"{pruned:,}",
        str(max(made)), f"{median(last):g}", str(max(last)),
    ]  # fmt: skip


def _created(record: Mapping[str, Any]) -> int:
    return int(record.get("created") or 0)
