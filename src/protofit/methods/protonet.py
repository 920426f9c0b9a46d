"""ProtoNet: the nearest class mean (Snell, Swersky and Zemel, NeurIPS 2017).

Every class c has one prototype, the mean p_c of the features of its examples S_c; a text belongs
to the class whose mean is near.

    p_c = (1/|S_c|) Σ_{i∈S_c} f(x_i)
    P(y|x) = exp(−‖f(x) − p_y‖²) / Σ_c exp(−‖f(x) − p_c‖²)
    L = −(1/|Q|) Σ_{(x,y)∈Q} log P(y|x)

Training is episodic: in each batch one half of every class is support S, the other is query Q.

Deviations:
- Episodes are the ordinary shuffled batches, not drawn class by class. Within a class the 1st,
  3rd, … example of the batch is a query and the 2nd, 4th, … is support. With two classes and 32
  texts that is 8 against 8. With 77 classes most classes have one text in a batch or none: a
  single text is a query, because as support nothing would be learned from it.
- A class without support in the batch is represented by its remembered mean, an exponential
  moving average over the batches so far (no gradient). It is moved after the step, so that no
  query is compared with a mean it is part of.
- The mean of n support examples is farther from a query of its own class than a remembered mean
  is: by the within-class variance over n. Where classes are many this pushes queries towards the
  classes that are absent. `prior` = κ > 0 makes the prototype (Σ_S f(x) + κ m_c) / (n + κ), with
  m_c the remembered mean, which removes most of it; κ = 0 is the paper, and both presets.
- At test time the prototypes are the means of all training texts, recomputed in evaluation mode.
- Distances between features of fine-tuned encoders are large and the paper has no temperature:
  `scale` offers −‖·‖²/√D, or −‖·‖²/τ with a learned τ that begins at √D.
- In data-parallel runs each process has its own episode; the remembered means are common.
- Regression: targets are cut into bins of nearly equal counts that act as classes,
  ŷ = Σ_c P(c|x) v_c with v_c the mean target of the bin, and L is the squared error.

Settings: `scale`, `momentum`, `prior`, `bins`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from protofit.config.checks import at_least, one_of, within
from protofit.methods.base import HeadShape, LossOutput, StartView, fit_loss
from protofit.methods.grouped import GroupedMethod
from protofit.methods.protonet_evidence import ProtoNetEvidence
from protofit.prototypes.clusters import membership, weighted_means
from protofit.prototypes.episodes import query_mask, query_weights
from protofit.prototypes.functional import sqdist, widened
from protofit.prototypes.gather import gather_batch
from protofit.prototypes.memory import ClassMemory

Scale = Literal["paper", "dimension", "learned"]


@dataclass(frozen=True)
class ProtoNetConfig:
    """Settings of ProtoNet."""

    scale: Scale = "paper"  # logits −‖·‖² as printed, over √D, or over a learned temperature
    momentum: float = 0.9  # γ of the remembered means, per example of the class
    prior: float = 0.0  # κ, support examples that a remembered mean counts for
    bins: int = 8  # regression: bins that act as classes

    def __post_init__(self) -> None:
        one_of("head.scale", self.scale, ("paper", "dimension", "learned"))
        within("head.momentum", self.momentum, 0, 1)
        at_least("head.prior", self.prior, 0)
        at_least("head.bins", self.bins, 2)

    @classmethod
    def preset(cls, name: str) -> ProtoNetConfig:  # noqa: ARG003
        """The same under every preset."""
        return cls()


class ProtoNet(GroupedMethod, ProtoNetEvidence):
    """P(y|x) = softmax over classes of −‖f(x) − p_y‖²."""

    config_class = ProtoNetConfig
    config: ProtoNetConfig

    def __init__(self, config: ProtoNetConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)
        self.memory = ClassMemory(self.group_count, shape.dimension)
        if config.scale == "learned":
            self.log_temperature = nn.Parameter(torch.tensor(math.log(shape.dimension) / 2))

    def start(self, view: StartView) -> None:
        """Class means of the frozen features of all training data."""
        if self.bins is not None:
            self.bins.fit(view.labels)
        self.memory.set(*self.training_set(view))

    def ready(self) -> None:
        """Exact class means with the encoder as it is now."""
        if self.view is not None:
            self.memory.set(*self.training_set(self.view))

    def forward(self, features: Tensor) -> Tensor:
        """(B, D) → log P(y|x) (B, C), or ŷ (B, 1), by the means in memory."""
        with torch.autocast(features.device.type, enabled=False):
            return self._predict(widened(features), self.memory.means, self.memory.known)

    def _predict(self, features: Tensor, prototypes: Tensor, known: Tensor) -> Tensor:
        scores = -sqdist(features, prototypes) / self.temperature()
        return self.predicted(scores.masked_fill(~known, torch.finfo(scores.dtype).min))

    def temperature(self) -> Tensor | float:
        """What squared distances are divided by."""
        if self.config.scale == "learned":
            return self.log_temperature.exp()
        return 1.0 if self.config.scale == "paper" else math.sqrt(self.shape.dimension)

    @torch.no_grad()
    def observe(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> None:
        """Note the batch for the remembered means."""
        with torch.autocast(features.device.type, enabled=False):
            batch, targets, real = gather_batch(widened(features.detach()), labels, weights)
            self.memory.look(batch, self.groups(targets), real)

    def loss(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> LossOutput:
        """L over the queries of the batch; in evaluation over all of it, by the means in memory."""
        with torch.autocast(features.device.type, enabled=False):
            wide = widened(features)
            if not self.training:
                prediction = self(wide)
                value = fit_loss(prediction, labels, weights, self.shape.task)
                return LossOutput(value, prediction)
            groups = self.groups(labels)
            real = torch.ones_like(groups, dtype=torch.bool) if weights is None else weights > 0
            query = query_mask(groups, real)
            prediction = self._predict(wide, *self._prototypes(wide, groups, real & ~query))
            counted = query_weights(query, real, weights)
            value = fit_loss(prediction, labels, counted, self.shape.task)
        return LossOutput(value, prediction)

    def _prototypes(self, features: Tensor, groups: Tensor, support: Tensor) -> tuple[Tensor, ...]:
        """Class means of the support, shrunk to the remembered ones: (C, D), known (C,)."""
        member = membership(groups, self.group_count) & support.unsqueeze(1)
        means, sizes = weighted_means(member, features)
        prior = self.config.prior * self.memory.known
        share = (sizes / (sizes + prior).clamp_min(1)).unsqueeze(1)
        mixed = torch.lerp(self.memory.means, means, share)
        return mixed, self.memory.known | (sizes > 0)

    def settle(self) -> None:
        """Move the remembered means, advance the clock."""
        self.memory.fold(self.config.momentum)
        super().settle()

    def trace(self) -> dict[str, Tensor]:
        """The temperature, where it is learned."""
        if self.config.scale != "learned":
            return {}
        return {"temperature": self.log_temperature.detach().exp()}
