"""The training loop: accumulation, number of steps, early stopping, who is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.quick import ROOMY, exactly, few_tickets, quick_regressor
from helpers.runs import PLAIN, make_run
from protofit.data.batches import split_slice
from protofit.model.inference import frozen_features
from protofit.storage.trace import Row
from protofit.training import loop
from protofit.training.loop import Run
from protofit.training.optimiser import build_optimiser
from protofit.training.reporter import Reporter

TEXTS, LABELS = few_tickets(24)  # 48


def weights_of(run: Any) -> dict[str, torch.Tensor]:
    return {name: t.detach().clone() for name, t in run.model.state_dict().items()}


def largest_difference(one: Any, other: Any) -> float:
    """Over all parameters of two runs."""
    pairs = zip(one.model.parameters(), other.model.parameters(), strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


def test_accumulated_batches_are_one_large_batch(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimisers: list[torch.optim.Optimizer] = []

    def build(*arguments: Any) -> torch.optim.Optimizer:
        optimisers.append(build_optimiser(*arguments))
        return optimisers[-1]

    monkeypatch.setattr(loop, "build_optimiser", build)

    def trained(size: int, parts: int) -> Any:
        settings = {
            **PLAIN,
            **exactly(6),
            "train.batch_size": size,
            "train.accumulate": parts,
            "train.learning_rate": 1e-3,
            "train.clip_norm": None,
        }
        run = make_run(tiny_bert, TEXTS, LABELS, settings)
        run.run()
        return run

    large, accumulated, small = trained(16, 1), trained(8, 2), trained(8, 1)
    assert large.plan.steps_per_epoch == accumulated.plan.steps_per_epoch == 3
    assert largest_difference(large, accumulated) < 1e-5
    assert largest_difference(large, small) > 1e-3
    moments = [optimiser.state_dict()["state"] for optimiser in optimisers[:2]]
    for index, state in moments[0].items():  # Adam's steps hide the scale, its moments do not
        torch.testing.assert_close(
            moments[1][index]["exp_avg"], state["exp_avg"], rtol=1e-2, atol=1e-5
        )


def test_rows_that_changed_hands_meet_the_optimiser_without_moments(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every step: nothing of a former prototype in a new one, nothing kept for an empty row."""
    left: list[torch.Tensor] = []
    reused: list[int] = []

    def build(model: Any, *more: Any) -> torch.optim.Optimizer:
        optimiser, bank = build_optimiser(model, *more), model.head.bank

        def look(*_: Any) -> None:
            state = optimiser.state.get(bank.vectors)
            if state is None:
                return
            newborn = bank.active & (bank.born == model.head.clock + 1)
            idle = ~bank.active | newborn
            left.extend(state[name][idle].abs().sum() for name in ("exp_avg", "exp_avg_sq"))
            reused.append(int((newborn & seen).sum()))
            seen.logical_or_(bank.active)

        seen = torch.zeros_like(bank.active)
        optimiser.register_step_pre_hook(look)
        return optimiser

    monkeypatch.setattr(loop, "build_optimiser", build)
    settings = {
        **ROOMY,
        **exactly(20),
        "train.batch_size": 8,
        "head.creation.capacity": 6,
        "head.prune.threshold": 0.9,
        "head.prune.grace": 1,
        "head.prune.window": 2,
    }
    run = make_run(tiny_bert, TEXTS, LABELS, settings)
    run.run()
    assert int(run.model.head.pruned) > 5
    assert sum(reused) > 5
    assert float(torch.stack(left).sum()) == 0


