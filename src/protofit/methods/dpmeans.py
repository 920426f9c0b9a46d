"""DP-means within classes (Kulis and Jordan, ICML 2012; as the hard baseline of Allen et al. 2019).

Every class is clustered by DP-means: an example farther than λ from all clusters of its class
begins a new one, every example belongs wholly to its nearest, and a text belongs to the class of
the closest cluster.

    λ = −2σ log(α / (1 + ρ/σ)^{D/2}),  ρ = variance over the class means, averaged over dimensions
    a_i = argmin over clusters k of the class of x_i of ‖f(x_i) − p_k‖²
    p_k = mean of f(x_i) with a_i = k, clusters without an example deleted
    d_c(x) = min over clusters k of class c of ‖f(x) − p_k‖²
    P(y|x) = exp(−d_y(x)) / Σ_c exp(−d_c(x)),  L = −mean log P(y|x)

It is IMP with hard assignment and a fixed σ, which acts on λ alone.

Deviations:
- Clusters begin as the class means; one pass creates, then assignments and means are computed
  once, not until λK + Σ ‖f(x_i) − p_{a_i}‖² stops falling.
- Training is episodic, as in IMP and ProtoNet: the support half of each batch is clustered, the
  query half is classified; before predicting, all training data are clustered once.
- At most P_max clusters, shared evenly among the classes, from all training data.
- Creation looks at all clusters of the class; `first_only` looks at its mean alone, as the
  program published with IMP does.
- Distances between features of fine-tuned encoders are large, and P has no temperature.
- Regression: targets are cut into bins of nearly equal counts that act as classes,
  ŷ = Σ_c P(c|x) v_c with v_c the mean target of the bin, and L is the squared error.

Settings: `variance`, `alpha`, `capacity`, `first_only`, `momentum`, `bins`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from protofit.methods.clustered import EpisodeConfig, EpisodicClusters


@dataclass(frozen=True)
class DPMeansConfig(EpisodeConfig):
    """Settings of DP-means."""

    @classmethod
    def preset(cls, name: str) -> DPMeansConfig:  # noqa: ARG003
        """The same under every preset."""
        return cls()


class DPMeans(EpisodicClusters):
    """P(y|x) = softmax over classes of −d_y(x)."""

    config_class = DPMeansConfig
    config: DPMeansConfig
    hard = True

    def variance(self) -> Tensor:
        """σ as it was set."""
        return torch.full_like(self.threshold, self.config.variance)

    def scores(self, distances: Tensor) -> Tensor:
        """Negative squared distances, without σ."""
        return -distances
