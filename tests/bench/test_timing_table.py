from __future__ import annotations

import json

import pytest

from protofit.bench.markdown import NOT_YET
from protofit.bench.timing_table import timing_table
from protofit.errors import InputError

ROWS = [
    {"arm": "raw", "size": 1000, "seconds": 2.0},
    {"arm": "pfit", "size": 1000, "seconds": 2.03},
    {"arm": "raw", "size": 67349, "seconds": 130.0},
    {"arm": "imp-exact", "size": 67349, "seconds": 4000.0, "extrapolated": True},
]


def test_without_a_record_it_says_so(tmp_path):
    assert timing_table(tmp_path) == NOT_YET


def test_times_ratios_and_what_was_extrapolated(tmp_path):
    ratio = {"median": 1.012, "interval95": [1.004, 1.02]}
    content = {"encoder": "BERT-base", "device": "some GPU", "batch_size": 32, "rows": ROWS,
               "step_ratio_to_raw": {"raw": {}, "pfit": ratio}}  # fmt: skip
    (tmp_path / "table3.json").write_text(json.dumps(content))
    table = timing_table(tmp_path / "bench")
    assert "(BERT-base, some GPU, batches of 32)" in table
    assert "| 1,000 | 2.0 | 2.0 | — | 1.01 | — |" in table
    assert "| 67,349 | 130.0 | — | 4,000.0 *e* | — | 30.77 |" in table
    assert "A step over a step of Raw, 95 % interval: PFit 1.012 [1.004, 1.020]." in table
    assert "PFit (paper) / Raw 1.00 on SST-2, 1.04 on QNLI, 1.04 on MNLI" in table


@pytest.mark.parametrize(("basis", "shown"), [("steps", "1.01"), ("epoch", "1.10")])
def test_the_ratio_of_measured_steps_is_that_of_steps_side_by_side(tmp_path, basis, shown):
    rows = [
        {"arm": arm, "size": 1000, "seconds": seconds, "basis": basis}
        for arm, seconds in (("raw", 2.0), ("pfit", 2.2))
    ]
    paired = {"pfit": {"median": 1.012, "interval95": [1.004, 1.02]}}
    (tmp_path / "table3.json").write_text(json.dumps({"rows": rows, "step_ratio_to_raw": paired}))
    assert f"| 1,000 | 2.0 | 2.2 | {shown} |" in timing_table(tmp_path)


def test_another_file_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "table3.json").write_text('{"rows": [{"arm": "raw"}]}')
    with pytest.raises(InputError, match="no record of times per epoch"):
        timing_table(tmp_path)