def test_the_rate_of_every_step_is_that_of_the_schedule(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warm-up over two steps, then down to zero; the head has a peak of its own."""
    rates: list[list[float]] = []

    def build(*arguments: Any) -> torch.optim.Optimizer:
        optimiser = build_optimiser(*arguments)
        optimiser.register_step_pre_hook(
            lambda *_: rates.append([group["lr"] for group in optimiser.param_groups])
        )
        return optimiser

    monkeypatch.setattr(loop, "build_optimiser", build)
    settings = {
        **exactly(6),
        "train.warmup_share": 0.34,
        "train.learning_rate": 1e-4,
        "train.head_learning_rate": 1e-2,
    }
    trace = make_run(tiny_bert, TEXTS, LABELS, settings).run().trace
    wanted = [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    for rate, row, share in zip(rates, trace, wanted, strict=True):
        assert rate == pytest.approx([1e-4 * share, 1e-4 * share, 1e-2 * share])
        assert row["learning_rate"] == pytest.approx(1e-4 * share)


def test_the_verbs_of_a_step_come_in_order(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signs are projected and rows pruned after the update, not before it."""
    said: list[str] = []

    def build(*arguments: Any) -> torch.optim.Optimizer:
        optimiser = build_optimiser(*arguments)
        optimiser.register_step_pre_hook(lambda *_: said.append("update"))
        return optimiser

    monkeypatch.setattr(loop, "build_optimiser", build)
    settings = {**exactly(3), "train.batch_size": 12, "train.accumulate": 2}
    run = make_run(tiny_bert, TEXTS, LABELS, settings)
    for verb in ("start", "observe", "loss", "recycled", "settle"):
        plain = getattr(run.model.head, verb)

        def told(*arguments: Any, verb: str = verb, plain: Any = plain) -> Any:
            said.append(verb)
            return plain(*arguments)

        monkeypatch.setattr(run.model.head, verb, told)
    run.run()
    step = ["observe", "loss", "observe", "loss", "recycled", "update", "settle"]
    assert said == ["start", *step * 3]


def test_every_forward_pass_has_dropout_of_its_own(tiny_bert: Path) -> None:
    settings = {**exactly(4), "train.batch_size": 12, "train.accumulate": 2}
    draws = []
    for _ in range(2):
        run = make_run(tiny_bert, TEXTS, LABELS, settings)
        seeds: list[int] = []
        run.model.register_forward_pre_hook(
            lambda model, _, seeds=seeds: seeds.append(torch.initial_seed())
        )
        run.run()
        draws.append(seeds)
    assert len(set(draws[0])) == len(draws[0]) == 8
    assert draws[0] == draws[1]


def test_the_last_step_of_an_epoch_may_have_fewer_batches(tiny_bert: Path) -> None:
    settings = {**PLAIN, **exactly(5), "train.batch_size": 8, "train.accumulate": 4}
    run = make_run(tiny_bert, TEXTS, LABELS, settings)
    assert run.plan.steps_per_epoch == 2
    sizes = [[len(batch) for batch in run._batches_of(step)] for step in range(4)]
    assert sizes == [[8, 8, 8, 8], [8, 8]] * 2
    epoch = np.concatenate([*run._batches_of(0), *run._batches_of(1)])
    assert sorted(epoch.tolist()) == list(range(48))
    assert [row["step"] for row in run.run().trace] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"train.epochs": 2, "train.min_steps": 0}, 6),
        ({"train.epochs": 1, "train.min_steps": 7}, 7),
        ({"train.epochs": 9, "train.min_steps": 0, "train.max_steps": 2}, 2),
        ({"train.epochs": 1, "train.min_steps": 9, "train.max_steps": 5}, 5),
    ],
    ids=["epochs", "min_steps", "max_steps", "max over min"],
)
def test_as_many_steps_as_asked(tiny_bert: Path, settings: dict[str, Any], steps: int) -> None:
    run = make_run(tiny_bert, TEXTS, LABELS, {"train.batch_size": 16, **settings})
    result = run.run()
    assert result.steps == steps == len(result.trace) == int(run.model.head.clock)
    assert result.stopped_early is False
    assert result.trace[-1]["epoch"] == pytest.approx((steps - 1) / 3, abs=1e-3)


STOPPING = {
    **PLAIN,
    "train.batch_size": 16,
    "train.validation_share": 0.25,
    "train.patience": 2,
    "train.schedule": "constant",
    "train.min_steps": 0,
}


