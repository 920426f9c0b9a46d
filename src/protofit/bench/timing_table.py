"""Table 3: time per epoch, from `table3*.json` beside the folder of the runs' records.

Each file is {"encoder", "device", "batch_size", "rows": [{"arm", "size", "seconds",
"extrapolated"}, …]}, seconds of one epoch over `size` examples, all arms on the same device.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from protofit.bench.labels import arm_name, in_order
from protofit.bench.markdown import MISSING, NOT_YET, grid
from protofit.bench.paper_tables import MINUTES
from protofit.bench.record_file import reading

REFERENCE = "raw"


def timing_table(records_dir: Path) -> str:
    """A row per size, a column per method, ratios to Raw; or a sentence that there is none."""
    folders = (records_dir, records_dir.parent)
    files = sorted(file for folder in folders for file in folder.glob("table3*.json"))
    parts = [_table(_read(file)) for file in files]
    return "\n".join([*parts, _papers_ratios()]) if parts else NOT_YET


def _read(file: Path) -> dict[str, Any]:
    with reading(file, "times per epoch", "benchmarks/table3.py"):
        content = json.loads(file.read_text(encoding="utf-8"))
        for row in content["rows"]:
            float(row["seconds"]), int(row["size"]), str(row["arm"])
    return dict(content)


def _table(content: Mapping[str, Any]) -> str:
    times = {(int(row["size"]), str(row["arm"])): row for row in content["rows"]}
    arms = in_order({arm for _, arm in times})
    others = [arm for arm in arms if arm != REFERENCE]
    paired = content.get("step_ratio_to_raw", {})
    header = ["N", *map(arm_name, arms), *(f"{arm_name(arm)} / Raw" for arm in others)]
    rows = []
    for size in sorted({size for size, _ in times}):
        own = [_seconds(times.get((size, arm))) for arm in arms]
        ratios = [
            _ratio(times.get((size, arm)), times.get((size, REFERENCE)), paired.get(arm))
            for arm in others
        ]
        rows.append([f"{size:,}", *own, *ratios])
    facts = ", ".join(
        str(content[name]) if name != "batch_size" else f"batches of {content[name]}"
        for name in ("encoder", "device", "batch_size")
        if name in content
    )
    marked = any(row.get("extrapolated") for row in times.values())
    note = " *e*: extrapolated from part of an epoch." if marked else ""
    table = grid(header, rows, first_left=0)
    return f"Seconds per epoch ({facts}).{note}\n\n{table}{_steps(content)}"


def _steps(content: Mapping[str, Any]) -> str:
    """Ratios of a single step, measured side by side, with their intervals."""
    ratios = content.get("step_ratio_to_raw", {})
    parts = [
        f"{arm_name(arm)} {float(ratios[arm]['median']):.3f} "
        f"[{float(ratios[arm]['interval95'][0]):.3f}, {float(ratios[arm]['interval95'][1]):.3f}]"
        for arm in in_order(set(ratios) - {REFERENCE})
    ]
    return f"\nA step over a step of Raw, 95 % interval: {', '.join(parts)}.\n" if parts else ""


def _seconds(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return MISSING
    return f"{float(row['seconds']):,.1f}{' *e*' if row.get('extrapolated') else ''}"


def _ratio(
    row: Mapping[str, Any] | None,
    reference: Mapping[str, Any] | None,
    paired: Mapping[str, Any] | None,
) -> str:
    """Of epochs; where both are multiples of steps, of the steps measured side by side."""
    if row is None or reference is None:
        return MISSING
    if paired and row.get("basis") == reference.get("basis") == "steps":
        return f"{float(paired['median']):.2f}"
    return f"{float(row['seconds']) / float(reference['seconds']):.2f}"


def _papers_ratios() -> str:
    raw = MINUTES[REFERENCE]
    parts = [
        f"{arm_name(arm)} / Raw "
        + ", ".join(f"{minutes[data] / raw[data]:.2f} on {data}" for data in raw)
        for arm, minutes in MINUTES.items()
        if arm != REFERENCE
    ]
    return f"The paper, minutes per epoch on the full training sets: {'; '.join(parts)}.\n"
