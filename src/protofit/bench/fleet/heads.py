"""One step of the heads of a fleet: each its own module, side by side on several streams."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from protofit.bench.fleet.members import Member
from protofit.training.optimiser import zero_rows

STREAMS = 8


class HeadStep:
    """Observe, loss, backward, optimiser and settle of every head; gradients of the features."""

    def __init__(self, members: Sequence[Member], features: Tensor, gradient: Tensor) -> None:
        self.members = members
        self.features = features  # (R, B, D) float32, written by the encoder
        self.gradient = gradient  # (R, B, D), written here
        device, shape = features.device, features.shape[:2]
        regression = members[0].head.shape.task == "regression"
        kind = torch.float32 if regression else torch.long
        self.labels = torch.zeros(shape, dtype=kind, device=device)
        self.weights = torch.ones(shape, device=device)
        self.losses = torch.zeros(len(members), device=device)
        cuda = device.type == "cuda"
        count = STREAMS if cuda else 0
        self.streams = [torch.cuda.Stream() for _ in range(count)]  # type: ignore[no-untyped-call]
        self.optimisers = [_optimiser(member, capturable=cuda) for member in members]

    def run(self) -> None:
        """One step with the present features, labels and weights."""
        with self._branches() as branch:
            for r in range(len(self.members)):
                with branch(r):
                    self._one(r)

    def _one(self, r: int) -> None:
        head, optimiser = self.members[r].head, self.optimisers[r]
        leaf = self.features[r].detach().requires_grad_()
        head.observe(leaf.detach(), self.labels[r], self.weights[r])
        output = head.loss(leaf, self.labels[r], self.weights[r])
        optimiser.zero_grad()
        output.loss.backward()  # type: ignore[no-untyped-call]
        self.gradient[r].copy_(torch.zeros_like(leaf) if leaf.grad is None else leaf.grad)
        self.losses[r].copy_(output.loss.detach())
        for parameter, changed in head.recycled():
            zero_rows(optimiser, parameter, changed)
        optimiser.step()
        head.settle()

    @contextlib.contextmanager
    def _branches(self) -> Iterator[_Branch]:
        """Fork from the present stream, join it again."""
        if not self.streams:
            yield _Branch([])
            return
        main = torch.cuda.current_stream()
        for stream in self.streams:
            stream.wait_stream(main)
        yield _Branch(self.streams)
        for stream in self.streams:
            main.wait_stream(stream)


class _Branch:
    def __init__(self, streams: list[torch.cuda.Stream]) -> None:
        self.streams = streams

    def __call__(self, r: int) -> contextlib.AbstractContextManager[object]:
        if not self.streams:
            return contextlib.nullcontext()
        return torch.cuda.stream(self.streams[r % len(self.streams)])


def _optimiser(member: Member, *, capturable: bool) -> torch.optim.Optimizer:
    rate = member.config.head_learning_rate or member.config.learning_rate
    parameters = [p for p in member.head.parameters() if p.requires_grad]
    if not parameters:
        parameters = [torch.nn.Parameter(torch.zeros(()))]  # an optimiser wants something
    return torch.optim.Adam(parameters, lr=rate, fused=True, capturable=capturable)
