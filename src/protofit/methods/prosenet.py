"""ProSeNet: prototypes that are training examples, and a linear layer on the similarity to them.

Ming et al. (KDD-19) explain a sequence by the few training sequences it is most similar to.

    d_k(x) = ‖f(x) − p_k‖ / √D
    a_k(x) = exp(−d_k(x))                            or exp(−d_k(x)²)
    P(y|x) = softmax(t W a(x))_y,  W ≥ 0, no bias
    L = L0 + L_d Σ_{j<k} max(0, d_min − ‖p_j − p_k‖ / √D)²    diversity
           + L_c mean over examples of min_k d_k(x)²          clustering
           + L_e mean over prototypes of min_i d_k(x_i)²      evidence
           + L_1 Σ |W|                                        few prototypes per class

Every few epochs each prototype moves onto the nearest training embedding, p_k ← f(x_n), and
remembers n. `example` holds the rows n of the training data as the run used it (without examples
of weight 0 and without a slice held back).

Deviations:
- Every distance is divided by √D. On fine-tuned encoders ‖f(x) − p_k‖ is 5 to 10, and exp(−d²)
  would have no gradient.
- Prototypes start as training examples, drawn evenly over the classes, instead of at random.
- W starts at 1 for the class of the example and 0 elsewhere, times a fixed t. With a few hundred
  steps at an encoder's learning rate, a random W stays as it was drawn. t is set once: the root
  mean square of the first logit gaps is `floor` + (`gap` − `floor`) · separability, as in PFit.
- Clustering and evidence terms are means, where the publication has sums: their weight does not
  depend on the size of the batch or on K.
- Similarity is exp(−d), as in the public program we know of; the publication has exp(−d²).
- K is 8 per class where it is not given (the paper leaves it to the user).
- Prototypes are also projected before predictions are made, so that what predicts are training
  examples: at the end, and whenever a held-back slice is scored.
- Prototypes keep their optimiser state when they are projected, and are not clipped to [−1, 1].
- In regression ŷ = t W a(x) with W of any sign, which starts at the centred targets of the
  examples; quantile bins of the targets are the classes that examples are drawn over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, one_hot

from protofit.config.checks import above, at_least, one_of
from protofit.methods.base import (
    HeadShape,
    LossOutput,
    StartView,
    fit_loss,
    weighted_mean,
)
from protofit.methods.prosenet_evidence import ProSeNetEvidence
from protofit.methods.prosenet_start import first_examples, logit_factor, value_factor
from protofit.prototypes.functional import diversity_hinge, sqdist, widened

PER_CLASS = 8  # prototypes, where K is not given
REGRESSION = 16  # the same in regression


@dataclass(frozen=True)
class ProSeNetConfig:
    """Settings of ProSeNet; distances are divided by √D."""

    prototypes: int | None = None  # K; None: 8 per class, 16 in regression
    distance: Literal["l2", "squared"] = "l2"  # similarity exp(−d) or exp(−d²)
    diversity: float = 0.01  # L_d, weight of the hinge between prototypes
    separation: float = 1.0  # d_min of the hinge
    clustering: float = 0.01  # L_c, weight of each example's distance to its nearest prototype
    evidence: float = 0.1  # L_e, weight of each prototype's distance to its nearest example
    sparsity: float = 0.1  # L_1, weight of Σ |W|
    project_epochs: int = 4  # epochs between projections onto training examples; 0: none
    project_last: bool = True  # project before predicting, too
    gap: float = 1.5  # root mean square of the first logit gaps at full separability
    floor: float = 0.25  # the same at no separability

    def __post_init__(self) -> None:
        at_least("head.prototypes", self.prototypes, 1)
        one_of("head.distance", self.distance, ("l2", "squared"))
        for name in ("diversity", "separation", "clustering", "evidence", "sparsity"):
            at_least(f"head.{name}", getattr(self, name), 0)
        at_least("head.project_epochs", self.project_epochs, 0)
        above("head.floor", self.floor, 0)
        at_least("head.gap", self.gap, self.floor)

    @classmethod
    def preset(cls, name: str) -> ProSeNetConfig:  # noqa: ARG003
        """The same under every preset."""
        return cls()


class ProSeNet(ProSeNetEvidence):
    """log P(y|x) = log softmax(t W a(x))."""

    config_class = ProSeNetConfig
    config: ProSeNetConfig
    factor: Tensor
    example: Tensor
    distinct: Tensor

    def __init__(self, config: ProSeNetConfig, shape: HeadShape) -> None:
        super().__init__(config, shape)
        default = REGRESSION if shape.task == "regression" else PER_CLASS * shape.outputs
        count = config.prototypes or default
        self.vectors = nn.Parameter(torch.zeros(count, shape.dimension))
        self.weight = nn.Parameter(torch.zeros(shape.outputs, count))
        self.register_buffer("factor", torch.ones(()))  # t
        self.register_buffer("example", torch.zeros(count, dtype=torch.long))
        self.register_buffer("distinct", torch.zeros((), dtype=torch.long))  # of `example`

    @property
    def refresh_every(self) -> int:
        """Steps between projections."""
        return 0 if self.view is None else self.config.project_epochs * self.view.steps_per_epoch

    @torch.no_grad()
    def start(self, view: StartView) -> None:
        """Put prototypes on training examples of all classes, and scale W."""
        regression = self.shape.task == "regression"
        classes = None if regression else self.shape.outputs
        draw = view.generator("prototypes")
        picked, sample = first_examples(view.labels, classes, len(self.vectors), draw)
        self.vectors.copy_(view.features(picked))
        self._remember(torch.from_numpy(picked))
        features = view.features(sample)
        labels = torch.from_numpy(view.labels).to(features.device)
        own = labels[torch.from_numpy(picked).to(labels.device)]
        targets = labels[torch.from_numpy(sample).to(labels.device)]
        similarity = self.similarity(features)
        if classes is None:
            self.weight.copy_((own - labels.mean()).unsqueeze(0))
            factor = value_factor(similarity @ self.weight[0], targets, self.config.floor)
        else:
            self.weight.copy_(one_hot(own, classes).T)
            logits, limits = similarity @ self.weight.T, (self.config.floor, self.config.gap)
            factor = logit_factor(logits, features, targets, *limits)
        self.factor.fill_(factor)

    def refresh(self) -> None:
        """Move every prototype onto the nearest training embedding."""
        self.project()

    def ready(self) -> None:
        """What predicts are training examples."""
        if self.config.project_last:
            self.project()

    @torch.no_grad()
    def project(self) -> None:
        """p_k ← f(x_n) with n = argmin_i ‖f(x_i) − p_k‖."""
        if self.view is None:
            return
        features = self.view.features(np.arange(len(self.view.labels)))
        nearest = sqdist(self.vectors, features).argmin(dim=1)
        self.vectors.copy_(features[nearest])
        self._remember(nearest)

    def _remember(self, rows: Tensor) -> None:
        self.example.copy_(rows)
        self.distinct.fill_(len(set(rows.tolist())))

    def sqdist(self, features: Tensor) -> Tensor:
        """d_k(x)²: (B, D) → (B, K)."""
        return sqdist(features, self.vectors) / self.shape.dimension

    def similarity(self, features: Tensor) -> Tensor:
        """a_k(x): (B, D) → (B, K)."""
        return self._similarity(self.sqdist(features))

    def _similarity(self, squared: Tensor) -> Tensor:
        if self.config.distance == "squared":
            return (-squared).exp()
        apart = squared > 0  # √ has no gradient at 0
        return (-torch.where(apart, squared, 1).sqrt()).exp().masked_fill(~apart, 1)

    def _predict(self, squared: Tensor) -> Tensor:
        logits = self.factor * (self._similarity(squared) @ self.weight.T)
        return logits if self.shape.task == "regression" else log_softmax(logits, dim=1)

    def forward(self, features: Tensor) -> Tensor:
        """(B, D) → (B, C) log-probabilities, or (B, 1) values."""
        with torch.autocast(features.device.type, enabled=False):
            return self._predict(self.sqdist(widened(features)))

    def loss(self, features: Tensor, labels: Tensor, weights: Tensor | None = None) -> LossOutput:
        """L0 and the four terms."""
        config = self.config
        with torch.autocast(features.device.type, enabled=False):
            squared = self.sqdist(widened(features))
            prediction = self._predict(squared)
            parts = {
                "fit": fit_loss(prediction, labels, weights, self.shape.task),
                "diversity": config.diversity * self._diversity(),
                "clustering": config.clustering * weighted_mean(squared.amin(dim=1), weights),
                "evidence": config.evidence * evidence(squared, weights),
                "sparsity": config.sparsity * self.weight.abs().sum(),
            }
            total = torch.stack(list(parts.values())).sum()
        return LossOutput(total, prediction, {key: part.detach() for key, part in parts.items()})

    def _diversity(self) -> Tensor:
        scaled = self.vectors / self.shape.dimension**0.5
        every = torch.ones_like(self.example, dtype=torch.bool)
        reach = self.factor.new_full((), self.config.separation)
        return diversity_hinge(scaled, every, self.example, reach)

    @torch.no_grad()
    def settle(self) -> None:
        """Keep W ≥ 0 where it votes for classes, advance the clock."""
        if self.shape.task != "regression":
            self.weight.clamp_(min=0)
        super().settle()

    def trace(self) -> dict[str, Tensor]:
        """How many different training examples the prototypes last were."""
        return {"distinct": self.distinct}


def evidence(squared: Tensor, weights: Tensor | None) -> Tensor:
    """Mean over prototypes of the least squared distance to an example: (B, K) → ()."""
    if weights is not None:
        squared = squared.masked_fill((weights <= 0).unsqueeze(1), torch.inf)
    nearest = squared.amin(dim=0)
    return torch.where(nearest.isfinite(), nearest, 0).mean()
