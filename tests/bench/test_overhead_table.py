from __future__ import annotations

import json
from pathlib import Path

import pytest

from protofit.bench.markdown import NOT_YET
from protofit.bench.overhead_table import overhead_table
from protofit.errors import InputError

RECORD = {
    "clock": "process_time",
    "arguments": {"encoder": "x", "device": "cpu", "words": "24", "rounds": "9"},
    "encoder": "BERT-base shape, random weights",
    "raw_milliseconds_per_step": 2345.6,
    "threads": 2,
    "ratios": {
        "raw@again": {"ratio": 1.001, "interval95": [0.99, 1.01]},
        "pfit-default@64": {"ratio": 1.0123, "interval95": [1.004, 1.0204]},
    },
}


def test_ratios_are_printed_with_their_device_and_noise(tmp_path: Path) -> None:
    assert overhead_table(tmp_path) == NOT_YET
    (tmp_path / "head_overhead_bert_base_some.json").write_text(json.dumps(RECORD))
    text = overhead_table(tmp_path)
    assert "Device cpu, 2 threads, BERT-base shape, random weights" in text
    assert "2,346 ms a step (processor time of all threads)" in text
    assert "| linear head again (noise) | 1.001 [0.990, 1.010] |" in text
    assert "| PFit, `default` preset, K = 64 | 1.012 [1.004, 1.020] |" in text


def test_a_broken_record_is_said(tmp_path: Path) -> None:
    (tmp_path / "head_overhead_bert_base_some.json").write_text(
        json.dumps({**RECORD, "ratios": {"x": {}}})
    )
    with pytest.raises(InputError, match="no record of step times"):
        overhead_table(tmp_path)
