"""VIBERT: a variational information bottleneck between the encoder and a linear classifier.

Mahabadi et al. (ICLR-21) compress f(x) into a random code z that keeps what the label needs. In
training, z is drawn; in prediction it is its mean.

    h = MLP(f(x)),  μ = W_μ h + b_μ,  s = softplus(W_s h + b_s)
    z = μ + s ε,  ε ~ N(0, I)                       K numbers
    L = mean over 5 draws of −log softmax(W z + b)_y + β_t KL( N(μ, s²) ‖ N(μ_p, s_p²) )
    KL = Σ_k log(s_pk / s_k) + (s_k² + (μ_k − μ_pk)²) / (2 s_pk²) − 1/2
    β_t = min(1, epoch · β), the first epoch being 1

The prior N(μ_p, s_p²) is learned with the rest. The MLP has two hidden layers with ReLU, from D to
(h + D) / 2 to h = (D + K) / 2 units.

Deviations:
- K and β are fixed (the published figures choose both on validation data): K = 3/8 of D, which is
  288 on a BERT-base encoder, and β = 1e-5.
- First weights are normal with variance 1 / (3 · inputs), the variance PyTorch gives a linear
  layer and about BERT's own at 768 inputs; b starts at 0.
- Features are pooled token states; there is no pooler layer.
- In regression each draw has its squared error.
- `draws` = 0 with `beta` = 0 gives the same layers without noise: a control for capacity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, softplus

from protofit.config.checks import at_least, within
from protofit.methods.base import (
    HeadShape,
    LossOutput,
    Method,
    StartView,
    fit_loss,
    weighted_mean,
)
from protofit.prototypes.functional import widened

SHARE = 3 / 8  # K of D, where K is not given
SMALLEST = 1e-8  # floor of standard deviations under the logarithm


@dataclass(frozen=True)
class VIBERTConfig:
    """Settings of the bottleneck."""

    bottleneck: int | None = None  # K, size of the code; None: 3/8 of D
    beta: float = 1e-5  # β, weight of the KL term added with every epoch
    draws: int = 5  # codes per example in training; 0: only the mean, no noise
    dropout: float = 0.1  # on the features, in training

    def __post_init__(self) -> None:
        at_least("head.bottleneck", self.bottleneck, 1)
        at_least("head.beta", self.beta, 0)
        at_least("head.draws", self.draws, 0)
        within("head.dropout", self.dropout, 0, 0.9)

    @classmethod
    def preset(cls, name: str) -> VIBERTConfig:  # noqa: ARG003
        """The same under every preset."""
        return cls()


class VIBERT(Method):
    """f(x) → N(μ, s²) → log softmax(W z + b)."""

    config_class = VIBERTConfig
    config: VIBERTConfig
    epoch_steps: Tensor
    divergence: Tensor

    def __init__(self, config: VIBERTConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)
        size = config.bottleneck or max(1, round(SHARE * shape.dimension))
        hidden = (shape.dimension + size) // 2
        middle = (hidden + shape.dimension) // 2
        self.dropout = nn.Dropout(config.dropout)
        self.first = nn.Linear(shape.dimension, middle)
        self.second = nn.Linear(middle, hidden)
        self.to_mean = nn.Linear(hidden, size)
        self.to_spread = nn.Linear(hidden, size)
        self.prior_mean = nn.Parameter(torch.zeros(size))
        self.prior_spread = nn.Parameter(torch.zeros(size))
        self.linear = nn.Linear(size, shape.outputs)
        self.register_buffer("epoch_steps", torch.ones((), dtype=torch.long))
        self.register_buffer("divergence", torch.zeros(()))  # KL of the last batch

    @torch.no_grad()
    def start(self, view: StartView) -> None:
        """Draw every first value from the run's own generator."""
        self.epoch_steps.fill_(view.steps_per_epoch)
        draw = view.generator("head")
        for layer in (self.first, self.second, self.to_mean, self.to_spread, self.linear):
            spread = 1 / math.sqrt(3 * layer.in_features)
            layer.weight.copy_(torch.from_numpy(draw.normal(0, spread, tuple(layer.weight.shape))))
            layer.bias.zero_()
        for prior in (self.prior_mean, self.prior_spread):
            prior.copy_(torch.from_numpy(draw.normal(0, 1, len(prior))))

    def code(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """μ and s of q(z|x): (B, D) → (B, K), (B, K)."""
        hidden = self.first(self.dropout(widened(features))).relu()
        hidden = self.second(hidden).relu()
        return self.to_mean(hidden), softplus(self.to_spread(hidden))

    def predict(self, codes: Tensor) -> Tensor:
        """(n, K) → (n, C) log-probabilities, or (n, 1) values."""
        logits: Tensor = self.linear(codes)
        return logits if self.shape.task == "regression" else log_softmax(logits, dim=1)

    def forward(self, features: Tensor) -> Tensor:
        """(B, D) → prediction of the mean code."""
        with torch.autocast(features.device.type, enabled=False):
            return self.predict(self.code(features)[0])

    def beta(self) -> Tensor:
        """β_t = min(1, epoch · β)."""
        epoch = self.clock // self.epoch_steps + 1
        return (epoch * self.config.beta).clamp_max(1)

    def loss(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> LossOutput:
        """Mean over draws of L0, and the divergence from the prior."""
        with torch.autocast(features.device.type, enabled=False):
            mean, spread = self.code(features)
            fit = self._fit(mean, spread, labels, weights)
            each = gaussian_divergence(mean, spread, self.prior_mean, softplus(self.prior_spread))
            divergence = weighted_mean(each, weights)
            self.divergence.copy_(divergence.detach())
            parts = {"fit": fit, "bottleneck": self.beta() * divergence}
            total = torch.stack(list(parts.values())).sum()
            prediction = self.predict(mean).detach()
        return LossOutput(total, prediction, {key: part.detach() for key, part in parts.items()})

    def _fit(self, mean: Tensor, spread: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
        draws, codes = self.config.draws, mean
        if self.training and draws:
            noise = torch.randn((draws, *mean.shape), dtype=mean.dtype, device=mean.device)
            codes = (mean + spread * noise).flatten(0, 1)
            labels = labels.repeat(draws)
            weights = None if weights is None else weights.repeat(draws)
        return fit_loss(self.predict(codes), labels, weights, self.shape.task)

    def trace(self) -> dict[str, Tensor]:
        """KL of the last batch and its weight."""
        return {"kl": self.divergence, "beta": self.beta()}


def gaussian_divergence(
    mean: Tensor, spread: Tensor, prior_mean: Tensor, prior_spread: Tensor
) -> Tensor:
    """KL( N(μ, s²) ‖ N(μ_p, s_p²) ) of diagonal Gaussians: (B, K), (K,) → (B,)."""
    ratio = prior_spread.clamp_min(SMALLEST).log() - spread.clamp_min(SMALLEST).log()
    apart = spread.square() + (mean - prior_mean).square()
    return (ratio + apart / (2 * prior_spread.square()) - 0.5).sum(dim=1)
