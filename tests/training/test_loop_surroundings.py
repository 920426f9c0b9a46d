"""What the training loop does to its surroundings: generators, precision, trackers, devices."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.quick import exactly, few_tickets, quick_classifier, quick_regressor
from helpers.runs import make_run
from protofit.errors import InputError

TEXTS, LABELS = few_tickets(24)  # 48


@pytest.mark.parametrize("method", ["pfit", "raw"])
@pytest.mark.parametrize("make", [quick_classifier, quick_regressor])
def test_the_generators_of_the_process_are_left_alone(
    tiny_bert: Path, tmp_path: Path, make: Any, method: str
) -> None:
    def state() -> tuple[Any, ...]:
        return random.getstate(), *np.random.get_state()[1:3], torch.get_rng_state()

    before = state()
    model = make(tiny_bert, method=method).fit(TEXTS, [0, 1] * 24)
    model.predict(TEXTS)
    model.save(tmp_path / "model")
    type(model).load(tmp_path / "model").predict(TEXTS)
    for old, new in zip(before, state(), strict=True):
        assert np.array_equal(np.asarray(old, object), np.asarray(new, object))


def test_what_the_process_drew_does_not_change_a_run(tiny_bert: Path) -> None:
    runs = []
    for seed in (1, 2):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            run = make_run(tiny_bert, TEXTS, LABELS, {**exactly(3), "train.batch_size": 16})
            run.run()
        runs.append({name: t.clone() for name, t in run.model.state_dict().items()})
    for name, tensor in runs[0].items():
        assert torch.equal(tensor, runs[1][name]), name


def trained_in(precision: str, encoder: Path) -> tuple[Any, Any, set[torch.dtype]]:
    """(run, result, precisions that a product of the encoder had in training)."""
    settings = {**exactly(30), "train.precision": precision, "train.learning_rate": 1e-3}
    run = make_run(encoder, TEXTS, LABELS, settings)
    seen: set[torch.dtype] = set()

    def note(module: torch.nn.Module, _: Any, out: torch.Tensor) -> None:
        if module.training:
            seen.add(out.dtype)

    run.model.encoder.encoder.layer[0].output.dense.register_forward_hook(note)
    return run, run.run(), seen


def test_bfloat16_trains_and_the_head_stays_float32(tiny_bert: Path) -> None:
    run, result, seen = trained_in("bfloat16", tiny_bert)
    assert seen == {torch.bfloat16}
    losses = [row["loss"] for row in result.trace]
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])
    assert np.isfinite([list(row.values()) for row in result.trace]).all()
    kinds = {t.dtype for t in run.model.state_dict().values() if t.is_floating_point()}
    assert kinds == {torch.float32}
    features = torch.randn(3, 32).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        assert run.model.head(features).dtype == torch.float32
        output = run.model.head.loss(features, torch.tensor([0, 1, 0]))
    assert output.loss.dtype == torch.float32
    exact, _, seen = trained_in("float32", tiny_bert)
    assert seen == {torch.float32}
    assert not torch.equal(exact.model.head.bank.vectors, run.model.head.bank.vectors)


def test_a_tracker_gets_the_trace(tiny_bert: Path, tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    settings = {**exactly(4), "train.trace_every": 2}
    run = make_run(tiny_bert, TEXTS, LABELS, settings, tracker="tensorboard", tracker_dir=tmp_path)
    trace = run.run().trace
    (file,) = tmp_path.rglob("events.out.tfevents.*")
    reader = events.EventAccumulator(str(file.parent)).Reload()
    assert {"loss", "prototypes", "accuracy"} <= set(reader.Tags()["scalars"])
    found = [(event.step, event.value) for event in reader.Scalars("loss")]
    assert found == [(step, pytest.approx(trace[step - 1]["loss"])) for step in (2, 4)]


def test_an_unknown_tracker_is_refused(tiny_bert: Path) -> None:
    with pytest.raises(InputError, match="tracker"):
        make_run(tiny_bert, TEXTS, LABELS, exactly(1), tracker="no-such-tracker")


def test_an_absent_device_is_refused(tiny_bert: Path) -> None:
    with pytest.raises(InputError, match="there is no device 'tpu'"):
        make_run(tiny_bert, TEXTS, LABELS, exactly(1), device="tpu")
