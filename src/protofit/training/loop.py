"""The only training loop there is: for the estimators, the command and the benchmarks."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit.config.train import TrainConfig
from protofit.data.batches import epoch_batches, rank_share, split_slice
from protofit.data.tokens import Tokens
from protofit.errors import ProtoFitError
from protofit.methods.base import StartView
from protofit.model.inference import frozen_features, predict_logits
from protofit.model.precision import encoder_precision
from protofit.randomness import generator, stream_seed
from protofit.storage.trace import Row
from protofit.training.accelerator import choose_device, make_accelerator, private_randomness
from protofit.training.optimiser import (
    build_optimiser,
    flat_state,
    load_flat_state,
    set_rates,
    zero_rows,
)
from protofit.training.plan import Plan, make_plan, rate_factor
from protofit.training.reporter import Reporter
from protofit.training.state import RunState
from protofit.training.stopping import Stopping
from protofit.training.trace import TraceBuffer


@dataclass(frozen=True)
class TrainData:
    """Tokenised training examples."""

    tokens: Tokens
    labels: np.ndarray  # (N,) class indices, or targets in their own unit
    weights: np.ndarray | None = None  # (N,), averaging to 1


@dataclass(frozen=True)
class RunOptions:
    """Where and how a run happens; nothing here changes its result on one device."""

    device: str | None = None  # None: the best there is
    checkpoint: Path | None = None  # folder of the checkpoint; None keeps none
    resume: bool = False
    fingerprint: str = ""  # of data, settings, encoder
    tracker: str | None = None  # a tracker that accelerate knows, e.g. "tensorboard"
    tracker_dir: Path | None = None


@dataclass(frozen=True)
class RunResult:
    """What a run leaves beside the trained model."""

    trace: list[Row]
    steps: int
    seconds: float
    stopped_early: bool
    best_score: list[float] | None


class Run:
    """One training run of a model on data."""

    def __init__(
        self,
        model: Any,
        data: TrainData,
        config: TrainConfig,
        seed: int,
        options: RunOptions,
        reporter: Reporter,
    ) -> None:
        self.model, self.data, self.config, self.seed = model, data, config, seed
        self.options, self.reporter = options, reporter
        self.accelerator = make_accelerator(config.accumulate, options.tracker, options.tracker_dir)
        self.device = choose_device(options.device, self.accelerator)
        launched_half = self.accelerator.mixed_precision == "bf16"
        auto = config.precision == "auto"
        self.precision = "bfloat16" if auto and launched_half else config.precision
        self.rows, self.held = self._split()
        self.plan: Plan = make_plan(len(self.rows), config)
        if not model.head.trains:
            self.plan = replace(self.plan, total_steps=0)
        self.stopping = Stopping(config.patience)
        self.state = RunState(options.fingerprint)
        self._epoch: tuple[int, list[np.ndarray]] = (-1, [])

    def _split(self) -> tuple[np.ndarray, np.ndarray]:
        count = len(self.data.labels)
        if not self.config.validation_share or not self.model.head.trains:
            return np.arange(count), np.arange(0)
        strata = None if self.model.config.task == "regression" else self.data.labels
        return split_slice(strata, count, self.config.validation_share, self.seed)

    def run(self) -> RunResult:
        """Train to the end, or to the point where the slice says stop."""
        began = time.perf_counter()
        self.model.to(self.device)
        with private_randomness(self.device):
            saved = self._load()
            view = self._view()
            self.model.head.attach(view)
            if saved is None:
                self.reporter.stage("starting from frozen features")
                self._start(view)
            wrapped, optimiser = self._prepare(saved)
            buffer = TraceBuffer(list(self.state.trace))
            self._steps(wrapped, optimiser, buffer, began)
            self._finish(buffer)
        seconds = self.state.seconds + time.perf_counter() - began
        return RunResult(
            buffer.rows, self.state.step, seconds, self.stopping.stopped, self.stopping.best
        )

    def _load(self) -> RunState | None:
        folder = self.options.checkpoint
        if folder is None or not self.options.resume:
            return None
        return RunState.load(folder, self.options.fingerprint)

    def _start(self, view: StartView) -> None:
        torch.manual_seed(stream_seed(self.seed, "start"))
        self.model.head.start(view)
        self.model.sync_config()

    def _view(self) -> StartView:
        """What the method may see of the training data: examples of weight 0 are not there."""
        weights = self.data.weights
        rows = self.rows if weights is None else self.rows[weights[self.rows] > 0]
        labels = self.model.inner_labels(torch.from_numpy(self.data.labels[rows])).numpy()
        return StartView(
            labels=labels,
            features=lambda picked: frozen_features(self.model, self.data.tokens, rows[picked]),
            generator=lambda purpose: generator(self.seed, purpose),
            steps_per_epoch=self.plan.steps_per_epoch,
            total_steps=self.plan.total_steps,
        )

    def _prepare(self, saved: RunState | None) -> tuple[Any, Any]:
        """Restore what was saved, build the optimiser, wrap for data-parallel processes."""
        if saved is not None:
            self.state = saved
            self.model.restore_head_config(saved.head)
            self.model.load_state_dict(saved.model)
            self.stopping = Stopping(
                self.config.patience,
                saved.best_score,
                saved.bad_epochs,
                saved.stopped,
                saved.best_weights,
            )
        optimiser = build_optimiser(self.model, self.config)
        if saved is not None:
            load_flat_state(optimiser, saved.optimiser)
        wrapped = self.model
        if self.accelerator.num_processes > 1:
            wrapped = self.accelerator.prepare_model(self.model)
        if self.options.tracker:
            self.accelerator.init_trackers("protofit")
        return wrapped, optimiser

    def _steps(self, wrapped: Any, optimiser: Any, buffer: TraceBuffer, began: float) -> None:
        self.reporter.begin(self.plan.total_steps, self.state.step)
        self.model.train()
        try:
            while self.state.step < self.plan.total_steps and not self.stopping.stopped:
                step = self.state.step
                every = self.model.head.refresh_every
                if every and step and step % every == 0:
                    self.model.head.refresh()
                self._step(wrapped, optimiser, buffer, step)
                self.state.step = step + 1
                if self.state.step % self.config.trace_every == 0:
                    self._read_trace(buffer)
                if len(self.held) and self.state.step % self.plan.steps_per_epoch == 0:
                    self.stopping.see(self._slice_score(), self.model)
                if self.state.step % self.config.checkpoint_every == 0:
                    self._checkpoint(optimiser, buffer, began)
        finally:
            self.reporter.end()

    def _step(self, wrapped: Any, optimiser: Any, buffer: TraceBuffer, step: int) -> None:
        factor = rate_factor(step, self.plan.total_steps, self.config)
        set_rates(optimiser, factor)
        batches = self._batches_of(step)
        values: dict[str, Tensor] = {}
        for micro, rows in enumerate(batches):
            rank = self.accelerator.process_index
            torch.manual_seed(stream_seed(self.seed, "dropout", step, micro, rank))
            last = micro == len(batches) - 1
            sync = contextlib.nullcontext() if last else self.accelerator.no_sync(wrapped)
            with sync:
                values = self._forward_backward(wrapped, rows, len(batches))
        if self.config.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        for parameter, changed in self.model.head.recycled():
            zero_rows(optimiser, parameter, changed)
        optimiser.step()
        optimiser.zero_grad()
        self.model.head.settle()
        epoch = step / self.plan.steps_per_epoch
        rate = self.config.learning_rate * factor
        host = {"step": step + 1, "epoch": round(epoch, 4), "learning_rate": rate}
        buffer.add(host, {**values, **self.model.head.trace()})

    def _forward_backward(self, wrapped: Any, rows: np.ndarray, parts: int) -> dict[str, Tensor]:
        world = self.accelerator.num_processes
        mine, real = rank_share(rows, self.accelerator.process_index, world)
        batch = self.data.tokens.batch(mine, self.device)
        labels = torch.from_numpy(self.data.labels[mine]).to(self.device)
        if self.data.weights is not None or not real.all() or len(mine) * world != len(rows):
            weights = np.ones(len(mine)) if self.data.weights is None else self.data.weights[mine]
            weights = weights * real * (len(mine) * world / len(rows))
            batch["weights"] = torch.from_numpy(weights.astype(np.float32)).to(self.device)
        with encoder_precision(self.precision, self.device):
            output = wrapped(**batch, labels=labels)
            (output.loss / parts).backward()
        return {"loss": output.loss.detach(), **self._quality(output.logits.detach(), labels)}

    def _quality(self, logits: Tensor, labels: Tensor) -> dict[str, Tensor]:
        if self.model.config.task == "regression":
            return {"squared_error": (logits.squeeze(1) - labels).square().mean()}
        return {"accuracy": (logits.argmax(dim=1) == labels).float().mean()}

    def _batches_of(self, step: int) -> list[np.ndarray]:
        """The global batches of one optimiser step, as rows of the data."""
        epoch, index = divmod(step, self.plan.steps_per_epoch)
        if self._epoch[0] != epoch:
            lengths = self.data.tokens.lengths[self.rows]
            order = epoch_batches(
                lengths, self.config.batch_size, self.seed, epoch, self.config.bucket_batches
            )
            self._epoch = (epoch, order)
        size = self.config.accumulate
        return [self.rows[batch] for batch in self._epoch[1][index * size : (index + 1) * size]]

    def _slice_score(self) -> list[float]:
        self.model.head.ready()
        logits = predict_logits(self.model, self.data.tokens, self.held)
        labels = self.data.labels[self.held]
        if self.model.config.task == "regression":
            return [-float(np.square(logits[:, 0] - labels).mean())]
        right = float((logits.argmax(axis=1) == labels).mean())
        return [right, float(logits[np.arange(len(labels)), labels].mean())]

    def _read_trace(self, buffer: TraceBuffer) -> None:
        new = buffer.flush()
        for row in new:
            if not math.isfinite(row["loss"]):
                raise ProtoFitError(
                    f"training diverged: the loss of step {row['step']} is {row['loss']}",
                    fix="Lower train.learning_rate, or set train.clip_norm=1.",
                )
            self.reporter.advance(row)
        if new and self.options.tracker:
            self.accelerator.log(new[-1], step=int(new[-1]["step"]))

    def _checkpoint(self, optimiser: Any, buffer: TraceBuffer, began: float) -> None:
        folder = self.options.checkpoint
        if folder is None or not self.accelerator.is_main_process:
            return
        self._read_trace(buffer)
        RunState(
            fingerprint=self.options.fingerprint,
            step=self.state.step,
            model=dict(self.model.state_dict()),
            optimiser=flat_state(optimiser),
            best_weights=self.stopping.weights,
            best_score=self.stopping.best,
            bad_epochs=self.stopping.bad_epochs,
            stopped=self.stopping.stopped,
            seconds=self.state.seconds + time.perf_counter() - began,
            trace=buffer.rows,
            head=self.model.config.head,
        ).save(folder)

    def _finish(self, buffer: TraceBuffer) -> None:
        self._read_trace(buffer)
        if self.stopping.weights:
            self.model.load_state_dict(self.stopping.weights)
        else:
            self.model.head.ready()
        self.model.head.attach(None)
        self.model.eval()
        if self.options.tracker:
            self.accelerator.end_training()
