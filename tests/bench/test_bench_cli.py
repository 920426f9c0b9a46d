"""`protofit bench` as people call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.bench import write_spec
from helpers.command import Result, refusal
from protofit.bench.workbench import Places
from protofit.cli.main import run

HEAVY = ("torch", "transformers", "sklearn", "pyarrow", "scipy", "numpy")


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> Result:
    """The command in this process."""
    capsys.readouterr()
    code = run([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return Result(code, said.out, said.err)


def where(places: Places) -> list[object]:
    return ["--data-dir", places.data_dir, "--weights-dir", places.weights_dir]


def test_plan_run_plan(tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_spec(tmp_path / "toy.toml", arms=["raw"], sizes=[12], seeds=[0])
    plan = call(capsys, "bench", "plan", spec, *where(places))
    assert plan.code == 0
    assert "unknown: no such run has been recorded" in plan.out
    assert "0/1" in plan.out
    done = call(capsys, "bench", "run", spec, *where(places), "--device", "cpu")
    assert (done.code, done.err) == (0, "")
    assert "run now" in done.out
    plan = call(capsys, "bench", "plan", spec, *where(places))
    assert "1/1" in plan.out
    assert "none" in plan.out
    found = call(capsys, "bench", "plan", spec, *where(places), "--json").json()
    assert (found["runs"], found["done"]) == (1, 1)


def test_an_estimate_is_that_of_this_device(
    tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records of a large GPU say nothing of this processor."""
    spec = write_spec(tmp_path / "toy.toml", arms=["raw"], sizes=[12], seeds=[0])
    assert call(capsys, "bench", "run", spec, *where(places), "--device", "cpu").code == 0
    write_spec(spec, arms=["raw"], sizes=[12], seeds=[0, 1])
    assert "minutes (loop on cpu)" in call(capsys, "bench", "plan", spec, *where(places)).out
    records = tmp_path / "toy.jsonl"
    away = records.read_text().replace('"cpu"', '"NVIDIA H200"').replace('"loop"', '"fleet"')
    records.write_text(away)
    plan = " ".join(call(capsys, "bench", "plan", spec, *where(places)).out.split())
    assert "recorded here (loop on cpu), only fleet on NVIDIA H200" in plan


def test_an_unknown_engine_is_refused_by_plan(
    tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path / "toy.toml")
    refusal(call(capsys, "bench", "plan", spec, *where(places), "--engine", "flet"), "flet")


def test_records_go_where_they_are_told(
    tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path / "specs" / "toy.toml", arms=["raw"], sizes=[12], seeds=[0])
    there = [*where(places), "--device", "cpu", "--json"]
    said = call(capsys, "bench", "run", spec, *there).json()
    assert said["records"] == str(tmp_path / "records" / "bench" / "toy.jsonl")
    said = call(capsys, "bench", "run", spec, *there, "--records-dir", tmp_path / "r").json()
    assert said["run_now"] == 1
    assert len((tmp_path / "r" / "toy.jsonl").read_text().splitlines()) == 1


def test_shards_of_the_command_are_complete(
    tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path / "toy.toml")
    parts = [
        call(capsys, "bench", "plan", spec, *where(places), "--json", "--shard", f"{i}/2").json()
        for i in (1, 2)
    ]
    assert sum(part["runs"] for part in parts) == 8


@pytest.mark.parametrize(
    ("changes", "options", "parts"),
    [
        ({"arms": ["rwa"]}, [], ["toy.toml, key 'arms'", "'raw'"]),
        ({"sizes": None}, [], ["toy.toml, key 'sizes'", "missing"]),
        ({}, ["--shard", "3/2"], ["--shard", "3/2"]),
        ({}, ["--workers", "0"], ["--workers"]),
        ({}, ["--engine", "fast"], ["--engine", "fast"]),
        ({}, ["--data-dir", "/nowhere"], ["--data-dir", "/nowhere"]),
        ({}, ["--peers-python", "/nowhere"], ["--peers-python"]),
        ({"data": ["none"]}, [], ["no set 'none'"]),
        ({"sizes": [900]}, [], ["toys", "900"]),
        ({}, ["--device", "cuda:77"], ["no device 'cuda:77'"]),
    ],
)
def test_refused_in_one_sentence(
    changes: dict[str, object],
    options: list[str],
    parts: list[str],
    tmp_path: Path,
    places: Places,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = write_spec(tmp_path / "toy.toml", **changes)
    refusal(call(capsys, "bench", "run", spec, *where(places), *options), *parts)


@pytest.mark.parametrize("line", [
    "no json", "[1]", '{"key": "a", "code": "b"}',
    '{"key": "a", "code": "b", "trial": {"size": 1}}',
])  # fmt: skip
@pytest.mark.parametrize("verb", ["plan", "run", "table", "plot"])
def test_what_is_no_record_is_refused(
    line: str, verb: str, tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path / "toy.toml")
    (tmp_path / "toy.jsonl").write_text(f"{line}\n")
    options = where(places) if verb in ("plan", "run") else []
    refusal(call(capsys, "bench", verb, spec, *options), "toy.jsonl, line 1", "not a record")


def test_nothing_to_draw_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_spec(tmp_path / "toy.toml")
    said = call(capsys, "bench", "plot", spec, "--out", tmp_path / "figures")
    assert (said.code, said.out) == (0, "")
    assert "no figure" in said.err


def test_without_a_data_folder_the_option_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refusal(call(capsys, "bench", "run", write_spec(tmp_path / "toy.toml")), "toys", "--data-dir")


def test_a_missing_spec_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    refusal(call(capsys, "bench", "plan", tmp_path / "x.toml"), "x.toml", "no such spec")


def test_tables_need_a_spec(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(call(capsys, "bench", "table"), "no specs")


def test_table_of_a_small_comparison(
    tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path / "toy.toml", sizes=[12], seeds=[0])
    assert call(capsys, "bench", "run", spec, *where(places), "--device", "cpu").code == 0
    printed = call(capsys, "bench", "table", spec)
    assert printed.code == 0, printed.err
    assert "toy" in printed.out
    said = json.loads(call(capsys, "bench", "table", spec, "--json").out)
    assert said["markdown"].strip() == printed.out.strip()
    assert call(capsys, "bench", "table", spec, "--out", tmp_path / "t.md").code == 0
    assert (tmp_path / "t.md").read_text().strip() == printed.out.strip()


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["plan", "none.toml"]])
def test_help_and_wrong_specs_import_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom protofit.cli.main import run\n"
        f"run(['bench', *{arguments!r}])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1].replace("'", '"')) == []
