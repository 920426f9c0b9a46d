"""What IMP and DP-means share: clusters per class, made in episodes or from all training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from protofit.config.checks import above, at_least, within
from protofit.methods.bank_evidence import ClusterEvidence
from protofit.methods.base import HeadShape, LossOutput, StartView, fit_loss
from protofit.methods.grouped import GroupedMethod
from protofit.prototypes.bank import PrototypeBank
from protofit.prototypes.clusters import Rule, class_logits, membership
from protofit.prototypes.episodes import (
    Clusters,
    cluster_all,
    episode_clusters,
    query_mask,
    query_weights,
)
from protofit.prototypes.functional import sqdist, widened
from protofit.prototypes.gather import gather_batch
from protofit.prototypes.memory import ClassMemory


@dataclass(frozen=True)
class ClusterConfig:
    """Settings of every clustering head."""

    variance: float = 5.0  # σ at the start, or for good: 5 as IMP on Omniglot
    alpha: float = 0.1  # α, concentration of the Chinese restaurant process
    capacity: int | None = None  # P_max, the same for every class; None: 100, or 2 per class
    first_only: bool = False  # create by the distance to the class mean alone (published code)
    bins: int = 8  # regression: bins that act as classes

    def __post_init__(self) -> None:
        above("head.variance", self.variance, 0)
        above("head.alpha", self.alpha, 0)
        at_least("head.capacity", self.capacity, 1)
        at_least("head.bins", self.bins, 2)

    def room(self, classes: int) -> int:
        """Most clusters of one class at test time, its mean among them."""
        wanted = max(2 * classes, 100) if self.capacity is None else self.capacity
        return max(1, wanted // classes)


@dataclass(frozen=True)
class EpisodeConfig(ClusterConfig):
    """Settings of a clustering head that trains in episodes."""

    momentum: float = 0.9  # γ of the means of classes absent from a batch, per example

    def __post_init__(self) -> None:
        super().__post_init__()
        within("head.momentum", self.momentum, 0, 1)


class ClusterMethod(GroupedMethod, ClusterEvidence):
    """P(y|x) by the closest cluster of every class, out of a bank of fixed capacity."""

    config: ClusterConfig
    hard: ClassVar[bool]  # all responsibility to the nearest cluster
    threshold: Tensor
    rho: Tensor
    size: Tensor
    created: Tensor
    pruned: Tensor

    def __init__(self, config: ClusterConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)
        self.rule = Rule(config.alpha, self.hard, config.first_only)
        self.room = config.room(self.group_count)
        rows = self.room * self.group_count
        self.bank = PrototypeBank(rows, shape.dimension, shape.outputs, window=1)
        self.bank.requires_grad_(False)
        self.register_buffer("threshold", torch.zeros(()))  # λ of the last clustering
        self.register_buffer("rho", torch.zeros(()))  # ρ of the last clustering
        for name in ("size", "created", "pruned"):  # clusters of the last one; totals of the run
            self.register_buffer(name, torch.zeros((), dtype=torch.long))

    def variance(self) -> Tensor:
        """σ: ()."""
        raise NotImplementedError

    def scores(self, distances: Tensor) -> Tensor:
        """Squared distances → logits of the clusters."""
        raise NotImplementedError

    def start(self, view: StartView) -> None:
        """Cluster the frozen features of all training data."""
        if self.bins is not None:
            self.bins.fit(view.labels)
        self.estimate(view)

    def ready(self) -> None:
        """Cluster all training data with the encoder as it is now."""
        if self.view is not None:
            self.estimate(self.view)

    @torch.no_grad()
    def estimate(self, view: StartView) -> None:
        """Fill the bank from all training data."""
        self.fill(*self.training_set(view))

    def fill(self, features: Tensor, groups: Tensor) -> None:
        """Replace the bank by clusters of (N, D), (N,)."""
        variance = self.variance().detach()
        found = cluster_all(features, groups, self.group_count, variance, self.rule, self.room)
        bank = self.bank
        bank.remove(bank.active.clone())
        bank.add(found.vectors, self._outputs(found.labels), found.labels, found.active, self.clock)
        self.note(found)

    def _outputs(self, groups: Tensor) -> Tensor:
        """What a cluster says: its class as 0 and 1 (K, C), or the value of its bin (K, 1)."""
        if self.bins is not None:
            return self.bins.values[groups].unsqueeze(1)
        return membership(groups, self.group_count).to(self.bank.outputs.dtype)

    def note(self, found: Clusters) -> None:
        """Keep the figures of a clustering for the trace."""
        self.threshold.copy_(found.threshold)
        self.rho.copy_(found.rho)
        self.size.copy_(found.active.sum())
        self.created.add_(found.created)
        self.pruned.add_(found.deleted)

    def forward(self, features: Tensor) -> Tensor:
        """(B, D) → log P(y|x) (B, C), or ŷ (B, 1), by the clusters of the bank."""
        with torch.autocast(features.device.type, enabled=False):
            bank = self.bank
            return self.by_clusters(widened(features), bank.vectors, bank.labels, bank.active)

    def by_clusters(
        self, features: Tensor, vectors: Tensor, labels: Tensor, active: Tensor
    ) -> Tensor:
        """softmax over classes of the score of the closest cluster of each."""
        scores = self.scores(sqdist(features, vectors))
        return self.predicted(class_logits(scores, labels, active, self.group_count))

    def trace(self) -> dict[str, Tensor]:
        """K, λ, σ, ρ of the last clustering, and the totals created and deleted."""
        return {
            "prototypes": self.size,
            "creation_sqdist": self.threshold,
            "variance": self.variance().detach(),
            "rho": self.rho,
            "created": self.created,
            "pruned": self.pruned,
        }


class EpisodicClusters(ClusterMethod):
    """Training clusters one half of each batch and classifies the other; see `protonet`."""

    config: EpisodeConfig

    def __init__(self, config: EpisodeConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)
        self.memory = ClassMemory(self.group_count, shape.dimension)

    def fill(self, features: Tensor, groups: Tensor) -> None:
        """Replace the bank, and the means of absent classes."""
        super().fill(features, groups)
        self.memory.set(features, groups)

    @torch.no_grad()
    def observe(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> None:
        """Note the batch for the remembered means."""
        with torch.autocast(features.device.type, enabled=False):
            batch, targets, real = gather_batch(widened(features.detach()), labels, weights)
            self.memory.look(batch, self.groups(targets), real)

    def loss(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> LossOutput:
        """−log P(y|x) of the queries by the clusters of the support; by the bank in evaluation."""
        with torch.autocast(features.device.type, enabled=False):
            wide = widened(features)
            if not self.training:
                prediction = self(wide)
                value = fit_loss(prediction, labels, weights, self.shape.task)
                return LossOutput(value, prediction)
            groups = self.groups(labels)
            real = torch.ones_like(groups, dtype=torch.bool) if weights is None else weights > 0
            query = query_mask(groups, real)
            remembered = (self.memory.means, self.memory.known)
            found = episode_clusters(
                wide, groups, real & ~query, remembered, self.variance(), self.rule
            )
            self.note(found)
            prediction = self.by_clusters(wide, found.vectors, found.labels, found.active)
            counted = query_weights(query, real, weights)
            value = fit_loss(prediction, labels, counted, self.shape.task)
        return LossOutput(value, prediction)

    def settle(self) -> None:
        """Move the remembered means, advance the clock."""
        self.memory.fold(self.config.momentum)
        super().settle()
