"""Raw: the encoder with a linear head, as language models are usually fine-tuned.

The baseline of every comparison. BERT (Devlin et al., NAACL-19) is fine-tuned in this way.

    P(y|x) = softmax(W f(x) + b)_y
    L = −log P(y|x), averaged over the batch

In regression the head has one output and L is the squared error. W is drawn from a normal
distribution and b starts at 0.

Deviations:
- Dropout is applied to the pooled features as it is in BERT, but there is no extra pooler layer.
- The settings `init` and `neighbour_weight` are off here. They make the controls `raw-init` and
  `raw-snn`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from protofit.config.checks import above, at_least, one_of, within
from protofit.methods.base import HeadShape, LossOutput, Method, StartView, fit_loss
from protofit.methods.linear_start import covariance_map, nearest_mean_map
from protofit.prototypes.bins import TargetBins
from protofit.prototypes.functional import soft_nearest_neighbour, widened
from protofit.prototypes.scale import neighbour_variance


@dataclass(frozen=True)
class RawConfig:
    """Settings of the linear head."""

    init_std: float = 0.02  # standard deviation of the first weights, where they are drawn
    dropout: float = 0.1  # on the features, in training
    init: Literal["random", "means"] = "random"  # first weights: drawn, or from class means
    gap: float = 1.5  # means: root mean square of the first logit gaps at full separability
    floor: float = 0.25  # means: the same at no separability
    neighbour_weight: float = 0.0  # of the in-batch soft-nearest-neighbour loss
    neighbour_scale: float = 1.0  # its 2σ, in standard deviations of the first pair distances
    bins: int = 8  # regression: bins of the targets that are classes to the neighbour loss

    def __post_init__(self) -> None:
        above("head.init_std", self.init_std, 0)
        within("head.dropout", self.dropout, 0, 0.9)
        one_of("head.init", self.init, ("random", "means"))
        above("head.floor", self.floor, 0)
        at_least("head.gap", self.gap, self.floor)
        at_least("head.neighbour_weight", self.neighbour_weight, 0)
        above("head.neighbour_scale", self.neighbour_scale, 0)
        at_least("head.bins", self.bins, 2)

    @classmethod
    def preset(cls, name: str) -> RawConfig:  # noqa: ARG003
        """The same under every preset."""
        return cls()


class Raw(Method):
    """log P(y|x) = log softmax(W f(x) + b)."""

    config_class = RawConfig
    config: RawConfig
    neighbour_variance: Tensor

    def __init__(self, config: RawConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)
        self.linear = nn.Linear(shape.dimension, shape.outputs)
        self.dropout = nn.Dropout(config.dropout)
        if config.neighbour_weight:
            self.register_buffer("neighbour_variance", torch.ones(()))
            self.bins = TargetBins(config.bins) if shape.task == "regression" else None

    @torch.no_grad()
    def start(self, view: StartView) -> None:
        """Set the first weights and the scale of the neighbour loss."""
        if self.config.init == "random":
            draw = view.generator("head")
            weight = draw.normal(0, self.config.init_std, tuple(self.linear.weight.shape))
            self.linear.weight.copy_(torch.from_numpy(weight))
            self.linear.bias.zero_()
        if self.config.init == "random" and not self.config.neighbour_weight:
            return
        features = view.features(np.arange(len(view.labels)))
        if self.config.init == "means":
            self._start_from_means(features, torch.from_numpy(view.labels).to(features.device))
        if self.config.neighbour_weight:
            self._scale_neighbours(features, view)

    def _start_from_means(self, features: Tensor, labels: Tensor) -> None:
        if self.shape.task == "regression":
            weight, bias = covariance_map(features, labels)
        else:
            classes, config = self.shape.outputs, self.config
            weight, bias = nearest_mean_map(features, labels, classes, config.floor, config.gap)
        self.linear.weight.copy_(weight)
        self.linear.bias.copy_(bias)

    def _scale_neighbours(self, features: Tensor, view: StartView) -> None:
        if self.bins is not None:
            self.bins.fit(view.labels)
        draw = view.generator("neighbours")
        scale = neighbour_variance(features, self.config.neighbour_scale, draw)
        self.neighbour_variance.fill_(scale)

    def forward(self, features: Tensor) -> Tensor:
        """(B, D) → (B, C) log-probabilities, or (B, 1) values."""
        with torch.autocast(features.device.type, enabled=False):
            logits: Tensor = self.linear(self.dropout(widened(features)))
            return logits if self.shape.task == "regression" else log_softmax(logits, dim=1)

    def loss(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> LossOutput:
        """Cross-entropy, or mean squared error, and the extra terms there are."""
        prediction = self(features)
        value = fit_loss(prediction, labels, weights, self.shape.task)
        with torch.autocast(features.device.type, enabled=False):
            extra = self.extra_terms(widened(features), labels, weights)
        if not extra:
            return LossOutput(value, prediction)
        parts = {"fit": value, **extra}
        total = torch.stack(list(parts.values())).sum()
        return LossOutput(total, prediction, {key: part.detach() for key, part in parts.items()})

    def extra_terms(
        self, features: Tensor, labels: Tensor, weights: Tensor | None
    ) -> dict[str, Tensor]:
        """Terms beside L0, of the features before dropout (B, D) in at least float32."""
        if not self.config.neighbour_weight:
            return {}
        groups = labels if self.bins is None else self.bins.groups(labels)
        value = soft_nearest_neighbour(features, groups, self.neighbour_variance, weights)
        return {"neighbour": self.config.neighbour_weight * value}
