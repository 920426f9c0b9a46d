"""The frozen probe: a linear map fitted once; a run of no steps works everywhere."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from helpers.command import training, write_jsonl
from helpers.heads import view_of
from helpers.quick import few_tickets, quick_classifier, quick_regressor
from protofit.cli.main import run
from protofit.errors import InputError
from protofit.methods.base import HeadShape
from protofit.methods.probe import Probe, ProbeConfig
from reference.functions import log_softmax
from reference.test_reference import numeric_gradient


def data(classes: int, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Features of very different scales, one of them constant."""
    numbers = np.random.default_rng(0)
    labels = numbers.integers(0, classes, count)
    features = numbers.normal(size=(count, 5)) + labels[:, None]
    features = features * [1e-2, 1, 30, 1, 0] + [0, 5, 0, 0, 3]
    return features.astype(np.float32), labels


def started(
    features: np.ndarray, labels: np.ndarray, outputs: int, task: Any = "classification", **kw: Any
) -> Probe:
    head = Probe(ProbeConfig(**kw), HeadShape(features.shape[1], outputs, task))
    head.start(view_of(features, labels))
    return head


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("penalty", [0.1, 1.0])
def test_is_logistic_regression_on_standardised_features(classes: int, penalty: float) -> None:
    features, labels = data(classes)
    head = started(features, labels, classes, inverse_penalty=penalty)
    scaled = StandardScaler().fit_transform(features.astype(np.float64))
    scaled[:, 4] = 0  # constant
    wanted = LogisticRegression(C=penalty, max_iter=1000).fit(scaled, labels)
    got = head(torch.from_numpy(features)).detach()
    np.testing.assert_allclose(got.exp(), wanted.predict_proba(scaled), atol=1e-4)


def test_the_weights_minimise_the_penalised_loss() -> None:
    features, labels = data(3)
    head = started(features, labels, 3)
    spread = features.astype(float).std(axis=0)
    spread[4] = 1.0
    centred = (features.astype(float) - features.astype(float).mean(axis=0)) / spread
    weight = head.linear.weight.detach().double().numpy() * spread
    mean = features.astype(float).mean(axis=0)
    bias = head.linear.bias.detach().double().numpy() + weight @ (mean / spread)

    def objective(flat: np.ndarray) -> float:
        total = 0.5 * float((flat[:, :-1] ** 2).sum())
        for z, y in zip(centred, labels, strict=True):
            total -= log_softmax((flat[:, :-1] @ z + flat[:, -1]).tolist())[int(y)]
        return total

    at = np.concatenate([weight, bias[:, None]], axis=1)
    assert np.abs(numeric_gradient(objective, at)).max() < 0.02
    assert objective(at) < objective(np.zeros_like(at)) - 1


def test_regression_is_ridge_on_standardised_features() -> None:
    features, labels = data(3)
    targets = (features[:, 2] / 30 + labels).astype(np.float32)
    head = started(features, targets, 1, "regression", inverse_penalty=2.0)
    scaled = StandardScaler().fit_transform(features.astype(np.float64))
    scaled[:, 4] = 0
    wanted = Ridge(alpha=0.5).fit(scaled, targets).predict(scaled)
    got = head(torch.from_numpy(features)).squeeze(1).detach()
    np.testing.assert_allclose(got, wanted, atol=1e-4)


@pytest.mark.parametrize("present", [[0, 2], [1], [0, 1, 3]])
def test_classes_without_an_example_are_not_predicted(present: list[int]) -> None:
    features, _ = data(2)
    labels = np.array(present)[np.arange(60) % len(present)]
    head = started(features, labels, 4)
    log_prob = head(torch.from_numpy(features))
    absent = [c for c in range(4) if c not in present]
    assert log_prob.isfinite().all()
    assert log_prob[:, absent].exp().max() < 1e-6


def test_presets_agree_and_bounds_are_named() -> None:
    assert ProbeConfig.preset("paper") == ProbeConfig.preset("default") == ProbeConfig()
    with pytest.raises(InputError, match="head.inverse_penalty is 0"):
        ProbeConfig(inverse_penalty=0)
    with pytest.raises(InputError, match="head.iterations is 0"):
        ProbeConfig(iterations=0)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_end_to_end_without_a_step(tiny_bert: Path, tmp_path: Path, preset: str) -> None:
    from transformers import AutoModel

    texts, labels = few_tickets()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is held back, so nothing is said about it
        model = quick_classifier(tiny_bert, method="probe", preset=preset).fit(texts, labels)
    record = model.bundle_.record
    assert (record["steps"], record["held_back"], record["last_step"]) == (0, 0, {})
    assert model.trace_ == []
    assert model.score(texts, labels) > 0.9
    frozen = AutoModel.from_pretrained(tiny_bert).state_dict()
    kept = model.bundle_.model.encoder.state_dict()
    assert all(torch.equal(value, frozen[name]) for name, value in kept.items())
    model.save(tmp_path / "m")
    again = type(model).load(tmp_path / "m")
    assert again.trace_ == []
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))


def test_end_to_end_regression(tiny_bert: Path) -> None:
    texts, _ = few_tickets()
    model = quick_regressor(tiny_bert, method="probe").fit(texts, np.arange(16.0))
    assert model.score(texts, np.arange(16.0)) > 0.9


def test_the_command_trains_and_shows_it(
    tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, labels = few_tickets()
    rows = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    table = write_jsonl(tmp_path / "t.jsonl", rows)
    out = tmp_path / "m"
    assert run(training(table, tiny_bert, out, "--method", "probe")) == 0
    capsys.readouterr()
    assert run(["info", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "probe" in shown
    assert "trace" not in shown
    assert run(["info", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["steps"], facts["trace"], facts["prototypes"]) == (0, [], [])
    assert run(["evaluate", str(out), str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] > 0.9