def scripted(monkeypatch: pytest.MonkeyPatch, scores: list[float]) -> list[int]:
    """Let the slice say these scores, epoch by epoch; returns the steps of the judgements."""
    steps: list[int] = []

    def score(run: Run) -> list[float]:
        steps.append(run.state.step)
        return [scores[len(steps) - 1], 0.0]

    monkeypatch.setattr(Run, "_slice_score", score)
    return steps


def test_early_stopping_gives_back_the_best_weights(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = scripted(monkeypatch, [0.5, 0.9, 0.9, 0.2, 1.0])
    run = make_run(tiny_bert, TEXTS, LABELS, {**STOPPING, "train.epochs": 9})
    result = run.run()
    assert judged == [3, 6, 9, 12]  # 36 texts are left to train on
    assert (result.steps, result.stopped_early, result.best_score) == (12, True, [0.9, 0.0])
    scripted(monkeypatch, [0.1, 0.2])
    best = make_run(tiny_bert, TEXTS, LABELS, {**STOPPING, "train.epochs": 2})
    best.run()
    for name, tensor in weights_of(best).items():
        same = torch.equal(run.model.state_dict()[name], tensor)
        planned = name == "head.due" or name.startswith(("head.bank.span", "head.bank.past"))
        assert same or planned, name  # planned for longer, creation off


def test_the_best_weights_come_back_without_stopping_too(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, [0.9, 0.5])
    run = make_run(tiny_bert, TEXTS, LABELS, {**STOPPING, "train.epochs": 2})
    result = run.run()
    assert (result.steps, result.stopped_early) == (6, False)
    assert int(run.model.head.clock) == 3


def test_early_stopping_goes_on_where_the_run_was_interrupted(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best weights and the patience spent so far are part of what is resumed."""
    settings = {**STOPPING, "train.epochs": 9, "train.patience": 3, "train.checkpoint_every": 3}
    scores = [0.5, 0.9, 0.2, 0.3, 0.4, 0.5]

    def run(folder: str, *, fail_at: int = 0, resume: bool = False) -> Any:
        listener = Listener(fail_at)
        made = make_run(
            tiny_bert, TEXTS, LABELS, {**settings, "train.trace_every": 1}, reporter=listener,
            checkpoint=tmp_path / folder, resume=resume,
        )  # fmt: skip
        if fail_at:
            with pytest.raises(KeyboardInterrupt):
                made.run()
            return made
        return made, made.run()

    scripted(monkeypatch, scores)
    whole, result = run("whole")
    assert (result.steps, result.stopped_early) == (15, True)
    scripted(monkeypatch, scores)
    run("cut", fail_at=11)  # the checkpoint of step 9 is there: one epoch after the best
    scripted(monkeypatch, scores[3:])
    resumed, again = run("cut", resume=True)
    assert (again.steps, again.stopped_early, again.best_score) == (15, True, [0.9, 0.0])
    for name, tensor in weights_of(whole).items():
        assert torch.equal(resumed.model.state_dict()[name], tensor), name


def test_the_slice_is_held_back_from_training(tiny_bert: Path) -> None:
    run = make_run(tiny_bert, TEXTS, LABELS, {**STOPPING, "train.epochs": 1})
    assert len(run.held) == 12
    assert sorted([*run.held, *run.rows]) == list(range(48))
    assert np.bincount(run.data.labels[run.held]).tolist() == [6, 6]
    seen = np.concatenate([rows for step in range(3) for rows in run._batches_of(step)])
    assert set(seen) == set(run.rows)
    score = run.run().best_score
    assert 0 <= score[0] <= 1
    assert score[1] < 0


@pytest.mark.parametrize("method", ["prosenet", "protonet"])
def test_the_best_weights_hold_the_prototypes_that_were_judged(
    tiny_bert: Path, method: str
) -> None:
    """They are those of the encoder at the end of its epoch, not of the steps before."""
    settings = {
        "train.batch_size": 16,
        "train.validation_share": 0.25,
        "train.learning_rate": 1e-3,
        "train.epochs": 1,
        "train.min_steps": 0,
    }
    run = make_run(tiny_bert, TEXTS, LABELS, settings, method)
    assert run.run().best_score is not None
    head, labels = run.model.head, run.data.labels[run.rows]
    features = frozen_features(run.model, run.data.tokens, run.rows)
    if method == "prosenet":
        found, expected = head.vectors, features[head.example]
    else:
        found = head.memory.means
        expected = torch.stack([features[labels == label].mean(dim=0) for label in (0, 1)])
    torch.testing.assert_close(found.detach(), expected, rtol=1e-4, atol=1e-5)


def test_the_slice_of_a_regression_is_judged_by_its_squared_error(tiny_bert: Path) -> None:
    prices = np.linspace(10, 20, len(TEXTS))
    settings = {**STOPPING, **exactly(3)}  # one epoch: 36 texts are left to train on
    model = quick_regressor(tiny_bert, settings, batch_size=16).fit(TEXTS, prices)
    _, held = split_slice(None, len(TEXTS), 0.25, 0)
    error = np.square(model.predict([TEXTS[i] for i in held]) - prices[held]).mean()
    assert model.bundle_.record["slice_score"] == pytest.approx([-error], rel=1e-4)


def gradients(
    monkeypatch: pytest.MonkeyPatch, encoder: Path, texts: int, settings: dict[str, Any]
) -> list[torch.Tensor]:
    """All gradients of every step as one vector, as the optimiser meets them."""
    seen: list[torch.Tensor] = []

    def build(model: Any, *more: Any) -> torch.optim.Optimizer:
        def look(*_: Any) -> None:
            each = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
            seen.append(torch.cat(each).clone())

        optimiser = build_optimiser(model, *more)
        optimiser.register_step_pre_hook(look)
        return optimiser

    monkeypatch.setattr(loop, "build_optimiser", build)
    make_run(encoder, TEXTS[:texts], LABELS[:texts], {**PLAIN, **settings}).run()
    return seen


def test_a_step_with_fewer_batches_is_their_mean_too(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two batches where four would make a step: as large a gradient as where two do."""
    settings = {**exactly(1), "train.batch_size": 8, "train.clip_norm": None}
    few, usual = (
        gradients(monkeypatch, tiny_bert, 16, {**settings, "train.accumulate": parts})[0]
        for parts in (4, 2)
    )
    assert usual.norm() > 0.01
    torch.testing.assert_close(few, usual)


def test_the_gradient_of_all_parameters_is_clipped_together(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, held = (
        gradients(monkeypatch, tiny_bert, 48, {**exactly(1), "train.clip_norm": limit})[0]
        for limit in (None, 0.02)
    )
    assert free.norm() > 0.04
    torch.testing.assert_close(held, free * (0.02 / free.norm()), rtol=1e-3, atol=1e-7)


class Listener(Reporter):
    def __init__(self, fail_at: int = 0) -> None:
        self.told: list[Any] = []
        self.fail_at = fail_at

    def begin(self, total_steps: int, done: int) -> None:
        self.told.append(("begin", total_steps, done))

    def advance(self, row: Row) -> None:
        self.told.append(row["step"])
        if row["step"] == self.fail_at:
            raise KeyboardInterrupt

    def end(self) -> None:
        self.told.append("end")


def test_the_reporter_hears_of_every_step_and_of_the_end(tiny_bert: Path) -> None:
    listener = Listener()
    settings = {**exactly(5), "train.trace_every": 2}
    make_run(tiny_bert, TEXTS, LABELS, settings, reporter=listener).run()
    assert listener.told == [("begin", 5, 0), 1, 2, 3, 4, "end", 5]


def test_the_reporter_hears_of_an_end_by_interruption(tiny_bert: Path) -> None:
    listener = Listener(fail_at=2)
    run = make_run(
        tiny_bert, TEXTS, LABELS, {**exactly(5), "train.trace_every": 1}, reporter=listener
    )
    with pytest.raises(KeyboardInterrupt):
        run.run()
    assert listener.told[-2:] == [2, "end"]
