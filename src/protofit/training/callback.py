"""ProtoFit under the stock Hugging Face `Trainer`: what a step needs beside its gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import TrainerCallback

from protofit.errors import InputError
from protofit.methods.base import StartView
from protofit.model.inference import evaluating
from protofit.randomness import generator
from protofit.training.optimiser import zero_rows

START_BATCH = 64
TOKENS = ("input_ids", "attention_mask", "token_type_ids")  # what the model gives its encoder


class ProtoFitCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Add it to `Trainer(callbacks=[ProtoFitCallback()])`; the model is ours, the loop theirs.

    Creation happens in the model's forward pass; here: initialisation before the first step,
    recycled optimiser rows before each step, sign projection and pruning after it.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Initialise the head from frozen features, unless a checkpoint already did."""
        model, loader = kwargs["model"], kwargs["train_dataloader"]
        per_epoch = math.ceil(len(loader) / args.gradient_accumulation_steps)
        rows = [i for i, row in enumerate(loader.dataset) if float(row.get("weights", 1)) > 0]
        labels = np.asarray([_label_of(loader.dataset[i]) for i in rows])
        fresh = int(model.head.clock) == 0
        unit_known = (model.config.target_mean, model.config.target_scale) != (0.0, 1.0)
        if model.config.task == "regression" and (fresh or not unit_known):
            model.config.target_mean = float(labels.mean())
            model.config.target_scale = float(labels.std()) or 1.0
        inner = model.inner_labels(torch.from_numpy(labels)).numpy()
        view = StartView(
            labels=inner,
            features=lambda picked: _features(model, loader, np.asarray(rows)[picked]),
            generator=lambda purpose: generator(args.seed, purpose),
            steps_per_epoch=per_epoch,
            total_steps=state.max_steps,
        )
        model.head.attach(view)
        if fresh:
            model.head.start(view)
        model.sync_config()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Re-estimate from the training data, where the method does that."""
        head = kwargs["model"].head
        every = head.refresh_every
        if every and state.global_step and state.global_step % every == 0:
            head.refresh()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Bring the head up to date before it is evaluated or saved."""
        if control.should_evaluate or control.should_save:
            kwargs["model"].head.ready()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Bring the head up to date and let go of the training data."""
        head = kwargs["model"].head
        head.ready()
        head.attach(None)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Forget the moments of rows that changed hands."""
        optimiser = kwargs["optimizer"]
        inner = getattr(optimiser, "optimizer", optimiser)
        for parameter, rows in kwargs["model"].head.recycled():
            zero_rows(inner, parameter, rows)

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Project, prune, advance the clock."""
        kwargs["model"].head.settle()

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Put K, λ, σ and the totals beside the trainer's own figures."""
        logs = kwargs.get("logs")
        if logs is None or "loss" not in logs:
            return
        figures = {name: float(value) for name, value in kwargs["model"].head.trace().items()}
        logs.update(figures)
        if state.log_history:
            state.log_history[-1].update(figures)


def _label_of(row: dict[str, Any]) -> Any:
    for name in ("labels", "label"):
        if name in row:
            return row[name]
    raise InputError(
        "the training data has no labels", where="Trainer", fix="Name the column 'labels'."
    )


def _features(model: Any, loader: Any, rows: np.ndarray) -> Tensor:
    device = next(model.parameters()).device
    parts = []
    with torch.no_grad(), evaluating(model):
        for start in range(0, len(rows), START_BATCH):
            chosen = [loader.dataset[int(row)] for row in rows[start : start + START_BATCH]]
            batch = loader.collate_fn(chosen)
            batch = {name: batch[name].to(device) for name in TOKENS if name in batch}
            parts.append(model.features(**batch).float())
    return torch.cat(parts)
