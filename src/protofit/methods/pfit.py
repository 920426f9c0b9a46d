"""PFit: a growing and shrinking mixture of prototypes (Jin et al., AAAI-23).

A text is predicted by the prototypes its features are near to. The first prototypes come from the
data, more are created where the data is far from all of them, and those hardly used are removed.

    z_k(x) ∝ exp(−‖f(x) − p_k‖² / 2σ)                           importance, Σ_k z_k = 1
    P(y|x) = Σ_k z_k(x) softmax(l_k)_y                          mixture; ŷ = Σ_k z_k l_k
    λ = −2σ log(α / (1 + ρ/σ)^{D/2})                            created where ‖f(x) − p_k‖² > λ
    L = −log P(y|x) + ρ_d Σ_{j<k} max(0, λ − ‖p_j − p_k‖)²      diversity

The four principles have a file of `prototypes/` each: initialisation (start), creation (create),
simplification (prune), diversity (functional). `docs/method.md` is the full description.

Deviations:
- The sign of λ is that of the derivation, not the printed one.
- Prototypes are rows of a bank of fixed capacity; the last one of a class is never removed.
- The preset `default` departs further: it splits σ into a temperature and a clustering scale,
  creates the farthest example of each class, and adds an in-batch neighbour loss.
- Section 3 of `docs/method.md` lists every decision with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from protofit.methods.bank_evidence import PFitEvidence
from protofit.methods.base import HeadShape, LossOutput, StartView, fit_loss, weighted_mean
from protofit.methods.pfit_config import PFitConfig
from protofit.methods.pfit_start import PFitStart
from protofit.prototypes.bank import PrototypeBank
from protofit.prototypes.create import farthest, nearest_own, sequential
from protofit.prototypes.follow import followed
from protofit.prototypes.functional import (
    base_variance,
    creation_sqdist,
    diversity_hinge,
    log_importance,
    mixture_log_prob,
    mixture_mean,
    soft_nearest_neighbour,
    sqdist,
    widened,
)
from protofit.prototypes.gather import gather_batch
from protofit.prototypes.groups import cohesion
from protofit.prototypes.prune import unused, window_statistic
from protofit.prototypes.scale import SMALLEST

WINDOW_SHARE = 0.1  # of all steps: the window of short epochs


class PFit(PFitEvidence):
    """The mixture head, its bank and its clock."""

    config_class = PFitConfig
    config: PFitConfig
    threshold: Tensor
    first_threshold: Tensor
    rho: Tensor
    spread: Tensor
    spread_per_variance: Tensor
    neighbour_variance: Tensor
    group_variance: Tensor
    separability: Tensor
    edges: Tensor
    created: Tensor
    pruned: Tensor
    changed: Tensor
    due: Tensor

    def __init__(self, config: PFitConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)
        groups = config.regression.bins if shape.task == "regression" else shape.outputs
        self.bank = PrototypeBank(
            config.creation.rows(groups * config.start.per_class),
            shape.dimension,
            shape.outputs,
            config.prune.window or 1,
        )
        self.log_variance = nn.Parameter(torch.tensor(math.log(config.scale.variance)))
        for name in (
            "threshold",  # λ of this step
            "first_threshold",  # λ of the first step
            "rho",  # ρ of this step
            "spread",  # running mean squared distance to the nearest own prototype
            "spread_per_variance",  # split scale: spread / clustering variance
            "neighbour_variance",  # scale of the neighbour loss
            "group_variance",  # scale of cohesion
            "separability",  # of the classes before training
        ):
            self.register_buffer(name, torch.ones(()))
        self.register_buffer("edges", torch.zeros(groups - 1))  # inner edges of the bins
        self.register_buffer("created", torch.zeros((), dtype=torch.long))
        self.register_buffer("pruned", torch.zeros((), dtype=torch.long))
        self.register_buffer("changed", torch.zeros(self.bank.capacity, dtype=torch.bool))
        # first and last step with creation, steps between prunings, grace: set by `start`
        self.register_buffer("due", torch.zeros(4, dtype=torch.long))
        self.register_load_state_dict_post_hook(_recall_window)  # type: ignore[no-untyped-call]

    def start(self, view: StartView) -> None:
        """Initialise the mixture and resolve δ, M, grace and the creation window into steps."""
        creation, prune = self.config.creation, self.config.prune
        window = prune.window or max(view.steps_per_epoch, round(WINDOW_SHARE * view.total_steps))
        grace = window if prune.grace is None else prune.grace
        self.config = replace(self.config, prune=replace(prune, window=window, grace=grace))
        self.bank.resize_window(window)
        self.bank.span.fill_(max(1, view.total_steps))
        first = round(creation.start_share * view.total_steps)
        last = round(creation.stop_share * view.total_steps)
        every = max(1, view.steps_per_epoch // prune.per_epoch) if prune.per_epoch else 0
        self.due.copy_(torch.tensor([first, last, every, grace]))
        PFitStart(self, view).run()

    def forward(self, features: Tensor) -> Tensor:
        """(B, D) → log P(y|x) (B, C), or ŷ (B, 1)."""
        with torch.autocast(features.device.type, enabled=False):
            log_z = self.log_importance(widened(features))
            return self._predict(log_z)

    def log_importance(self, features: Tensor) -> Tensor:
        """log z: (B, D) → (B, P), −∞ for inactive rows."""
        distances = sqdist(features, self.bank.vectors)
        return log_importance(distances, self.log_variance.exp(), self.bank.active)

    def _predict(self, log_z: Tensor) -> Tensor:
        if self.shape.task == "regression":
            return mixture_mean(log_z, self.bank.outputs.squeeze(1)).unsqueeze(1)
        return mixture_log_prob(log_z, self.bank.outputs)

    @torch.no_grad()
    def observe(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> None:
        """Algorithm 1 on one batch: estimate λ, create, follow if set, record z."""
        with torch.autocast(features.device.type, enabled=False):
            batch, targets, real = gather_batch(widened(features.detach()), labels, weights)
            groups = self.groups(targets)
            bank, step = self.bank, self.clock + 1
            distances = sqdist(batch, bank.vectors)
            nearest = nearest_own(distances, groups, bank.active, bank.labels)
            self._estimate_threshold(nearest, real)
            if self._create(batch, targets, groups, nearest, real, step):
                distances = sqdist(batch, bank.vectors)
            if self.config.follow.on:
                distances = self._follow(batch, groups, real, distances)
            log_z = log_importance(distances, self.log_variance.exp(), bank.active)
            importance = log_z.exp() * real.unsqueeze(1)
            bank.record(importance.sum(dim=0) / real.sum().clamp_min(1), step)

    def _follow(self, batch: Tensor, groups: Tensor, real: Tensor, distances: Tensor) -> Tensor:
        """Let the prototypes go with their texts; the distances from where they are now."""
        bank = self.bank
        own = self._own_rows(groups) & real.unsqueeze(1)
        vectors = bank.vectors.to(batch.dtype)
        moved = followed(vectors, batch, own, distances, self.config.follow)
        bank.vectors.copy_(moved)
        return sqdist(batch, bank.vectors)

    def _own_rows(self, groups: Tensor) -> Tensor:
        """The active rows of each example's class: (B,) → (B, P)."""
        return self.bank.active & (groups.unsqueeze(1) == self.bank.labels)

    def groups(self, labels: Tensor) -> Tensor:
        """Class of each example; in regression the bin of its target (B,)."""
        if self.shape.task == "regression":
            return torch.bucketize(labels, self.edges.to(labels.dtype))
        return labels

    def clustering_variance(self) -> Tensor:
        """σ of the creation threshold: the learned one, or the one tracked from the data."""
        if self.config.scale.kind == "shared":
            return self.log_variance.detach().exp()
        return (self.spread / self.spread_per_variance).clamp_min(SMALLEST)

    def _estimate_threshold(self, nearest: Tensor, real: Tensor) -> None:
        scale = self.config.scale
        if scale.kind == "split":
            known = real & nearest.isfinite()
            mean = nearest.masked_fill(~known, 0).sum() / known.sum().clamp_min(1)
            moved = torch.lerp(mean, self.spread, scale.momentum)
            self.spread.copy_(torch.where(known.any(), moved, self.spread))
        self.rho.copy_(base_variance(self.bank.vectors, self.bank.active))
        variance = self.clustering_variance()
        alpha, dimension = self.config.creation.alpha, self.shape.dimension
        self.threshold.copy_(creation_sqdist(variance, self.rho, alpha, dimension))
        first = torch.where(self.clock == 0, self.threshold, self.first_threshold)
        self.first_threshold.copy_(first)

    def _create(
        self,
        features: Tensor,
        targets: Tensor,
        groups: Tensor,
        nearest: Tensor,
        real: Tensor,
        step: Tensor,
    ) -> bool:
        """Add the rule's choice to the bank; False only where nothing can have changed."""
        if self.config.creation.rule == "off":
            return False
        open_now = (step > self.due[0]) & (step <= self.due[1])
        nearest = torch.where(real & open_now, nearest, -1)
        if features.device.type == "cpu" and not bool((nearest > self.threshold).any()):
            return False
        if self.config.creation.rule == "sequential":
            chosen = sequential(features, groups, nearest, self.threshold)
        else:
            chosen = farthest(groups, nearest, self.threshold)
        new = self.bank.add(features, self.first_outputs(targets), groups, chosen, step)
        self.created.add_(new.sum())
        self.changed.logical_or_(new)
        return True

    @property
    def beta(self) -> float:
        """β as given, or with e^β / (e^β + (C−1) e^−β) = certainty."""
        if self.config.beta is not None:
            return self.config.beta
        odds = self.config.certainty / (1 - self.config.certainty)
        return 0.5 * math.log(odds * max(1, self.shape.outputs - 1))

    def first_outputs(self, targets: Tensor) -> Tensor:
        """l of a newborn: β on its class, −β elsewhere; or its target: (B,) → (B, C) | (B, 1)."""
        if self.shape.task == "regression":
            return targets.unsqueeze(1)
        own = nn.functional.one_hot(targets, self.shape.outputs).bool()
        beta = self.bank.outputs.new_full((), self.beta)
        return torch.where(own, beta, -beta)

    def loss(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> LossOutput:
        """L = L0 + ρ_d L_div (+ cohesion, + the neighbour loss)."""
        with torch.autocast(features.device.type, enabled=False):
            wide = widened(features)
            distances = sqdist(wide, self.bank.vectors)
            log_z = log_importance(distances, self.log_variance.exp(), self.bank.active)
            prediction = self._predict(log_z)
            parts = {"fit": fit_loss(prediction, labels, weights, self.shape.task)}
            if self.config.diversity.weight:
                parts["diversity"] = self.config.diversity.weight * self._diversity()
            if self.config.cohesion_weight:
                parts["cohesion"] = self.config.cohesion_weight * self._cohesion(
                    distances, labels, weights
                )
            if self.config.neighbour_weight:
                scale = self.neighbour_variance
                value = soft_nearest_neighbour(wide, self.groups(labels), scale, weights)
                parts["neighbour"] = self.config.neighbour_weight * value
            total = torch.stack(list(parts.values())).sum()
        return LossOutput(total, prediction, {key: part.detach() for key, part in parts.items()})

    def _diversity(self) -> Tensor:
        config, bank = self.config.diversity, self.bank
        threshold = self.threshold if config.threshold == "dynamic" else self.first_threshold
        reach = threshold if config.form == "literal" else threshold.sqrt()
        return diversity_hinge(
            bank.vectors, bank.active, bank.labels, reach,
            pairs=config.pairs, reduction=config.reduction,
        )  # fmt: skip

    def _cohesion(self, distances: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
        own = self._own_rows(self.groups(labels))
        return weighted_mean(cohesion(distances, own, self.group_variance), weights)

    @torch.no_grad()
    def settle(self) -> None:
        """Project the signs of the label logits, prune when due, advance the clock."""
        self._project_signs()
        step, every = self.clock + 1, self.due[2]
        if self.config.prune.per_epoch:
            self._prune(step, due=torch.remainder(step, every.clamp_min(1)) == 0)
        self.clock.add_(1)
        self.bank.open_slot(self.clock + 1)

    def _project_signs(self) -> None:
        if self.shape.task == "regression":
            return
        own = nn.functional.one_hot(self.bank.labels, self.shape.outputs).bool()
        outputs = self.bank.outputs
        outputs.copy_(torch.where(own, outputs.clamp_min(0), outputs.clamp_max(0)))

    def _prune(self, step: Tensor, due: Tensor) -> None:
        if due.device.type == "cpu" and not bool(due):
            return
        config, bank = self.config.prune, self.bank
        statistic = window_statistic(
            bank.window, bank.window_count, bank.born, step, normalised=config.normalised
        )
        limit: Any = config.threshold
        if config.relative:
            limit = config.threshold / bank.size.clamp_min(1)
        mature = (step - bank.born >= self.due[3]) & due
        rows = unused(statistic, bank.active, bank.labels, mature, limit)
        bank.remove(rows)
        self.pruned.add_(rows.sum())
        self.changed.logical_or_(rows)

    def recycled(self) -> Iterator[tuple[nn.Parameter, Tensor]]:
        """Rows created or pruned since the last call: their moments belong to no one."""
        rows = self.changed.clone()
        self.changed.zero_()
        yield self.bank.vectors, rows
        yield self.bank.outputs, rows

    def trace(self) -> dict[str, Tensor]:
        """K, λ, σ, ρ, the temperature, and the totals of creation and pruning."""
        return {
            "prototypes": self.bank.size,
            "creation_sqdist": self.threshold,
            "variance": self.clustering_variance(),
            "temperature": self.log_variance.detach().exp(),
            "rho": self.rho,
            "created": self.created,
            "pruned": self.pruned,
        }


def _recall_window(method: PFit, _: object) -> None:
    """After loading a started head: δ and grace in its settings are those of the buffers."""
    if int(method.clock) > 0:
        window, grace = method.bank.window.shape[0], int(method.due[3])
        prune = replace(method.config.prune, window=window, grace=grace)
        method.config = replace(method.config, prune=prune)
