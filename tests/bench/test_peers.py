"""Programs of others get the same subset and are measured like everybody else."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from protofit._version import __version__
from protofit.bench.peers import PeerEngine, _reason, why_not
from protofit.bench.trial import Trial
from protofit.bench.workbench import Places, Workbench
from protofit.errors import ProtoFitError

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
TRIAL = Trial("toys", 240, "hf-trainer", "bert", 1e-4, 0, "paper")
ORACLE = """
import json, sys
from pathlib import Path
folder = Path(sys.argv[1])
job = json.loads((folder / "job.json").read_text())
rows = {s: [json.loads(l) for l in open(folder / f"{s}.jsonl")] for s in ("train", *job["splits"])}
seen = {"job": job, "texts": {s: [r["texts"] for r in rows[s]] for s in rows}}
Path(KEEP).write_text(json.dumps(seen))
logits = {s: [[0.0 if c == r["label"] else -9.0 for c in range(job["classes"])] for r in rows[s]]
          for s in job["splits"]}
result = {"logits": logits, "steps": 7, "versions": {"theirs": "1"}}
(folder / "result.json").write_text(json.dumps(result))
"""


def program(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder


def test_a_program_gets_the_rows_of_the_other_arms(tmp_path: Path, places: Places) -> None:
    keep = tmp_path / "seen.json"
    program(tmp_path, "hf_trainer_run.py", ORACLE.replace("KEEP", repr(str(keep))))
    bench = Workbench(replace(places, peers_python=sys.executable, peers_dir=tmp_path))
    (record,) = PeerEngine().run([TRIAL], bench)
    labelled = bench.set("toys")
    rows = labelled.subset(240, 0)
    seen = json.loads(keep.read_text())
    given = [texts[0] for split in ("train", "slice") for texts in seen["texts"][split]]
    assert sorted(given) == sorted(labelled.train.inputs[row] for row in rows)
    assert len(seen["texts"]["slice"]) == 24
    assert seen["job"]["steps"] == 35
    assert record["subset"] == labelled.subset_hash(rows)
    assert record["dev"]["validation"]["accuracy"] == 1.0
    assert record["slice"]["accuracy"] == 1.0
    assert (record["steps"], record["engine"]) == (7, "peer")
    assert record["versions"] == {"protofit": __version__, "theirs": "1"}


def test_a_program_that_fails_is_told(tmp_path: Path, places: Places) -> None:
    program(tmp_path, "hf_trainer_run.py", "raise SystemExit('no such encoder')")
    bench = Workbench(replace(places, peers_python=sys.executable, peers_dir=tmp_path))
    with pytest.raises(ProtoFitError, match="the program failed.*no such encoder"):
        list(PeerEngine().run([TRIAL], bench))


@pytest.mark.parametrize(
    ("code", "said", "reason"),
    [
        (1, "ValueError: bad\n\r 10%| | 1/10 [00:01<00:09, 1.0s/it]\n", "ValueError: bad"),
        (-9, "\r 10%| | 1/10 [00:01<00:09, 1.0it/s]", "ended by signal 9"),
        (3, "", "exit code 3"),
    ],
)
def test_what_is_said_of_a_failure(code: int, said: str, reason: str) -> None:
    assert _reason(code, said) == reason


def test_why_a_peer_cannot_run(tmp_path: Path) -> None:
    there = Places(peers_dir=PEERS, peers_python=sys.executable)
    setfit = replace(TRIAL, arm="setfit")
    assert why_not(replace(TRIAL, arm="raw"), Places(), paired=True) is None
    assert why_not(setfit, there, paired=False) is None
    assert "single texts only" in (why_not(setfit, there, paired=True) or "")
    assert why_not(TRIAL, there, paired=True) is None
    assert "--peers-python" in (
        why_not(TRIAL, replace(there, peers_python=None), paired=True) or ""
    )
    assert "not beside" in (why_not(TRIAL, replace(there, peers_dir=tmp_path), paired=True) or "")


@pytest.mark.parametrize("data", ["toys", pytest.param("scores", marks=pytest.mark.slow)])
def test_the_stock_trainer_runs(places: Places, data: str) -> None:
    bench = Workbench(replace(places, peers_python=sys.executable, peers_dir=PEERS))
    (record,) = PeerEngine().run([replace(TRIAL, data=data, size=220)], bench)
    assert record["steps"] % 7 == 0
    assert 7 <= record["best_step"] <= record["steps"] <= 35
    figures = record["dev"]["validation"]
    if data == "toys":
        assert 0 <= figures["accuracy"] <= 1
        assert record["slice"]["n"] == 22
    else:
        assert np.isfinite(figures["mse"])


@pytest.mark.slow
def test_setfit_runs(places: Places) -> None:
    """In the environment of CONTRIBUTING.md, whose python PEERS_PYTHON names."""
    python = os.environ.get("PEERS_PYTHON")
    if not python:
        pytest.skip("PEERS_PYTHON names no python of an environment with setfit")
    bench = Workbench(replace(places, peers_python=python, peers_dir=PEERS))
    (record,) = PeerEngine().run([replace(TRIAL, arm="setfit", size=16)], bench)
    assert record["steps"] == 2 * 20 * 16 // 16
    assert record["subset"] == bench.set("toys").subset_hash(bench.set("toys").subset(16, 0))
    assert record["slice"] is None
    assert set(record["versions"]) >= {"setfit", "sentence-transformers", "torch"}
    assert 0 <= record["dev"]["validation"]["accuracy"] <= 1
