"""The engine that trains many runs at once on one GPU (or, for tests, on a processor).

What differs from `training/loop.py`: the encoder is ours, stacked (features, gradients and steps
are tested against the original); products and the states between layers are bfloat16 on a GPU,
also in evaluation; batches of one epoch come in an order common to the fleet; dropout is drawn
for the whole fleet. The rest of a run (subset, slice, start, creation, pruning, stopping, figures)
is the same code or the same rule.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from protofit.bench.fleet.fleet import Fleet
from protofit.bench.fleet.members import Member
from protofit.bench.fleet.task import FleetTask
from protofit.bench.fleet.voyage import Voyage
from protofit.bench.outcome import (
    Diverged,
    Outcome,
    error_record,
    figures,
    record_of,
    slice_figures,
)
from protofit.bench.records import Record
from protofit.bench.trial import Trial
from protofit.bench.version import code_version
from protofit.bench.workbench import Workbench
from protofit.config.fields import to_dict
from protofit.data.batches import split_slice
from protofit.errors import ProtoFitError, ProtoFitWarning
from protofit.methods.base import HeadShape, Method, StartView
from protofit.methods.registry import build_method, method_class
from protofit.randomness import generator, stream_seed
from protofit.training.accelerator import private_randomness
from protofit.training.plan import make_plan
from protofit.training.stopping import Stopping

COPIES = 15  # runs side by side
BREAKS = 2  # voyages that may break before the rest of a set goes by plain operations
LOST = 2  # voyages in a row that may fail for good before the engine gives up


class FleetEngine:
    """Groups trials by set and size, and sends them out `copies` at a time."""

    name = "fleet"

    def __init__(self, copies: int = COPIES) -> None:
        self.copies = copies
        self.pace = VoyagePace()

    def accepts(self, trial: Trial) -> bool:
        """Every method of the library, on encoders that can be stacked."""
        return not trial.external

    def run(self, trials: Sequence[Trial], bench: Workbench) -> Iterator[Record]:
        """Cell by cell; the order of the records is that of the voyages."""
        lost = 0
        for group in _groups(trials, lambda t: (t.data, t.encoder)):
            if not bench.clock.allows(self.pace.seconds(group[0])):
                return
            harbour = Harbour(FleetTask(group, bench), min(self.copies, len(group)), bench)
            for chunk in _chunks(group, harbour.copies):
                if not bench.clock.allows(self.pace.seconds(chunk[0])):
                    return
                began = time.perf_counter()
                try:
                    records = harbour.records(chunk)
                except RuntimeError as error:
                    lost += 1
                    if lost == LOST:
                        raise
                    _warn(f"{len(chunk)} runs are left for another time ({_cause(error)})", chunk)
                    continue
                lost = 0
                self.pace.note(chunk[0], time.perf_counter() - began)
                yield from records


class VoyagePace:
    """How long the next voyage may take: the longest so far, more where it has more steps."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.steps = 1

    def note(self, trial: Trial, seconds: float) -> None:
        """A voyage with this trial took so long."""
        if seconds > self.longest:
            self.longest, self.steps = seconds, max(1, trial.planned_steps())

    def seconds(self, trial: Trial) -> float:
        """0 before the first."""
        return self.longest * max(1.0, trial.planned_steps() / self.steps)


