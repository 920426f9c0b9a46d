"""One set of runs on its way through a fleet, from the first step to the best state of each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from protofit.bench.fleet.fleet import Fleet
from protofit.bench.fleet.graphs import Captured
from protofit.bench.fleet.heads import HeadStep
from protofit.bench.fleet.members import Member, make_schedule, state_of
from protofit.bench.fleet.texts import packed_length
from protofit.methods.base import Method

TRACES = 20  # samples of K a run


class Voyage:
    """One use: `Voyage(fleet, members, labels).run()`."""

    def __init__(self, fleet: Fleet, members: Sequence[Member], labels: Tensor) -> None:
        if len(members) != fleet.copies:
            raise ValueError(f"a fleet of {fleet.copies} got {len(members)} runs")
        self.fleet, self.members, self.labels = fleet, members, labels
        self.schedule = make_schedule(members, fleet.texts.widths)
        self.steps = len(self.schedule.tokens)
        fleet.reset([m.config.learning_rate for m in members], [m.skip for m in members])
        self.kept = fleet.weights.spare()
        columns = [[(m.mean, m.scale)] for m in members]
        units = torch.tensor(columns, dtype=torch.float32, device=fleet.device)
        self.means, self.scales = units[..., 0], units[..., 1]
        self.states = [state_of(member.head) for member in members]

    def run(self) -> np.ndarray:
        """Train; put the kept states back. Losses (S, R), NaN where a run had ended."""
        fleet, device = self.fleet, self.fleet.device
        rows = torch.from_numpy(self.schedule.rows).to(device)
        weights = torch.from_numpy(self.schedule.weights).to(device)
        losses = torch.full((self.steps, len(self.members)), math.nan, device=device)
        heads = HeadStep(self.members, fleet.features, fleet.gradient)
        self._judge(0)
        captured = Captured(fleet.make_pool())
        for step in range(self.steps):
            self._refresh(step)
            length = packed_length(int(self.schedule.tokens[step]))
            fleet.rows.copy_(rows[step])
            heads.labels.copy_(self._labels())
            heads.weights.copy_(weights[step])
            fleet.forward(length)
            captured.run(heads.run)
            fleet.backward(length)
            losses[step].copy_(heads.losses)
            self._trace(step + 1)
            self._judge(step + 1)
            if all(member.finished for member in self.members):
                break
        fleet.weights.restore(self.kept)
        for member, state in zip(self.members, self.states, strict=True):
            member.head.load_state_dict(state)
        return losses.cpu().numpy()

    def _labels(self) -> Tensor:
        """Class indices (R, B); or targets standardised by each run's own subset."""
        labels = self.labels[self.fleet.rows]
        if self.members[0].head.shape.task != "regression":
            return labels
        return (labels - self.means) / self.scales

    def _look_again(self) -> None:
        """Let every view see its training texts through the encoder of this moment."""
        features = self.fleet.embed([member.rows for member in self.members])
        for member, found in zip(self.members, features, strict=True):
            member.current = found

    def _refresh(self, step: int) -> None:
        due = [m for m in self.members if step and m.refresh_due(step)]
        if due:
            self._look_again()
        for member in due:
            member.head.refresh()

    def _trace(self, step: int) -> None:
        every = max(1, math.ceil(self.steps / TRACES))
        for member in self.members:
            if member.finished:
                continue
            member.seen = step
            if step % every == 0 or step in (1, member.total):
                figures = {name: float(value) for name, value in member.head.trace().items()}
                member.trace.append({"step": step, **figures})

    def _judge(self, step: int) -> None:
        """Keep what is best on a held-back slice, or what stands at the end."""
        running = [member for member in self.members if not member.finished]
        judged = [m for m in running if step and len(m.held) and m.epoch_ends(step)]
        ending = [m for m in running if m.total == step]
        if not judged and not ending:
            return
        if any(type(member.head).ready is not Method.ready for member in running):
            self._look_again()
            for member in running:
                member.head.ready()
        if judged:
            self._score(judged, step)
        for member in ending:
            if member.best_step is None:
                self._keep(member, step)
            member.finished = True

    def _score(self, judged: Sequence[Member], step: int) -> None:
        features = self.fleet.embed([member.held for member in self.members])
        for r, member in enumerate(self.members):
            if all(member is not other for other in judged):
                continue
            score = slice_score(member, features[r], self.labels)
            if member.stopping.improves(score):
                self._keep(member, step)
            member.finished = member.stopping.stopped

    def _keep(self, member: Member, step: int) -> None:
        r = next(i for i, other in enumerate(self.members) if other is member)
        member.best_step = step
        self.fleet.weights.keep(self.kept, r)
        self.states[r] = state_of(member.head)


@torch.no_grad()
def slice_score(member: Member, features: Tensor, labels: Tensor) -> list[float]:
    """As the loop judges: accuracy, then mean log-probability; −MSE in regression."""
    member.head.eval()
    prediction = member.head(features)
    member.head.train()
    truth = labels[torch.from_numpy(member.held).to(labels.device)]
    if member.head.shape.task == "regression":
        value = prediction.squeeze(1) * member.scale + member.mean
        return [-float((value - truth).square().mean())]
    right = (prediction.argmax(dim=1) == truth).double().mean()
    return [float(right), float(prediction.gather(1, truth.unsqueeze(1)).mean())]
