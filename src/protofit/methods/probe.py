"""Frozen probe: logistic regression on the features of an encoder that is not trained.

A control: what the pretrained features give before any fine-tuning (as in linear evaluation,
Alain and Bengio, ICLR workshop 2017).

    P(y|x) = softmax(W z + b)_y,  z = (f(x) − mean) / standard deviation over the training data
    (W, b) = argmin  C Σ_i −log P(y_i|x_i) + ½‖W‖²

In regression the linear map minimises Σ_i (W z_i + b − y_i)² + ‖W‖²/C. The fit is scikit-learn's,
on the host, once and without a training step; the standardisation is then folded into the
weights, so that what is saved is one linear map of f(x).

Deviations:
- No optimiser step is taken: settings of the training loop have no effect, and no slice of the
  training data is held back.
- With two classes the first row of W is 0 and the penalty is on the second alone.
- Examples of weight 0 are left out; other weights are not used.
- Under the Hugging Face Trainer, which cannot be told to take no step, the encoder and the map
  are trained on from there.

Settings: `inverse_penalty`, `iterations`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from protofit.config.checks import above, at_least
from protofit.methods.base import HeadShape, LossOutput, Method, StartView, fit_loss
from protofit.prototypes.functional import widened

ABSENT = -1e4  # score of a class without an example
ROUNDING = 1e-6  # relative, of float32 features


@dataclass(frozen=True)
class ProbeConfig:
    """Settings of the frozen probe."""

    inverse_penalty: float = 1.0  # C, weight of the data against ½‖W‖²
    iterations: int = 1000  # of the solver, at most

    def __post_init__(self) -> None:
        above("head.inverse_penalty", self.inverse_penalty, 0)
        at_least("head.iterations", self.iterations, 1)

    @classmethod
    def preset(cls, name: str) -> ProbeConfig:  # noqa: ARG003
        """The same under every preset."""
        return cls()


class Probe(Method):
    """log P(y|x) = log softmax(W f(x) + b), fitted by `start` alone."""

    config_class = ProbeConfig
    config: ProbeConfig
    trains: ClassVar[bool] = False

    def __init__(self, config: ProbeConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)
        self.linear = nn.Linear(shape.dimension, shape.outputs)

    def start(self, view: StartView) -> None:
        """Fit the linear map to the frozen features of all training data."""
        features = view.features(np.arange(len(view.labels))).cpu().numpy().astype(np.float64)
        mean, spread = features.mean(axis=0), features.std(axis=0)
        spread[spread <= ROUNDING * np.abs(mean)] = 1.0  # constant but for rounding
        standard = (features - mean) / spread
        regression = self.shape.task == "regression"
        fit = self._ridge if regression else self._logistic
        weight, bias = fit(standard, view.labels)
        weight = weight / spread
        with torch.no_grad():
            self.linear.weight.copy_(torch.from_numpy(weight))
            self.linear.bias.copy_(torch.from_numpy(bias - weight @ mean))

    def _ridge(self, features: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.linear_model import Ridge

        model = Ridge(alpha=1 / self.config.inverse_penalty)
        model.fit(features, targets.astype(np.float64))
        return model.coef_.reshape(1, -1), np.array([model.intercept_])

    def _logistic(self, features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.linear_model import LogisticRegression

        weight = np.zeros((self.shape.outputs, features.shape[1]))
        bias = np.full(self.shape.outputs, ABSENT)
        present = np.unique(labels)
        bias[present] = 0.0
        if len(present) > 1:
            model = LogisticRegression(
                C=self.config.inverse_penalty, max_iter=self.config.iterations
            )
            model.fit(features, labels)
            rows = present[1:] if len(present) == 2 else present  # two classes: one difference
            weight[rows], bias[rows] = model.coef_, model.intercept_
        return weight, bias

    def forward(self, features: Tensor) -> Tensor:
        """(B, D) → (B, C) log-probabilities, or (B, 1) values."""
        with torch.autocast(features.device.type, enabled=False):
            logits: Tensor = self.linear(widened(features))
            return logits if self.shape.task == "regression" else log_softmax(logits, dim=1)

    def loss(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> LossOutput:
        """Cross-entropy, or mean squared error: for evaluation."""
        prediction = self(features)
        value = fit_loss(prediction, labels, weights, self.shape.task)
        return LossOutput(value, prediction)
