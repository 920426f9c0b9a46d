"""The first state of PFit: prototypes, scales and bins from frozen features."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from protofit.methods.base import StartView
from protofit.prototypes.bins import quantile_edges
from protofit.prototypes.functional import base_variance, creation_sqdist, sqdist
from protofit.prototypes.groups import class_groups, group_variance, nearest_of_class
from protofit.prototypes.scale import SMALLEST, logit_gap, neighbour_variance, wanted_gap
from protofit.prototypes.start import class_means, pick_examples, separability

if TYPE_CHECKING:
    from protofit.methods.pfit import PFit

NO_GAP = 1e-6  # of the mean squared norm: a smaller gap is rounding, σ stays where it is
RANDOM_STD = 0.02  # PF-I: the initialiser range that encoders use for their own weights


class PFitStart:
    """One use: `PFitStart(method, view).run()`."""

    def __init__(self, method: PFit, view: StartView) -> None:
        self.method = method
        self.view = view
        self.groups = method.edges.shape[0] + 1 if self.regression else method.shape.outputs

    @property
    def regression(self) -> bool:
        """Whether labels are targets."""
        return self.method.shape.task == "regression"

    @torch.no_grad()
    def run(self) -> None:
        """Draw the examples, embed them once, set everything that depends on them."""
        method, config = self.method, self.method.config
        if self.regression:
            method.edges.copy_(torch.from_numpy(self._edges()))
        labels = self._group_labels()
        draw = self.view.generator("start")
        picked = pick_examples(labels, self.groups, config.start.examples, draw)
        features = self.view.features(picked)
        own = torch.from_numpy(labels[picked]).to(features.device)
        parts, owners = self._parts(features, own)
        means = class_means(features, parts, len(owners))
        self._fill_bank(means, parts, owners, picked)
        if config.cohesion_weight:
            self._scale_groups(sqdist(features, means), own, owners)
        if config.neighbour_weight:
            self._scale_neighbours(features)
        if config.scale.kind == "split":
            self._scale_mixture(features, own, sqdist(features, means), owners)

    def _parts(self, features: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """Which prototype each example goes into (n,), and the class of each prototype."""
        most = self.method.config.start.per_class
        if most == 1:
            return own, torch.arange(self.groups, device=own.device)
        return class_groups(features, own, self.groups, most, self.view.generator("groups"))

    def _edges(self) -> np.ndarray:
        targets = self.view.labels.astype(np.float64)
        if self.method.config.regression.edges == "quantile":
            return quantile_edges(targets, self.groups)
        shares = np.linspace(0, 1, self.groups + 1)[1:-1]
        low, high = targets.min(), targets.max()
        return np.asarray(low + shares * (high - low))

    def _group_labels(self) -> np.ndarray:
        if not self.regression:
            return self.view.labels
        targets = torch.from_numpy(self.view.labels)
        return np.asarray(torch.bucketize(targets, self.method.edges.to(targets)).cpu())

    def _fill_bank(self, means: Tensor, parts: Tensor, owners: Tensor, picked: np.ndarray) -> None:
        method = self.method
        if self.regression:
            values = torch.from_numpy(self.view.labels[picked]).to(means)
            outputs = class_means(values.unsqueeze(1), parts, len(owners))
        else:
            outputs = method.first_outputs(owners)
        vectors = means
        if method.config.start.vectors == "random":
            draw = self.view.generator("prototypes").normal(0, RANDOM_STD, tuple(means.shape))
            vectors = torch.from_numpy(draw).to(means)
        present = torch.bincount(parts, minlength=len(owners)) > 0
        method.bank.add(vectors, outputs, owners, present, method.clock)

    def _scale_neighbours(self, features: Tensor) -> None:
        """Scale the neighbour loss: 2σ = neighbour_scale standard deviations of pair distances."""
        draw = self.view.generator("neighbours")
        variance = neighbour_variance(features, self.method.config.neighbour_scale, draw)
        self.method.neighbour_variance.fill_(variance)

    def _scale_groups(self, distances: Tensor, own: Tensor, owners: Tensor) -> None:
        """Scale cohesion: at first a text is nearer to one prototype by `cohesion_gap`."""
        mine = own.unsqueeze(1) == owners
        variance = group_variance(distances, mine, self.method.config.cohesion_gap)
        if variance is not None:
            self.method.group_variance.fill_(max(variance, SMALLEST))

    def _scale_mixture(
        self, features: Tensor, own: Tensor, distances: Tensor, owners: Tensor
    ) -> None:
        """Temperature by the separability of the classes; λ by the within-class distances."""
        method, scale = self.method, self.method.config.scale
        visible = separability(features, own, self.groups)
        method.separability.fill_(visible)
        nearest = nearest_of_class(distances, owners, self.groups)
        present = torch.bincount(own, minlength=self.groups) > 0
        gap = logit_gap(nearest[:, present])
        if gap > NO_GAP * float(features.square().sum(dim=1).mean()):
            target = wanted_gap(visible, scale.floor, scale.gap)
            method.log_variance.fill_(math.log(max(gap / (2 * target), SMALLEST)))
        within = nearest.gather(1, own.unsqueeze(1)).squeeze(1)
        method.spread.fill_(max(float(within.mean()), SMALLEST))
        wanted = float(np.quantile(within.cpu().numpy(), scale.quantile))
        variance = self._variance_for(max(wanted, SMALLEST))
        method.spread_per_variance.copy_(method.spread / variance)

    def _variance_for(self, wanted: float) -> float:
        """σ at which λ(σ) equals `wanted` (λ rises with σ for α < 1): bisection on a log scale."""
        method = self.method
        rho = base_variance(method.bank.vectors, method.bank.active).cpu().double()
        low, high = math.log(1e-12), math.log(1e12)
        for _ in range(80):
            middle = (low + high) / 2
            variance = torch.tensor(math.exp(middle), dtype=torch.float64)
            alpha = min(method.config.creation.alpha, 0.999)
            reached = float(creation_sqdist(variance, rho, alpha, method.shape.dimension))
            low, high = (middle, high) if reached < wanted else (low, middle)
        return math.exp((low + high) / 2)
