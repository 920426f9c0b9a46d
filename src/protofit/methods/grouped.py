"""What heads share that compare a text with classes; in regression with bins of the target."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from protofit.methods.base import HeadShape, Method, StartView
from protofit.prototypes.bins import TargetBins


class GroupedMethod(Method):
    """Class scores (B, groups) become log P(y|x), or ŷ = Σ_c P(c|x) v_c over bins c."""

    def __init__(self, config: Any, shape: HeadShape) -> None:
        super().__init__(config, shape)
        regression = shape.task == "regression"
        self.bins = TargetBins(config.bins) if regression else None
        self.group_count = config.bins if regression else shape.outputs

    def groups(self, labels: Tensor) -> Tensor:
        """Class of each example; in regression the bin of its target (B,)."""
        return labels if self.bins is None else self.bins.groups(labels)

    def predicted(self, scores: Tensor) -> Tensor:
        """Class scores (B, groups) → log P(y|x) (B, C), or ŷ (B, 1)."""
        log_prob = log_softmax(scores, dim=1)
        return log_prob if self.bins is None else self.bins.expected(log_prob)

    def training_set(self, view: StartView) -> tuple[Tensor, Tensor]:
        """Eval-mode features (N, D) of all training data, and their groups (N,)."""
        features = view.features(torch.arange(len(view.labels)).numpy())
        return features, self.groups(torch.from_numpy(view.labels).to(features.device))
