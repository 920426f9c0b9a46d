"""The script that says where a fleet's time goes."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from helpers.places import ROOT
from protofit.bench.fleet.task import FleetTask
from protofit.bench.trial import Trial
from protofit.bench.workbench import Workbench


@pytest.fixture(scope="module")
def profile() -> dict[str, Any]:
    """What the script defines."""
    return runpy.run_path(str(ROOT / "benchmarks" / "fleet_profile.py"))


def test_a_row_per_set_and_number_of_copies(
    profile: dict[str, Any], dry_bench: Workbench, tmp_path: Path
) -> None:
    places, out = dry_bench.places, tmp_path / "profile.json"
    found = profile["main"](
        ["--data-dir", str(places.data_dir), "--weights-dir", str(places.weights_dir), "--encoder",
         "dry", "--sets", "topics", "--size", "100", "--copies", "1", "3", "--steps", "3",
         "--device", "cpu", "--out", str(out)]
    )  # fmt: skip
    assert json.loads(out.read_text()) == found
    assert [row["copies"] for row in found["rows"]] == [1, 3]
    for row in found["rows"]:
        assert sum(row["parts_ms"].values()) > 0
        assert row["step_ms"] == pytest.approx(row["copies"] * row["step_ms_per_run"], rel=0.01)
        assert 0 < row["useful"] < 1
        assert sum(row["kernels"]["by_kind"].values()) == pytest.approx(1, abs=0.01)
        assert row["tokens_per_run"] <= row["packed_length"]
        assert set(row["dev_s"]) == {"validation"}


def test_operations_are_those_of_the_layers(profile: dict[str, Any], dry_bench: Workbench) -> None:
    """Two layers of 32 numbers: four square matrices and two of 32 × 64 in each."""
    task = FleetTask([Trial("topics", 100, "raw", "dry", 1e-3, 0, "paper")], dry_bench)
    weights = 2 * (4 * 32 * 32 + 2 * 32 * 64)
    assert profile["operations"](task, tokens=10, copies=3) == 6 * weights * 10 * 3


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nvjet_hsh_128x256_64x4", "matrix products"),
        ("void cutlass::Kernel2<bf16_gemm>", "matrix products"),
        ("_adam", "adam"),
        ("_backward", "attention"),
        ("triton_per_fused_native_layer_norm_0", "norm and dropout"),
        ("elementwise_kernel", "other: heads, gathering, casts"),
    ],
)
def test_kernels_have_their_kind(profile: dict[str, Any], name: str, kind: str) -> None:
    assert profile["kind_of"](name) == kind
