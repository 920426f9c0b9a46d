"""The stock transformers Trainer trains our model; the callback does the rest of a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import TrainerCallback

from helpers.quick import few_tickets
from helpers.trainers import build, indices, rows_of, trainer_of
from protofit import ProtoFitForSequenceClassification
from protofit.errors import InputError

TEXTS, LABELS = few_tickets()
TARGETS = np.linspace(100, 400, len(TEXTS)).tolist()
RESTLESS = {  # created and pruned all the time
    "head.prune.threshold": 0.9,
    "head.prune.grace": 1,
    "head.prune.window": 2,
}


class Watch(TrainerCallback):
    """What our callback finds before it acts, or leaves behind."""

    def __init__(self, head: Any) -> None:
        self.head, self.bank = head, head.bank
        self.sizes: list[int] = []
        self.changed: list[torch.Tensor] = []
        self.moments: list[tuple[torch.Tensor, ...]] = []
        self.wrong_signs: list[int] = []
        self.at_start: dict[str, torch.Tensor] = {}

    def on_train_begin(self, *_: Any, **kwargs: Any) -> None:
        self.at_start = {name: t.clone() for name, t in self.head.state_dict().items()}

    def on_pre_optimizer_step(self, *_: Any, **kwargs: Any) -> None:
        self.changed.append(self.head.changed.clone())
        state = kwargs["optimizer"].state
        rows = [state[p] for p in (self.bank.vectors, self.bank.outputs) if p in state]
        names = ("exp_avg", "exp_avg_sq")
        self.moments.append(tuple(moments[name].clone() for moments in rows for name in names))

    def on_optimizer_step(self, *_: Any, **kwargs: Any) -> None:
        self.sizes.append(int(self.bank.size))
        own = torch.nn.functional.one_hot(self.bank.labels, self.bank.outputs.shape[1]).bool()
        wrong = torch.where(own, self.bank.outputs < 0, self.bank.outputs > 0)
        self.wrong_signs.append(int(wrong[self.bank.active].sum()))


@pytest.fixture(scope="module")
def watched(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """(trainer, what was there before our callback acted, what it left)."""
    model, tokenizer = build(tiny_bert, LABELS, RESTLESS)
    before, after = Watch(model.head), Watch(model.head)
    trainer = trainer_of(
        model,
        tokenizer,
        rows_of(tokenizer, TEXTS, indices(LABELS)),
        tmp_path_factory.mktemp("trainer"),
        before=[before],
        after=[after],
        max_steps=25,
    )
    trainer.train()
    return trainer, before, after


def test_the_loss_falls(watched: Any) -> None:
    losses = [row["loss"] for row in watched[0].state.log_history if "loss" in row]
    assert len(losses) == 25
    assert np.mean(losses[-5:]) < 0.75 * np.mean(losses[:5])


def test_the_head_starts_from_the_class_means(watched: Any, tiny_bert: Path) -> None:
    start = watched[2].at_start
    assert int(watched[1].at_start["bank.active"].sum()) == 0
    active = start["bank.active"]
    assert start["bank.labels"][active].tolist() == [0, 1]
    model, tokenizer = build(tiny_bert, LABELS)
    encoded = tokenizer(TEXTS, truncation=True, max_length=40, padding=True, return_tensors="pt")
    with torch.no_grad():
        features = model.eval().features(**encoded)
    own = torch.tensor(indices(LABELS))
    means = torch.stack([features[own == label].mean(dim=0) for label in (0, 1)])
    torch.testing.assert_close(start["bank.vectors"][active], means, rtol=1e-4, atol=1e-5)


def test_the_clock_counts_the_steps(watched: Any) -> None:
    head = watched[0].model.head
    assert int(head.clock) == 25 == watched[0].state.global_step
    assert head.due.tolist() == [0, 25, 1, 1]


def test_prototypes_come_and_go(watched: Any) -> None:
    head, sizes = watched[0].model.head, watched[2].sizes
    assert int(head.created) > 5
    assert int(head.pruned) > 5
    assert int(head.bank.size) == 2 + int(head.created) - int(head.pruned) == sizes[-1]
    assert max(sizes) > 2
    present = set(head.bank.labels[head.bank.active].tolist())
    assert present == {0, 1}


def test_the_signs_of_label_logits_are_kept(tiny_bert: Path, tmp_path: Path) -> None:
    labels = ["many", "many", "many", "few"] * 4  # of one text: few are pushed over
    model, tokenizer = build(tiny_bert, labels, {"head.beta": 0.002})
    rows = rows_of(tokenizer, ["late"] * 16, indices(labels))
    before, after = Watch(model.head), Watch(model.head)
    trainer_of(model, tokenizer, rows, tmp_path, before=[before], after=[after]).train()
    assert sum(before.wrong_signs) > 0
    assert sum(after.wrong_signs) == 0


def test_moments_of_rows_that_changed_hands_are_zero(watched: Any) -> None:
    _, before, after = watched
    had_some = 0.0
    for changed, old, new in zip(before.changed, before.moments, after.moments, strict=True):
        for held, left in zip(old, new, strict=True):
            had_some += float(held[changed].abs().sum())
            assert float(left[changed].abs().sum()) == 0
            assert torch.equal(left[~changed], held[~changed])
    assert had_some > 0
    assert not any(changed.any() for changed in after.changed)


def test_what_the_head_did_is_in_the_log(watched: Any) -> None:
    last = [row for row in watched[0].state.log_history if "loss" in row][-1]
    assert {"prototypes", "creation_sqdist", "variance", "created", "pruned"} <= set(last)
    assert last["prototypes"] == watched[2].sizes[-1]


def test_evaluation_and_prediction_with_the_trainer(watched: Any) -> None:
    trainer = watched[0]
    before = {name: t.clone() for name, t in trainer.model.head.state_dict().items()}
    rows = trainer.train_dataset
    assert np.isfinite(trainer.evaluate(rows)["eval_loss"])
    output = trainer.predict(rows)
    np.testing.assert_allclose(np.exp(output.predictions).sum(axis=1), 1, rtol=1e-5)
    assert np.mean(output.predictions.argmax(axis=1) == indices(LABELS)) > 0.8
    for name, tensor in trainer.model.head.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def train(encoder: Path, folder: Path, labels: Any = LABELS, **named: Any) -> Any:
    """A trainer that has run; `settings` and `model` may be given."""
    settings, columns = named.pop("settings", None), named.pop("columns", {})
    resume = named.pop("resume_from_checkpoint", None)
    classes = labels if isinstance(labels[0], str) else None
    model, tokenizer = build(encoder, classes, settings)
    model = named.pop("model", model)
    given = indices(labels) if classes else labels
    rows = rows_of(tokenizer, TEXTS, given, **columns)
    trainer = trainer_of(model, tokenizer, rows, folder, **named)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


@pytest.mark.parametrize("labels", [LABELS, TARGETS], ids=["classification", "regression"])
@pytest.mark.parametrize("start", ["fresh model", "model of the checkpoint"])
def test_resuming_gives_what_the_whole_run_gives(
    tiny_bert: Path, tmp_path: Path, start: str, labels: list[Any]
) -> None:
    named: dict[str, Any] = {"max_steps": 8, "save_strategy": "steps", "save_steps": 4}
    whole = train(tiny_bert, tmp_path / "one", labels, **named)
    checkpoint = tmp_path / "one" / "checkpoint-4"
    if start != "fresh model":
        named["model"] = ProtoFitForSequenceClassification.from_pretrained(checkpoint)
    named["resume_from_checkpoint"] = str(checkpoint)
    resumed = train(tiny_bert, tmp_path / "two", labels, **named)
    expected, found = whole.model.state_dict(), resumed.model.state_dict()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-5, atol=1e-6, msg=name)
    assert int(whole.model.head.created) > 0
    resumed.save_model(str(tmp_path / "final"))
    loaded = ProtoFitForSequenceClassification.from_pretrained(tmp_path / "final")
    assert loaded.config.target_mean == whole.model.config.target_mean
    assert loaded.config.target_scale == whole.model.config.target_scale
    assert loaded.head.config == whole.model.head.config


def test_regression_in_the_unit_of_the_targets(tiny_bert: Path, tmp_path: Path) -> None:
    trainer = train(tiny_bert, tmp_path, TARGETS)
    assert trainer.model.config.target_mean == pytest.approx(np.mean(TARGETS))
    assert trainer.model.config.target_scale == pytest.approx(np.std(TARGETS))
    predicted = trainer.predict(trainer.train_dataset).predictions[:, 0]
    assert 100 <= predicted.min() <= predicted.max() <= 400


def test_a_trained_regressor_keeps_its_unit_when_it_goes_on_with_other_targets(
    tiny_bert: Path, tmp_path: Path
) -> None:
    trainer = train(tiny_bert, tmp_path, TARGETS, max_steps=4)
    trainer.save_model(str(tmp_path / "model"))
    before = trainer.predict(trainer.train_dataset).predictions
    loaded = ProtoFitForSequenceClassification.from_pretrained(tmp_path / "model")
    later = [value + 5000 for value in TARGETS]
    named: dict[str, Any] = {"max_steps": 1, "learning_rate": 1e-30, "model": loaded}
    after = train(tiny_bert, tmp_path / "more", later, **named)
    predicted = after.predict(after.train_dataset).predictions
    assert np.abs(predicted.mean() - before.mean()) < 1000  # not moved without learning


def test_accumulated_batches_weigh_as_much_as_one_large_batch(
    tiny_bert: Path, tmp_path: Path
) -> None:
    firsts = []
    for size, parts in ((8, 1), (4, 2)):
        trainer = train(
            tiny_bert,
            tmp_path,
            settings={"head.creation.rule": "off"},
            max_steps=1,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=parts,
        )
        firsts.append(trainer.state.log_history[0])
        assert trainer.model.head.bank.window.shape[0] == 2  # δ: the steps of an epoch
    assert firsts[1]["loss"] == pytest.approx(firsts[0]["loss"], rel=0.01)
    assert firsts[1]["grad_norm"] == pytest.approx(firsts[0]["grad_norm"], rel=0.01)


def test_rows_of_weight_zero_are_absent_from_the_start(tiny_bert: Path, tmp_path: Path) -> None:
    weights = [0.0] * 4 + [1.0] * 12
    named: dict[str, Any] = {"max_steps": 1, "learning_rate": 1e-30}
    model, tokenizer = build(tiny_bert, LABELS)
    rows = rows_of(tokenizer, TEXTS, indices(LABELS), weights=weights)
    watch = Watch(model.head)
    trainer_of(model, tokenizer, rows, tmp_path, after=[watch], **named).train()
    alone, _ = build(tiny_bert, LABELS)
    other = Watch(alone.head)
    trainer_of(alone, tokenizer, rows[4:], tmp_path, after=[other], **named).train()
    found, expected = (one.at_start["bank.vectors"] for one in (watch, other))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_an_encoder_that_takes_tokens_only(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns that are not its own do not reach it: at the start as little as in a step."""
    model, tokenizer = build(tiny_bert, LABELS)
    forward = model.encoder.forward

    def strict(input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
        return forward(input_ids, attention_mask, token_type_ids)

    monkeypatch.setattr(model.encoder, "forward", strict)
    more = {"weights": [1.0] * len(TEXTS), "number": list(range(len(TEXTS)))}
    rows = rows_of(tokenizer, TEXTS, indices(LABELS), **more)
    trainer = trainer_of(model, tokenizer, rows, tmp_path, max_steps=2)
    trainer.train()
    assert trainer.state.global_step == 2


@pytest.mark.parametrize(("saving", "ready"), [("no", [5]), ("steps", [3, 5])])
def test_heads_are_re_estimated_in_time(
    tiny_bert: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    saving: str,
    ready: list[int],
) -> None:
    """Every R steps; and before the head is saved or the training data is let go of."""
    model, tokenizer = build(tiny_bert, LABELS, {"head.every": 2}, "imp-exact")
    rows = rows_of(tokenizer, TEXTS, indices(LABELS))
    calls: dict[str, list[int]] = {"refresh": [], "ready": []}
    for verb, clocks in calls.items():
        note = lambda clocks=clocks: clocks.append(int(model.head.clock))  # noqa: E731
        monkeypatch.setattr(model.head, verb, note)
    named: dict[str, Any] = {"max_steps": 5, "save_strategy": saving, "save_steps": 3}
    trainer_of(model, tokenizer, rows, tmp_path, **named).train()
    assert calls["refresh"] == [2, 4]
    assert sorted(set(calls["ready"])) == ready


def test_data_without_labels_is_refused(tiny_bert: Path, tmp_path: Path) -> None:
    model, tokenizer = build(tiny_bert, LABELS)
    rows = [{"input_ids": row["input_ids"]} for row in rows_of(tokenizer, TEXTS, LABELS)]
    with pytest.raises(InputError, match="no labels"):
        trainer_of(model, tokenizer, rows, tmp_path).train()
