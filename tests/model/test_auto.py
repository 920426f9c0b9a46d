"""`import protofit` costs nothing, and transformers' Auto classes and pipelines know our models."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from helpers.fresh import run_fresh
from helpers.quick import few_tickets, quick_classifier
from protofit import _auto

TEXTS, LABELS = few_tickets(8, ("billing", "returns", "delivery"))

LIGHT = """
import json, sys
import protofit
heavy = {"torch", "transformers", "numpy", "sklearn", "pandas", "pyarrow", "rich", "typer"}
names = [name for name in protofit.__all__ if not name.startswith("_")]
print(json.dumps({"heavy": sorted(heavy & set(sys.modules)), "names": names,
                  "listed": dir(protofit), "version": protofit.__version__}))
"""

USE = """
from transformers import AutoConfig, AutoModelForSequenceClassification, pipeline
config = AutoConfig.from_pretrained(sys.argv[1])
model = AutoModelForSequenceClassification.from_pretrained(sys.argv[1])
classify = pipeline("text-classification", model=sys.argv[1])
print(json.dumps({
    "config": type(config).__module__ + "." + type(config).__name__,
    "model": type(model).__module__ + "." + type(model).__name__,
    "best": classify(sys.argv[2:]),
    "all": classify(sys.argv[2:], top_k=None),
}))
"""
ORDERS = {
    "protofit": """
import json, sys
import protofit
""",
    "transformers": """
import json, sys
import transformers.models.auto.modeling_auto
import protofit
""",
}


def test_importing_protofit_imports_nothing_heavy() -> None:
    found = run_fresh(LIGHT)
    assert found["heavy"] == []
    assert set(found["names"]) == {
        "InputError",
        "PFitClassifier",
        "PFitRegressor",
        "ProtoFitCallback",
        "ProtoFitConfig",
        "ProtoFitError",
        "ProtoFitForSequenceClassification",
        "Settings",
    }
    assert set(found["names"]) <= set(found["listed"])
    assert found["version"]


def test_every_public_name_is_there() -> None:
    import protofit

    for name in protofit.__all__:
        assert hasattr(protofit, name), name
    with pytest.raises(AttributeError, match="no attribute 'PFitClasifier'"):
        protofit.PFitClasifier  # noqa: B018 - a misspelt name


@pytest.fixture(scope="module")
def saved(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    model = quick_classifier(tiny_bert, {"train.learning_rate": 3e-3}).fit(TEXTS, LABELS)
    folder = tmp_path_factory.mktemp("saved") / "model"
    model.save(folder)
    return folder, model


@pytest.mark.parametrize("first", ORDERS)
def test_auto_classes_and_pipelines_load_a_saved_folder(
    saved: tuple[Path, Any], first: str
) -> None:
    folder, model = saved
    found = run_fresh(ORDERS[first] + USE, folder, *TEXTS)
    assert found["config"] == "protofit.model.configuration.ProtoFitConfig"
    assert found["model"] == "protofit.model.modeling.ProtoFitForSequenceClassification"
    probability = model.predict_proba(TEXTS)
    assert [answer["label"] for answer in found["best"]] == model.predict(TEXTS).tolist()
    scores = [answer["score"] for answer in found["best"]]
    np.testing.assert_allclose(scores, probability.max(axis=1), rtol=1e-5)
    for row, answers in zip(probability, found["all"], strict=True):
        by_label = {answer["label"]: answer["score"] for answer in answers}
        expected = dict(zip(model.classes_.tolist(), row, strict=True))
        assert by_label == pytest.approx(expected, rel=1e-4, abs=1e-7)


@pytest.fixture
def watched_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[str]]:
    """An importable module in the role of an auto module, and the record of registrations."""
    name = "watched_by_protofit"
    (tmp_path / f"{name}.py").write_text("VALUE = 5\n")
    registered: list[str] = []
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(_auto, "register", registered.append)
    finder = _auto._Watcher({name})
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    monkeypatch.delitem(sys.modules, name, raising=False)
    yield name, registered
    sys.modules.pop(name, None)


def fetch(name: str) -> ModuleType:
    import importlib

    return importlib.import_module(name)


def test_the_watcher_registers_once_after_the_module_ran(
    watched_module: tuple[str, list[str]],
) -> None:
    name, registered = watched_module
    module = fetch(name)
    assert module.VALUE == 5
    assert registered == [name]
    assert not isinstance(module.__loader__, _auto._Registering)
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__
    fetch(name)
    assert registered == [name]


def test_asking_where_a_module_is_does_not_lose_the_registration(
    watched_module: tuple[str, list[str]],
) -> None:
    import importlib.util

    name, registered = watched_module
    assert importlib.util.find_spec(name) is not None
    assert registered == []
    fetch(name)
    assert registered == [name]


def test_installing_twice_does_nothing() -> None:
    before = list(sys.meta_path)
    _auto.install()
    assert list(sys.meta_path) == before
