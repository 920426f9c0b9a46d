"""`protofit info`: what a model holds, and every step of how it came about."""

from __future__ import annotations

import csv
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from helpers.command import Command, training
from protofit.cli.main import run

STEPS = 16
TRACED = {
    "step", "loss", "accuracy", "prototypes", "creation_sqdist", "variance", "created", "pruned",
}  # fmt: skip


@pytest.fixture(scope="module", params=["default", "paper"])
def traced(
    request: pytest.FixtureRequest,
    data: Path,
    tiny_bert: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A model of each preset."""
    out = tmp_path_factory.mktemp("traced") / "model"
    lively = ("--set", "head.scale.variance=0.1", "--set", "train.patience=50")
    more = lively if request.param == "paper" else ()
    arguments = training(data, tiny_bert, out, "--preset", str(request.param), *more, steps=STEPS)
    assert run(arguments) == 0
    return out


def test_trace_of_every_step(traced: Path, command: Command) -> None:
    """K, λ, σ, created and pruned: finite, counted from the start, and consistent."""
    result = command("info", traced, "--json")
    assert (result.code, result.err) == (0, "")
    trace = result.json()["trace"]
    assert [row["step"] for row in trace] == list(range(1, STEPS + 1))
    for row in trace:
        assert row.keys() >= TRACED
        assert all(math.isfinite(row[name]) for name in TRACED)
        assert row["variance"] > 0
        assert row["creation_sqdist"] > 0
        assert row["prototypes"] >= 2
    for before, after in pairwise(trace):
        assert after["created"] >= before["created"]
        assert after["pruned"] >= before["pruned"]
        grown = after["created"] - before["created"] - after["pruned"] + before["pruned"]
        assert after["prototypes"] - before["prototypes"] == grown


def test_trace_is_the_file(traced: Path, command: Command) -> None:
    """`trace.csv` holds the same numbers."""
    trace = command("info", traced, "--json").json()["trace"]
    with (traced / "trace.csv").open(newline="") as file:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    assert rows == trace


def test_prototypes_agree_with_the_trace(traced: Path, command: Command) -> None:
    """As many as the kept step had, each with its class, birth and outputs."""
    content = command("info", traced, "--json").json()
    prototypes, trace = content["prototypes"], content["trace"]
    kept = trace if content["record"]["slice_score"] else trace[-1:]
    assert len(prototypes) in {row["prototypes"] for row in kept}
    assert trace[-1]["created"] > 0
    assert {row["label"] for row in prototypes} == {"bad", "good"}
    assert len({row["row"] for row in prototypes}) == len(prototypes)
    names = content["classes"]
    for row in prototypes:
        assert 0 <= row["born"] <= STEPS
        own = names.index(row["label"])
        assert row["outputs"][own] >= 0 >= row["outputs"][1 - own]
    assert sum(row["born"] > 0 for row in prototypes) <= trace[-1]["created"]


def test_number_of_prototypes_is_that_of_the_model(
    data: Path, tiny_bert: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where early stopping keeps the first epoch, K is that of the first epoch."""
    from protofit.training.stopping import Stopping

    see = Stopping.see

    def first_only(self: Stopping, *arguments: Any) -> None:
        if self.best is None:
            see(self, *arguments)

    monkeypatch.setattr(Stopping, "see", first_only)
    lively = ("--preset", "paper", "--set", "head.scale.variance=0.1")
    result = command(*training(data, tiny_bert, tmp_path / "model", *lively, "--json", steps=STEPS))
    content = command("info", tmp_path / "model", "--json").json()
    count = len(content["prototypes"])
    assert content["trace"][-1]["prototypes"] > count
    assert content["K"] == result.json()["K"] == count
    last = content["trace"][-1]
    assert [result.json()[name] for name in ("created", "pruned")] == [
        last[name] for name in ("created", "pruned")
    ]
    assert f"{count} ({last['created']:.0f} created, " in command("info", tmp_path / "model").out


def test_record_and_settings(traced: Path, data: Path, command: Command) -> None:
    """What determined the run, and what differs from its preset."""
    content = command("info", traced, "--json").json()
    own = {
        "default": {"train.min_steps": 0},
        "paper": {"head.scale.variance": 0.1, "train.patience": 50},
    }
    common = {"train.batch_size": 8, "train.max_steps": STEPS}
    assert content["changed_settings"] == common | own[content["settings"]["preset"]]
    assert content["settings"]["train"]["max_steps"] == STEPS
    assert content["record"]["columns"] == {"text": "text", "pair": None, "label": "label"}
    assert (content["task"], content["seed"], content["steps"]) == ("classification", 0, STEPS)


def test_text_for_people(traced: Path, command: Command) -> None:
    """No warning of a library comes with it, and no heading is broken over two lines."""
    result = command("info", traced)
    assert (result.code, result.err) == (0, "")
    lines = [line.strip() for line in result.out.splitlines()]
    assert "prototypes" in lines
    assert f"trace ({STEPS} steps; all in trace.csv)" in lines
    for name in ("bad", "good", "changed settings", "loss"):
        assert any(name in line for line in lines)


def test_regression(regressor: Path, command: Command) -> None:
    """Bins in place of classes, squared error in place of accuracy."""
    content = command("info", regressor, "--json").json()
    assert content["task"] == "regression"
    assert content["classes"] is None
    assert "squared_error" in content["trace"][-1]
    assert all(isinstance(row["label"], int) for row in content["prototypes"])
    result = command("info", regressor)
    assert (result.code, result.err) == (0, "")


def test_linear_head(data: Path, tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """A method without prototypes has a record and a trace all the same."""
    out = tmp_path / "model"
    assert command(*training(data, tiny_bert, out, "--method", "raw")).code == 0
    content = command("info", out, "--json").json()
    assert content["prototypes"] == []
    assert len(content["trace"]) == 4
    result = command("info", out)
    assert (result.code, result.err) == (0, "")
