"""The method of CONTRIBUTING.md works as it stands there."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from helpers.bench import write_sets, write_spec
from helpers.command import training, write_jsonl
from helpers.places import ROOT
from helpers.quick import exactly, few_tickets, quick_classifier
from protofit import PFitClassifier
from protofit.bench.arms import preset_settings
from protofit.bench.records import read_records
from protofit.cli.main import run
from protofit.methods.registry import METHODS

TEXTS, LABELS = few_tickets()


def example() -> str:
    """The first block of Python on the page."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = tmp_path / "cosine.py"
    path.write_text(example(), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("cosine_example", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "cosine_example", made)
    spec.loader.exec_module(made)
    monkeypatch.setitem(METHODS, "cosine", made.Cosine)
    preset_settings.cache_clear()
    return made


def test_it_is_short() -> None:
    assert len(example().splitlines()) <= 30


def test_it_learns_is_saved_and_read(module: ModuleType, tiny_bert: Path, tmp_path: Path) -> None:
    settings = {**exactly(30), "train.learning_rate": 3e-3, "head.scale": 12}
    model = quick_classifier(tiny_bert, settings, method="cosine").fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) > 0.9
    assert model.bundle_.model.head.config == module.CosineConfig(12.0)
    model.save(tmp_path / "model")
    again = PFitClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_it_is_a_method_of_the_command(
    module: ModuleType,
    tiny_bert: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--method cosine` and `--set head.scale=…` need nothing else."""
    table, model = tmp_path / "tickets.jsonl", tmp_path / "model"
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]
    write_jsonl(table, rows)
    asked = training(table, tiny_bert, model, "--method", "cosine", "--set", "head.scale=12")
    assert run(asked) == 0
    loaded = PFitClassifier.load(model)
    assert isinstance(loaded.bundle_.model.head, module.Cosine)
    assert loaded.bundle_.model.head.config == module.CosineConfig(12.0)
    capsys.readouterr()
    assert run(["predict", str(model), str(table), "--json"]) == 0
    assert capsys.readouterr().out.count("\n") >= len(TEXTS)


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("engine", ["loop", "fleet"])
def test_it_is_an_arm_of_the_bench(
    engine: str, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its name in a spec is enough, for either engine and for the tables."""
    sets = write_sets(tmp_path / "data")
    spec = write_spec(tmp_path / "toy.toml", arms=["raw", "cosine"], sizes=[24])
    where = ["--data-dir", str(sets), "--weights-dir", str(tiny_bert.parent), "--device", "cpu"]
    assert run(["bench", "run", str(spec), *where, "--engine", engine]) == 0
    records = read_records(tmp_path / "toy.jsonl").records
    found = {(record["trial"]["arm"], record["trial"]["seed"]) for record in records}
    assert found == {(arm, seed) for arm in ("raw", "cosine") for seed in (0, 1)}
    assert all("error" not in record for record in records)
    capsys.readouterr()
    assert run(["bench", "table", str(spec)]) == 0
    assert "cosine" in capsys.readouterr().out