class Harbour:
    """The fleet of a task. What breaks in fast code is done again by plain operations."""

    def __init__(self, task: FleetTask, copies: int, bench: Workbench) -> None:
        self.task, self.copies, self.bench = task, copies, bench
        self.breaks = 0
        self._fleet: Fleet | None = None

    @property
    def fast(self) -> bool:
        """Whether fast code is to be used."""
        return self.task.device.type == "cuda" and self.breaks < BREAKS

    def records(self, chunk: Sequence[Trial]) -> list[Record]:
        """Of the runs of a chunk, by a fast voyage or else by a plain one."""
        fast = self.fast
        try:
            return self._sail(chunk, fast=fast)
        except ProtoFitError:
            raise
        except Exception as error:  # compilers and kernels have exceptions of their own
            self._fleet = None  # half-captured
            if not fast:
                raise
            self.breaks += 1
            _warn(
                f"a fast voyage broke and is made again by plain operations ({_cause(error)})",
                chunk,
            )
        if self.task.device.type == "cuda":
            torch.cuda.empty_cache()
        try:
            return self._sail(chunk, fast=False)
        finally:
            self._fleet = None

    def _sail(self, chunk: Sequence[Trial], *, fast: bool) -> list[Record]:
        if self._fleet is None or self._fleet.fast != fast:
            self._fleet = make_fleet(chunk[0], self.task, self.copies, fast=fast)
        return Chunk(chunk, self.task, self._fleet, self.bench).records()


def make_fleet(trial: Trial, task: FleetTask, copies: int, *, fast: bool) -> Fleet:
    """A fleet for trials like this one; bfloat16 on a GPU."""
    low = torch.bfloat16 if task.device.type == "cuda" else torch.float32
    batch = trial.settings().train.batch_size
    return Fleet(task.shape, task.small_base(), task.texts, copies, batch, low, fast=fast)


def _warn(text: str, chunk: Sequence[Trial]) -> None:
    warnings.warn(f"{chunk[0]} and {len(chunk) - 1} more: {text}", ProtoFitWarning, stacklevel=3)


