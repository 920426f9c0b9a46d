"""IMP: infinite mixture prototypes (Allen, Shelhamer, Shin and Tenenbaum, ICML 2019).

Every class is a mixture of as many Gaussians of one variance σ as its examples ask for. An example
farther than λ from all clusters of its class begins a new one; a text belongs to the class of the
closest cluster.

    λ = −2σ log(α / (1 + ρ/σ)^{D/2}),  ρ = variance over the class means, averaged over dimensions
    r_ik ∝ exp(−‖f(x_i) − p_k‖² / 2σ) over the clusters k of the class of x_i, else 0
    p_k = Σ_i r_ik f(x_i) / Σ_i r_ik, clusters with Σ_i r_ik ≤ 0.001 deleted
    d_c(x) = min over clusters k of class c of ‖f(x) − p_k‖²
    P(y|x) = exp(−d_y(x)/2σ) / Σ_c exp(−d_c(x)/2σ),  L = −mean log P(y|x)

Clusters begin as the class means; one pass over the examples in order creates, then
responsibilities and means are computed once. σ is learned through P alone: λ and r take it, and
the means take r, without gradient. L is the paper's "or" loss: its target is the closest cluster
of the class, and only the closest cluster of every class is in the denominator.

Two forms. `imp` is episodic: in each batch the clusters are made of the support half and the
query half is classified; before predicting, all training data are clustered once. `imp-exact`
re-estimates all clusters from all training data every `every` steps: with `every=1`, which is the
cost that grows with N² P per epoch, a step sees exactly the clusters of the encoder it begins
with; between re-estimations the clusters stand still. Gradients run through the batch alone.

Deviations:
- The sign of λ is that of the authors' program: as printed it is the negative, and every example
  becomes a cluster.
- Creation looks at all clusters of the class. The authors' program looks at the first, its mean,
  and so makes clusters side by side: `first_only` does that, to study it.
- At most P_max clusters, shared evenly among the classes, from all training data: later
  candidates join the clusters there are. A batch needs no bound.
- Episodes are the ordinary shuffled batches; which half is which, and what stands for a class
  without support in the batch, is as in ProtoNet (one remembered mean, not a mixture).
- In `imp-exact` the texts of a batch are among those that the clusters were made of. Where most
  clusters have one member, as with a small σ and few texts, the loss is near 0 and little is
  learned; the trace shows it as K close to the number of texts.
- The optimiser, its learning rate and its schedule are those of all methods here.
- σ = 5 suits features whose squared distances within a class are some tens; it decides by itself
  whether anything is created.
- In data-parallel runs each process has its own episode; the remembered means are common.
- Regression: targets are cut into bins of nearly equal counts that act as classes,
  ŷ = Σ_c P(c|x) v_c with v_c the mean target of the bin, and L is the squared error.

Settings: `variance`, `alpha`, `capacity`, `first_only`, `bins`; `momentum` (imp); `every`
(imp-exact).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from protofit.config.checks import at_least
from protofit.methods.base import HeadShape, LossOutput, fit_loss
from protofit.methods.clustered import (
    ClusterConfig,
    ClusterMethod,
    EpisodeConfig,
    EpisodicClusters,
)


@dataclass(frozen=True)
class ImpConfig(EpisodeConfig):
    """Settings of episodic IMP."""

    @classmethod
    def preset(cls, name: str) -> ImpConfig:  # noqa: ARG003
        """The same under every preset."""
        return cls()


@dataclass(frozen=True)
class ImpExactConfig(ClusterConfig):
    """Settings of IMP with re-estimation from all training data."""

    every: int | None = None  # R, steps between re-estimations; None: one epoch

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("head.every", self.every, 1)

    @classmethod
    def preset(cls, name: str) -> ImpExactConfig:  # noqa: ARG003
        """The same under every preset."""
        return cls()


class SoftClusters(ClusterMethod):
    """Soft responsibilities, and one learned variance."""

    hard = False

    def __init__(self, config: ClusterConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)
        self.log_variance = nn.Parameter(torch.tensor(math.log(config.variance)))

    def variance(self) -> Tensor:
        """σ = exp(log σ)."""
        return self.log_variance.exp()

    def scores(self, distances: Tensor) -> Tensor:
        """Logarithms of Gaussian densities; the normaliser is common and cancels."""
        return -distances / (2 * self.variance())


class Imp(SoftClusters, EpisodicClusters):
    """IMP in episodes."""

    config_class = ImpConfig
    config: ImpConfig

    def __init__(self, config: ImpConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)


class ImpExact(SoftClusters):
    """IMP with all clusters re-estimated from all training data every R steps."""

    config_class = ImpExactConfig
    config: ImpExactConfig

    def __init__(self, config: ImpExactConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)

    @property
    def refresh_every(self) -> int:
        """R; one epoch of the run at hand where it is not set."""
        if self.config.every is not None:
            return self.config.every
        return 0 if self.view is None else self.view.steps_per_epoch

    def refresh(self) -> None:
        """Cluster all training data with the encoder as it is now."""
        self.ready()

    def loss(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> LossOutput:
        """−log P(y|x) of the batch by the clusters of the bank."""
        prediction = self(features)
        value = fit_loss(prediction, labels, weights, self.shape.task)
        return LossOutput(value, prediction)
