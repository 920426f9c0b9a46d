"""A trial: its settings, its key, and what running it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import protofit
from helpers.bench import SPEC, without_times
from protofit.bench.arms import ABLATIONS, ARMS, CONTROLS, EXTERNAL, PAPER_BASELINES
from protofit.bench.loop_engine import run_trial
from protofit.bench.outcome import Diverged, figures, prototypes_over_steps
from protofit.bench.protocols import FIXED_RATE
from protofit.bench.spec import parse_spec
from protofit.bench.trial import Trial, trials_of
from protofit.bench.version import SOURCES, code_version, hash_sources
from protofit.bench.workbench import Workbench
from protofit.data.batches import split_slice
from protofit.errors import InputError
from protofit.methods.registry import METHODS, method_class
from protofit.settings import Settings

TOY = Trial("toys", 24, "pfit", "bert", 1e-4, 0, "paper")
SLICED = replace(TOY, size=240)


def test_arms_cover_the_paper_the_controls_and_the_ablations() -> None:
    named = {*PAPER_BASELINES, *CONTROLS, *ABLATIONS, *EXTERNAL}
    assert named | {"pfit", "pfit-paper", "imp-exact"} == set(ARMS)


@pytest.mark.parametrize("arm", [name for name in ARMS if name not in EXTERNAL])
def test_settings_are_the_presets_but_for_training(arm: str) -> None:
    if ARMS[arm].method not in METHODS:
        pytest.skip(f"the method of {arm} is not registered")
    settings = replace(TOY, arm=arm).settings()
    base = Settings.build(ARMS[arm].preset, ARMS[arm].method or "")
    assert (settings.head, settings.encoder) == (base.head, base.encoder)
    assert settings.train == TOY.settings().train
    assert ARMS[arm].rated == method_class(ARMS[arm].method or "").trains


def test_key_depends_on_content_and_code_alone() -> None:
    keys = {TOY.key("c0"), TOY.key("c1")}
    changes: dict[str, Any] = {
        "data": "pairs", "size": 25, "arm": "pfit-paper", "encoder": "e5", "rate": 2e-5,
        "seed": 1, "protocol": "fair",
    }  # fmt: skip
    keys |= {replace(TOY, **{name: value}).key("c0") for name, value in changes.items()}
    assert len(keys) == 2 + len(changes)
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)
    assert Trial(**json.loads(json.dumps(TOY.to_dict()))).key("c0") == TOY.key("c0")


def test_key_is_the_same_in_another_process() -> None:
    script = f"from protofit.bench.trial import Trial;print(Trial(**{TOY.to_dict()!r}).key('c0'))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == TOY.key("c0")


def test_every_run_of_a_spec() -> None:
    spec = parse_spec(
        {**SPEC, "sizes": [12, 240], "rates": [1e-5, 1e-4], "arms": ["raw", "probe"]}, ""
    )
    trials = list(trials_of(spec))
    assert len(trials) == len(set(trials)) == 2 * (2 + (2 + 1))
    small = [trial for trial in trials if trial.size == 12]
    assert {trial.rate for trial in small} == {FIXED_RATE}
    probes = [trial for trial in trials if trial.arm == "probe"]
    assert len(probes) == 4
    assert {trial.planned_steps() for trial in probes} == {0}


def test_code_version_follows_the_sources(tmp_path: Path) -> None:
    package = Path(protofit.__file__).parent
    assert code_version() == hash_sources(package)
    assert len(code_version()) == 12
    for name in SOURCES:
        assert (package / name).is_dir() or (package / f"{name}.py").is_file()
    for name in SOURCES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("x = 1")
    before = hash_sources(tmp_path)
    (tmp_path / "cli.py").write_text("not a source of results")
    assert hash_sources(tmp_path) == before
    (tmp_path / "methods" / "a.py").write_text("x = 2")
    assert hash_sources(tmp_path) != before


@pytest.fixture(scope="module")
def record(workbench: Workbench) -> dict[str, Any]:
    """Of a run with a slice."""
    return run_trial(SLICED, workbench)


def test_record_of_a_run_with_a_slice(record: dict[str, Any], workbench: Workbench) -> None:
    labelled = workbench.set("toys")
    rows = labelled.subset(240, 0)
    held = len(split_slice(labelled.train.labels[rows], 240, 0.1, 0)[1])
    assert record["key"] == SLICED.key(code_version())
    assert record["trial"] == SLICED.to_dict()
    assert record["subset"] == labelled.subset_hash(rows)
    assert set(record["slice"]) == {"n", "accuracy", "log_loss"}
    assert record["slice"]["n"] == held == 24
    assert set(record["dev"]) == {"validation"}
    assert set(record["dev"]["validation"]) == {"n", "accuracy", "macro_f1", "log_loss", "ece"}
    assert record["dev"]["validation"]["n"] == 40
    assert record["best_step"] % 7 == 0  # ⌈216 / 32⌉ steps in an epoch
    assert 7 <= record["best_step"] <= record["steps"] <= 35
    assert record["engine"] == "loop"
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_record_follows_the_prototypes(record: dict[str, Any]) -> None:
    steps, counts = zip(*record["K"], strict=True)
    assert steps[0] == 1
    assert steps[-1] == record["steps"]
    assert len(steps) <= 20
    assert list(steps) == sorted(set(steps))
    assert all(count >= 2 for count in counts)
    assert record["created"] >= 0
    assert record["parameters"] > 1000


def test_a_trial_repeats_to_the_last_digit(record: dict[str, Any], workbench: Workbench) -> None:
    again = run_trial(SLICED, Workbench(workbench.places))
    assert without_times([again]) == without_times([record])


def test_figures_agree_with_the_estimator(workbench: Workbench, record: dict[str, Any]) -> None:
    """The harness trains as `PFitClassifier` does on the same rows, settings and seed."""
    from protofit import PFitClassifier

    labelled = workbench.set("toys")
    rows = labelled.subset(240, 0)
    settings = SLICED.settings()
    changed = {f"train.{k}": v for k, v in settings.to_dict()["train"].items()}
    source = workbench.encoder("bert").location
    estimator = PFitClassifier(source, settings=changed, random_state=0)
    estimator.fit([labelled.train.inputs[row] for row in rows], labelled.train.labels[rows])
    part = labelled.dev["validation"]
    logits = np.log(estimator.predict_proba(part.inputs))
    found = figures(logits, part.labels, regression=False)
    assert found == pytest.approx(record["dev"]["validation"], abs=1e-4)


def test_small_subsets_take_all_steps_and_have_no_slice(workbench: Workbench) -> None:
    found = run_trial(TOY, workbench)
    assert found["slice"] is None
    assert found["best_step"] is None
    assert found["steps"] == 5


def test_pairs_are_measured_on_both_splits(workbench: Workbench) -> None:
    found = run_trial(replace(TOY, data="pairs", arm="raw"), workbench)
    assert set(found["dev"]) == {"validation_matched", "validation_mismatched"}
    assert found["K"] is None
    assert found["created"] is None


@pytest.mark.parametrize("arm", ["raw", "pfit"])
def test_regression(workbench: Workbench, arm: str) -> None:
    found = run_trial(replace(SLICED, data="scores", arm=arm), workbench)
    assert set(found["dev"]["validation"]) == {"n", "mse", "pearson", "spearman"}
    assert set(found["slice"]) == {"n", "mse"}
    truth = workbench.set("scores").dev["validation"].labels
    assert found["dev"]["validation"]["mse"] < np.square(truth).mean()  # targets were standardised


def test_probe_takes_no_step(workbench: Workbench) -> None:
    if "probe" not in METHODS:
        pytest.skip("the probe is not registered")
    found = run_trial(replace(TOY, arm="probe"), workbench)
    assert found["steps"] == 0
    assert found["K"] is None
    assert 0 <= found["dev"]["validation"]["accuracy"] <= 1


@pytest.mark.parametrize("arm", ["raw", "pfit"])
def test_a_run_that_diverges_is_recorded_as_such(workbench: Workbench, arm: str) -> None:
    found = run_trial(replace(TOY, arm=arm, rate=1e38), workbench)
    assert "dev" not in found
    assert "\n" not in found["error"]
    assert "diverged" in found["error"] or "not finite" in found["error"]
    assert found["trial"]["rate"] == 1e38


def test_what_the_user_gave_wrongly_is_no_divergence(workbench: Workbench) -> None:
    with pytest.raises(InputError, match="260 training examples"):
        run_trial(replace(TOY, size=500), workbench)
    with pytest.raises(InputError, match="no set"):
        run_trial(replace(TOY, data="none"), workbench)


def test_predictions_that_are_not_finite_have_no_figures() -> None:
    with pytest.raises(Diverged):
        figures(np.array([[np.nan, 0.0]]), np.array([0]), regression=False)


@pytest.mark.parametrize("count", [1, 2, 20, 21, 1000])
def test_few_points_of_many_steps(count: int) -> None:
    trace = [{"step": float(i + 1), "prototypes": float(2 * i)} for i in range(count)]
    points = prototypes_over_steps(trace) or []
    assert len(points) == min(count, 20)
    assert points[0] == [1, 0]
    assert points[-1] == [count, 2 * (count - 1)]
    assert all(k == 2 * (step - 1) for step, k in points)
    assert prototypes_over_steps([{"step": 1.0}]) is None
