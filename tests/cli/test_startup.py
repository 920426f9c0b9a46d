"""The command answers at once: help costs no heavy import, and so does a wrong argument."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest

HEAVY = (
    "torch", "transformers", "tokenizers", "accelerate", "sklearn", "scipy", "pandas", "polars",
    "pyarrow", "datasets", "safetensors",
)  # fmt: skip
BUDGET = 0.5  # seconds
REPORT = """
import sys
from protofit.cli.main import run
code = run(sys.argv[2:])
print("LOADED", *[name for name in sys.argv[1].split(",") if name in sys.modules])
print("CODE", code)
"""


def loaded_by(*arguments: str) -> tuple[list[str], str]:
    """Which heavy packages a command imports in a new process, and its last line."""
    command = [sys.executable, "-c", REPORT, ",".join(HEAVY), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    *_, loaded, code = done.stdout.splitlines()
    return loaded.split()[1:], code


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["train", "--help"], ["--version"]], ids=" ".join
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    """Whoever asks for help does not wait for a tensor library."""
    assert loaded_by(*arguments) == ([], "CODE 0")


def test_wrong_arguments_import_nothing_heavy() -> None:
    """Nor whoever mistypes an option."""
    assert loaded_by("train", "--nonsense") == ([], "CODE 2")


def test_bad_data_is_told_before_heavy_imports(tmp_path: Path) -> None:
    """A missing data file is said at once."""
    loaded, code = loaded_by("train", str(tmp_path / "a.csv"), "--out", str(tmp_path / "model"))
    assert code == "CODE 2"
    assert not {"torch", "transformers"} & set(loaded)


def test_help_is_fast() -> None:
    """Best of five; where others keep the processors busy, the time it had a processor."""
    best = spent = float("inf")
    for _ in range(5):
        began, used = time.perf_counter(), children_seconds()
        done = subprocess.run(
            [sys.executable, "-m", "protofit", "--help"], capture_output=True, text=True, check=True
        )
        best = min(best, time.perf_counter() - began)
        spent = min(spent, children_seconds() - used)
        for word in ("train", "predict", "evaluate", "info"):
            assert word in done.stdout
    assert spent < BUDGET, f"{spent:.2f} s of a processor"
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    assert best < BUDGET or busy, f"{best:.2f} s"


def children_seconds() -> float:
    """Processor time of the processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system


def test_package_is_light() -> None:
    """`import protofit` alone loads nothing heavy."""
    code = f"import sys, protofit; print([n for n in {HEAVY!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_both_ways_to_call(tmp_path: Path) -> None:
    """The console script and `python -m protofit` are the same command."""
    from protofit.cli.main import main

    (script,) = entry_points(group="console_scripts", name="protofit")
    assert script.load() is main
    called = [sys.executable, "-m", "protofit", "train", "nothing.csv"]
    done = subprocess.run(called, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("protofit: nothing.csv: there is no such file.")
    assert done.stderr.count("\n") == 1
