"""A spec is checked key by key, and a wrong one is told in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.bench import SPEC, write_spec
from protofit.bench.spec import parse_spec, read_spec, records_folder
from protofit.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = [*sorted((ROOT / "benchmarks" / "specs").glob("*.toml")),
             ROOT / "examples" / "bench-demo.toml"]  # fmt: skip


def test_values_arrive(tmp_path: Path) -> None:
    spec = read_spec(write_spec(tmp_path / "a.toml", rates=[1, 2e-5]))
    assert spec.data == ("toys",)
    assert spec.sizes == (12, 24)
    assert spec.rates == (1.0, 2e-5)
    assert all(isinstance(rate, float) for rate in spec.rates)


@pytest.mark.parametrize("key", SPEC)
def test_every_key_is_needed(key: str) -> None:
    values = {name: value for name, value in SPEC.items() if name != key}
    with pytest.raises(InputError, match=f"a.toml, key '{key}': the key is missing"):
        parse_spec(values, "a.toml")


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("arms", ["rwa"], "Did you mean 'raw'?"),
        ("arms", "raw", "not a list"),
        ("arms", [], "not a list"),
        ("arms", ["raw", "raw"], "listed twice"),
        ("protocol", "fiar", "Did you mean 'fair'?"),
        ("sizes", [100, 2.5], "found 2.5"),
        ("sizes", [True], "found True"),
        ("sizes", [3], "from 4"),
        ("seeds", [-1], "from 0"),
        ("rates", [0], "above 0"),
        ("rates", [float("inf")], "above 0"),
        ("rates", ["1e-4"], "above 0"),
        ("encoder", " ", "not a text"),
        ("data", [1], "not a text"),
        ("records", "../x.jsonl", "not a file name"),
        ("records", "x.txt", "not a file name"),
        ("sises", [1], "Did you mean 'sizes'?"),
    ],
)
def test_wrong_values_name_file_and_key(key: str, value: Any, part: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec({**SPEC, key: value}, "a.toml")
    sentence = str(caught.value)
    assert sentence.startswith(f"a.toml, key '{key}': ")
    assert part in sentence
    assert "\n" not in sentence


def test_files_that_are_no_specs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such spec"):
        read_spec(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_text("name = ")
    with pytest.raises(InputError, match=r"b\.toml: the spec cannot be read"):
        read_spec(tmp_path / "b.toml")


def test_where_records_go(tmp_path: Path) -> None:
    assert records_folder(tmp_path / "specs" / "a.toml") == tmp_path / "records" / "bench"
    assert records_folder(tmp_path / "a.toml") == tmp_path
    spec = read_spec(write_spec(tmp_path / "a.toml"))
    assert spec.records_path(tmp_path / "a.toml") == tmp_path / "toy.jsonl"
    assert spec.records_path(tmp_path / "a.toml", Path("r")) == Path("r/toy.jsonl")


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_specs_are_valid(path: Path) -> None:
    assert read_spec(path).name == path.stem
    assert read_spec(path).records == f"{path.stem}.jsonl"


def test_specs_of_all_runs_are_committed() -> None:
    wanted = {"e5-fair", "e5-paper", "bge-fair", "minilm-fair", "mpnet-fair", "stsb",
              "e5-ablations"}  # fmt: skip
    assert wanted <= {path.stem for path in COMMITTED}
