"""Step time of PFit over that of the linear head, from `head_overhead_bert_base*.json`.

The records are those of benchmarks/head_overhead.py: arms interleaved in one process, ratios of
medians with bootstrap intervals. `raw@again` is the linear head against itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from protofit.bench.markdown import NOT_YET, grid
from protofit.bench.record_file import reading

AGAIN = "raw@again"
CLOCKS = {"process_time": "processor time of all threads", "perf_counter": "wall clock"}


def overhead_table(folder: Path) -> str:
    """A table per record; or that there is none."""
    files = sorted(folder.glob("head_overhead_bert_base*.json"))
    return "\n".join(_table(_read(file)) for file in files) or NOT_YET


def _read(file: Path) -> dict[str, Any]:
    with reading(file, "step times", "benchmarks/head_overhead.py"):
        content = json.loads(file.read_text(encoding="utf-8"))
        for row in content["ratios"].values():
            float(row["ratio"]), float(row["interval95"][0]), float(row["interval95"][1])
        str(content["arguments"]["device"]), float(content["raw_milliseconds_per_step"])
    return dict(content)


def _table(content: Mapping[str, Any]) -> str:
    given = content["arguments"]
    rows = [[_name(arm), _figure(row)] for arm, row in content["ratios"].items()]
    head = (
        f"Device {given['device']}, {content['threads']} threads, "
        f"{content.get('encoder', given['encoder'])}, batches of 32 texts of {given['words']} "
        f"words, {given['rounds']} rounds; the linear head takes "
        f"{float(content['raw_milliseconds_per_step']):,.0f} ms a step "
        f"({CLOCKS.get(content['clock'], content['clock'])})."
    )
    return f"{head}\n\n{grid(['', 'step time / linear head'], rows)}"


def _name(arm: str) -> str:
    if arm == AGAIN:
        return "linear head again (noise)"
    preset, _, size = arm.removeprefix("pfit-").partition("@")
    return f"PFit, `{preset}` preset, K = {size}"


def _figure(row: Mapping[str, Any]) -> str:
    low, high = row["interval95"]
    return f"{float(row['ratio']):.3f} [{float(low):.3f}, {float(high):.3f}]"
