"""The script that runs all specs: in order, within its time, killed and run again."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from helpers.bench import write_spec
from helpers.places import ROOT
from protofit.bench.fleet.engine import Chunk
from protofit.bench.records import read_records
from protofit.bench.runner import Bench
from protofit.bench.workbench import Places, Workbench

SCRIPT = ROOT / "benchmarks" / "grid.py"
CHATTY = [sys.executable, "-c", "print('50, 1024, 300\\n100, 2048, 500\\nnonsense', flush=True)"]


@pytest.fixture(scope="module")
def grid() -> dict[str, Any]:
    """What the script defines."""
    return runpy.run_path(str(SCRIPT))


def specs(folder: Path, **changes: Any) -> Path:
    """Two specs with files of their own; returns their folder."""
    for name, arm in (("first", "raw"), ("second", "pfit")):
        write_spec(folder / "specs" / f"{name}.toml", name=name, arms=[arm],
                   records=f"{name}.jsonl", **changes)  # fmt: skip
    return folder / "specs"


def options(places: Places, folder: Path, *more: str) -> list[str]:
    return ["--data-dir", str(places.data_dir), "--weights-dir", str(places.weights_dir),
            "--device", "cpu", "--specs-dir", str(folder), "--specs", "second", "first",
            *more]  # fmt: skip


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_specs_in_order_each_once(
    grid: dict[str, Any], tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = options(places, specs(tmp_path, sizes=[12], seeds=[0, 1, 2, 3]), "--engine", "fleet")
    grid["main"]([*asked, "--plan"])
    assert "8 left" in capsys.readouterr().out
    grid["main"](asked)
    told = lines(tmp_path / "records" / "grid.jsonl")
    assert [(line["spec"], line["runs"], line["left"]) for line in told] == [
        ("second", 4, 0), ("first", 4, 0),
    ]  # fmt: skip
    assert all(line["runs_per_minute"] > 0 for line in told)
    for name in ("first", "second"):
        found = read_records(tmp_path / "records" / "bench" / f"{name}.jsonl").records
        assert {record["engine"] for record in found} == {"fleet"}
        assert len(found) == 4
    grid["main"](asked)
    assert len(lines(tmp_path / "records" / "grid.jsonl")) == 2  # nothing was left
    grid["main"]([*asked, "--plan"])
    assert "\n0 left" in capsys.readouterr().out


def test_no_time_no_runs(grid: dict[str, Any], tmp_path: Path, places: Places) -> None:
    grid["main"](options(places, specs(tmp_path), "--minutes", "1e-9"))
    assert not (tmp_path / "records").exists()


def test_a_spec_that_cannot_run_does_not_stop_the_others(
    grid: dict[str, Any], tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = specs(tmp_path, sizes=[12], seeds=[0])
    write_spec(folder / "second.toml", name="second", encoder="/nowhere", records="second.jsonl")
    assert grid["main"](options(places, folder)) == 1
    assert "second: " in capsys.readouterr().out
    assert [line["spec"] for line in lines(tmp_path / "records" / "grid.jsonl")] == ["first"]


def test_an_unforeseen_error_does_not_stop_the_other_specs(
    grid: dict[str, Any], tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Bench.run

    def run(bench: Bench, listener: Any) -> Any:
        if bench.spec.name == "second":
            raise IndexError("of a kind nobody thought of")
        return real(bench, listener)

    monkeypatch.setattr(Bench, "run", run)
    assert grid["main"](options(places, specs(tmp_path, sizes=[12], seeds=[0]))) == 1
    assert [line["spec"] for line in lines(tmp_path / "records" / "grid.jsonl")] == ["first"]


def test_a_set_is_read_and_tokenised_once_for_all_specs(
    grid: dict[str, Any], tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = Workbench._tokenise

    def tokenise(bench: Workbench, trial: Any, settings: Any) -> Any:
        seen.append(trial.data)
        return real(bench, trial, settings)

    monkeypatch.setattr(Workbench, "_tokenise", tokenise)
    assert grid["main"](options(places, specs(tmp_path, sizes=[12], seeds=[0]))) == 0
    assert seen == ["toys"]


def test_copies_are_what_a_fleet_holds(
    grid: dict[str, Any], tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    voyages: list[int] = []
    real = Chunk.records

    def records(chunk: Chunk) -> Any:
        voyages.append(len(chunk.trials))
        return real(chunk)

    monkeypatch.setattr(Chunk, "records", records)
    folder = specs(tmp_path, sizes=[12], seeds=[0, 1, 2])
    grid["main"](options(places, folder, "--engine", "fleet", "--copies", "2"))
    assert voyages == [2, 1, 2, 1]


def test_processes_share_all_runs(tmp_path: Path, places: Places) -> None:
    folder = specs(tmp_path, sizes=[12], seeds=[0, 1, 2, 3])
    command = [sys.executable, str(SCRIPT), *options(places, folder, "--processes", "2")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    told = lines(tmp_path / "records" / "grid.jsonl")
    assert {line["beside"] for line in told} == {2}
    for name in ("first", "second"):
        assert sum(line["runs"] for line in told if line["spec"] == name) == 4
        found = lines(tmp_path / "records" / "bench" / f"{name}.jsonl")
        assert len({record["key"] for record in found}) == len(found) == 4


@pytest.mark.parametrize(("asked", "codes", "result", "parts"), [
    (None, [0, 0], 0, ["1/2", "2/2"]),
    ("2/3", [0, 0], 0, ["2/6", "5/6"]),
    (None, [1, 0, 0], 0, ["1/2", "2/2", "1/2"]),
    (None, [0, -9, 1], 1, ["1/2", "2/2", "2/2"]),
])  # fmt: skip
def test_a_process_that_fails_is_started_again_once(
    grid: dict[str, Any], monkeypatch: pytest.MonkeyPatch, asked: str | None, codes: list[int],
    result: int, parts: list[str],
) -> None:  # fmt: skip
    begun: list[str] = []

    class Process:
        """Ends at once, with the next code."""

        def __init__(self, command: list[str], **_: Any) -> None:
            begun.append(command[command.index("--beside") - 1])
            assert command[command.index("--processes", 4) + 1] == "1"
            self.code = codes[len(begun) - 1]

        def poll(self) -> int:
            return self.code

    monkeypatch.setattr(subprocess, "Popen", Process)
    more = [] if asked is None else ["--shard", asked]
    assert grid["main"](["--processes", "2", *more]) == result
    assert begun == parts


@pytest.mark.slow
def test_killed_and_run_again(tmp_path: Path, places: Places) -> None:
    folder = specs(tmp_path, sizes=[12, 16, 20, 24], seeds=[0, 1, 2])
    command = [sys.executable, str(SCRIPT), *options(places, folder, "--engine", "loop")]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    path = tmp_path / "records" / "bench" / "second.jsonl"
    running = subprocess.Popen(command, **quiet)
    end = time.monotonic() + 120
    while not path.exists() or path.read_bytes().count(b"\n") < 2:
        assert running.poll() is None
        assert time.monotonic() < end, "no records came"
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    before = path.read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    assert subprocess.run(command, check=False, **quiet).returncode == 0
    assert path.read_bytes().startswith(whole)
    for name in ("first", "second"):
        found = (path.parent / f"{name}.jsonl").read_text().splitlines()
        assert len({json.loads(line)["key"] for line in found}) == len(found) == 12


def test_a_watch_says_how_busy_a_gpu_was(grid: dict[str, Any]) -> None:
    watch = grid["GpuWatch"](CHATTY)
    end = time.monotonic() + 20
    while len(watch.samples) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert watch.end() == {"samples": 2, "busy_share": 0.75, "watts": 400, "memory_gib": 2.0}
    assert grid["GpuWatch"](["/nowhere/nvidia-smi"]).end() is None


def test_every_committed_spec_has_its_place(grid: dict[str, Any]) -> None:
    committed = {path.stem for path in (ROOT / "benchmarks" / "specs").glob("*.toml")}
    assert set(grid["ORDER"]) == committed