def _cause(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _chunks(trials: Sequence[Trial], copies: int) -> Iterator[list[Trial]]:
    """Cell by cell, as many trials as there is room for.

    Methods that look at all training texts again share voyages: the others need not wait for it.
    """
    for cell in _groups(trials, lambda t: (t.planned_steps(), t.size, t.protocol)):
        ordered = sorted(cell, key=_looks_again)
        for start in range(0, len(ordered), copies):
            yield ordered[start : start + copies]


def _looks_again(trial: Trial) -> bool:
    kind = method_class(trial.settings().method)
    return kind.ready is not Method.ready or kind.refresh is not Method.refresh


class Chunk:
    """As many trials as a fleet has room for; empty places repeat the last trial."""

    def __init__(
        self, trials: Sequence[Trial], task: FleetTask, fleet: Fleet, bench: Workbench
    ) -> None:
        self.trials, self.task, self.fleet, self.bench = trials, task, fleet, bench
        self.code = code_version()

    def records(self) -> list[Record]:
        """Train, measure, record."""
        began = time.perf_counter()
        device = self.task.device
        filled = [*self.trials, *[self.trials[-1]] * (self.fleet.copies - len(self.trials))]
        with private_randomness(device):
            torch.manual_seed(stream_seed(0, "fleet", *[int(t.key(self.code), 16) % 2**32
                                                        for t in self.trials]))  # fmt: skip
            members = [self.member(trial) for trial in filled]
            labels = self.task.labels
            losses = Voyage(self.fleet, members, labels).run()
        outcomes = self._outcomes(members, losses)
        seconds = (time.perf_counter() - began) / len(self.trials)
        where: dict[str, Any] = {
            "engine": FleetEngine.name, "device": self.bench.device_name, "seconds": seconds,
        }  # fmt: skip
        return [
            error_record(trial, self.code, str(outcome), **where)
            if isinstance(outcome, Diverged)
            else record_of(trial, self.code, outcome, **where)
            for trial, outcome in zip(self.trials, outcomes, strict=False)
        ]

    def member(self, trial: Trial) -> Member:
        """The run of a trial before its first step: head, rows, slice, plan."""
        settings = trial.settings()
        labelled, task = self.task.labelled, self.task
        subset = task.subsets[trial.size, trial.seed]
        regression = labelled.classes is None
        labels = labelled.train.labels[task.pool_rows[subset]]
        strata = None if regression else labels
        outputs = 1 if labelled.classes is None else len(labelled.classes)
        shape = HeadShape(task.shape.dimension, outputs,
                          "regression" if regression else "classification")  # fmt: skip
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(stream_seed(trial.seed, "build"))
            head = build_method(settings.method, to_dict(settings.head), shape)
        kept = np.arange(len(subset))
        held = kept[:0]
        if settings.train.validation_share and head.trains:
            share = settings.train.validation_share
            kept, held = split_slice(strata, len(subset), share, trial.seed)
        plan = make_plan(len(kept), settings.train)
        if not head.trains:
            plan = replace(plan, total_steps=0)
        member = Member(
            head=head.to(task.device).train(),
            rows=subset[kept],
            held=subset[held],
            config=settings.train,
            plan=plan,
            seed=trial.seed,
            skip=settings.encoder.skip_connection,
            stopping=Stopping(settings.train.patience),
        )
        if regression:
            member.mean, member.scale = float(labels.mean()), float(labels.std()) or 1.0
        frozen = task.frozen_features(skip=member.skip)
        member.current = frozen[torch.from_numpy(member.rows).to(task.device)]
        inner = (labels[kept] - member.mean) / member.scale if regression else labels[kept]
        view = StartView(
            labels=inner,
            features=member.look,
            generator=lambda purpose: generator(trial.seed, purpose),
            steps_per_epoch=plan.steps_per_epoch,
            total_steps=plan.total_steps,
        )
        head.attach(view)
        head.start(view)
        return member

    def _outcomes(self, members: Sequence[Member], losses: np.ndarray) -> list[Any]:
        task = self.task
        heads = [member.head for member in members[: len(self.trials)]]  # no repeats of the last
        dev = {split: task.predict(self.fleet, heads, split) for split in task.labelled.dev}
        held = self._held_logits(members)
        return [
            self._outcome(r, members[r], trial, losses[:, r], dev, held)
            for r, trial in enumerate(self.trials)
        ]

    @torch.no_grad()
    def _held_logits(self, members: Sequence[Member]) -> list[np.ndarray] | None:
        if not any(len(member.held) for member in members):
            return None
        features = self.fleet.embed([member.held for member in members])
        for member in members:
            member.head.eval()
        return [
            member.head(found).float().cpu().numpy()
            for member, found in zip(members, features, strict=True)
        ]

    def _outcome(
        self,
        r: int,
        member: Member,
        trial: Trial,
        losses: np.ndarray,
        dev: dict[str, list[np.ndarray]],
        held: list[np.ndarray] | None,
    ) -> Outcome | Diverged:
        regression = self.task.labelled.classes is None
        try:
            if not np.isfinite(losses[: member.seen]).all():
                raise Diverged("the loss is not finite")
            found = {
                split: figures(member.units(logits[r]), self.task.labelled.dev[split].labels,
                               regression=regression)
                for split, logits in dev.items()
            }  # fmt: skip
            chosen = None
            if held is not None and len(member.held):
                truth = self.task.labels.cpu().numpy()[member.held]
                chosen = slice_figures(member.units(held[r]), truth, regression=regression)
        except Diverged as reason:
            return reason
        parameters = sum(value.numel() for value in self.task.base.values())
        parameters += sum(parameter.numel() for parameter in member.head.parameters())
        return Outcome(
            subset=self.task.hashes[trial.size, trial.seed],
            steps=member.seen,
            dev=found,
            slice=chosen,
            best_step=member.best_step if len(member.held) and member.total else None,
            parameters=parameters,
            trace=member.trace,
        )


def _groups(trials: Sequence[Trial], key: Any) -> list[list[Trial]]:
    """Trials with the same key together, in the order of first appearance."""
    found: dict[Any, list[Trial]] = {}
    for trial in trials:
        found.setdefault(key(trial), []).append(trial)
    return list(found.values())
