"""`bench run` killed in the middle loses nothing that was recorded and repeats nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from helpers.bench import write_spec
from helpers.command import fork
from protofit.bench.records import read_records
from protofit.bench.workbench import Places

RUNS = 24
TORN = b'{"key":"0123","co'


@dataclass(frozen=True)
class Running:
    """The command in a process of its own, and what it has said so far."""

    process: BaseProcess
    log: Path

    def wait_for(self, path: Path, lines: int) -> None:
        """Until so many records are there; the process must still be at work then."""
        end = time.monotonic() + 60
        while not path.exists() or path.read_bytes().count(b"\n") < lines:
            assert self.process.is_alive(), self.log.read_text()
            assert time.monotonic() < end, "no records came"
            time.sleep(0.005)

    def end(self) -> tuple[int | None, str]:
        """Exit code, and all that was said."""
        self.process.join(120)
        return self.process.exitcode, self.log.read_text()


def run(spec: Path, places: Places, workers: int = 1, name: str = "log") -> Running:
    """Start `bench run`."""
    arguments = ["bench", "run", str(spec), "--data-dir", str(places.data_dir), "--weights-dir",
                 str(places.weights_dir), "--workers", str(workers), "--device", "cpu"]  # fmt: skip
    log = spec.parent / name
    return Running(fork(arguments, log), log)


def finish(running: Running) -> str:
    """What a run that must succeed says."""
    code, said = running.end()
    assert code == 0, said
    return said


def children_of(pid: int) -> list[int]:
    """Processes that it started and that are alive."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_and_run_again(workers: int, tmp_path: Path, places: Places) -> None:
    spec = write_spec(tmp_path / "toy.toml", sizes=[12, 16, 20, 24], seeds=[0, 1, 2])
    path = tmp_path / "toy.jsonl"
    running = run(spec, places, workers)
    running.wait_for(path, 3)
    crew = children_of(running.process.pid or 0)
    running.process.kill()
    assert running.end() == (-signal.SIGKILL, "")
    gone(crew)
    before = path.read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    count = whole.count(b"\n")
    assert 3 <= count < RUNS
    assert len(crew) >= (0 if workers == 1 else workers)
    with path.open("ab") as file:
        file.write(TORN)  # what a kill in the middle of a write leaves
    said = finish(run(spec, places, workers, "again"))
    torn = len(before) - len(whole) + len(TORN)
    assert f"{torn} bytes of an unfinished line were cut off" in said
    assert re.search(rf"already done +{count}\b", said)
    assert re.search(rf"run now +{RUNS - count}\b", said)
    after = path.read_bytes()
    assert after.startswith(whole)
    keys = [json.loads(line)["key"] for line in after.splitlines()]
    assert len(keys) == len(set(keys)) == RUNS


def gone(pids: list[int]) -> None:
    """Wait until none of these processes is alive."""
    end = time.monotonic() + 20
    while any(_alive(pid) for pid in pids):
        assert time.monotonic() < end, "a worker outlived its parent"
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_interrupted_by_a_person(tmp_path: Path, places: Places) -> None:
    """Ctrl-C: exit code 130, one line, and the records stay."""
    spec = write_spec(tmp_path / "toy.toml", sizes=[12, 16, 20, 24], seeds=[0, 1, 2])
    running = run(spec, places)
    running.wait_for(tmp_path / "toy.jsonl", 1)
    os.kill(running.process.pid or 0, signal.SIGINT)
    assert running.end() == (130, "protofit: stopped\n")
    found = read_records(tmp_path / "toy.jsonl")
    assert found.records
    assert not found.torn


def test_two_commands_at_once_record_every_run_once(tmp_path: Path, places: Places) -> None:
    """Two people start the same spec: work may be done twice, but counts once."""
    spec = write_spec(tmp_path / "toy.toml", arms=["raw"])
    both = [run(spec, places, name=name) for name in ("one", "two")]
    for running in both:
        finish(running)
    lines = (tmp_path / "toy.jsonl").read_text().splitlines()
    assert len(lines) == len({json.loads(line)["key"] for line in lines}) == 4
