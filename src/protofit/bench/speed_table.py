"""How fast the grid runs: trainings a minute, and where the time of a fleet goes.

From `grid.jsonl` (benchmarks/grid.py) and `fleet_profile*.json` (benchmarks/fleet_profile.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from protofit.bench.markdown import MISSING, NOT_YET, grid
from protofit.bench.record_file import reading


def speed_tables(folder: Path) -> str:
    """What the records say of pace and profile; or that there are none."""
    parts = []
    runs = folder / "grid.jsonl"
    if runs.is_file():
        with reading(runs, "speed", "benchmarks/grid.py"):
            lines = runs.read_text(encoding="utf-8").splitlines()
            parts.append(_pace([json.loads(line) for line in lines]))
    for file in sorted(folder.glob("fleet_profile*.json")):
        with reading(file, "speed", "benchmarks/fleet_profile.py"):
            parts.append(_profile(json.loads(file.read_text(encoding="utf-8"))))
    return "\n".join(parts) or NOT_YET


def _pace(lines: list[Mapping[str, Any]]) -> str:
    """A row per spec and device, its calls added up; of processes that share it, their part."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line in lines:
        found.setdefault((str(line["spec"]), str(line["device"])), []).append(line)
    rows = []
    for (spec, device), own in found.items():
        runs = sum(int(line["runs"]) for line in own)
        minutes = sum(float(line["seconds"]) / int(line.get("beside", 1)) for line in own) / 60
        rows.append([spec, device, f"{runs:,}", f"{minutes:.1f}", f"{runs / minutes:.0f}",
                     _mean(own, "busy_share", 100), _mean(own, "watts")])  # fmt: skip
    header = ["spec", "device", "trainings", "minutes", "per minute", "GPU busy, %", "watts"]
    return grid(header, rows, first_left=2)


def _mean(lines: list[Mapping[str, Any]], name: str, scale: float = 1.0) -> str:
    """Of the calls that were watched, by their samples."""
    seen = [line["gpu"] for line in lines if line.get("gpu")]
    samples = sum(int(gpu["samples"]) for gpu in seen)
    if not samples:
        return MISSING
    return f"{scale * sum(gpu['samples'] * float(gpu[name]) for gpu in seen) / samples:.0f}"


def _profile(content: Mapping[str, Any]) -> str:
    """A row per set and number of copies, and the kinds of kernels of the largest fleet of each."""
    rows, kinds = [], []
    sizes = {str(row["data"]): int(row["copies"]) for row in content["rows"]}
    for row in content["rows"]:
        parts = [f"{float(value):.1f}" for value in row["parts_ms"].values()]
        rows.append([
            str(row["data"]), str(row["copies"]), str(row["tokens_per_run"]),
            f"{float(row['step_ms']):.1f}", f"{float(row['step_ms_per_run']):.2f}", *parts,
            f"{100 * float(row['kernels']['busy_share']):.0f}", f"{100 * float(row['useful']):.0f}",
        ])  # fmt: skip
        if sizes[str(row["data"])] == row["copies"]:
            shares = row["kernels"]["by_kind"].items()
            listed = ", ".join(f"{kind} {100 * float(share):.0f} %" for kind, share in shares)
            kinds.append(f"- {row['data']}, {row['copies']} copies: {listed}")
    names = list(content["rows"][0]["parts_ms"]) if content["rows"] else []
    header = ["data", "copies", "tokens", "ms a step", "per run", *names, "busy, %", "useful, %"]
    head = (
        f"{content['device']}, {content['encoder']}: milliseconds of a step of so many runs side "
        f"by side with 32 texts each. *Busy*: share of the time in which a kernel ran. *Useful*: "
        f"the encoder's matrix products over the {float(content['matrix_teraflops']):,.0f} "
        f"teraflops of one large product."
    )
    table = grid(header, rows)
    return f"{head}\n\n{table}\nDevice time by kind of kernel:\n\n" + "\n".join(kinds) + "\n"
