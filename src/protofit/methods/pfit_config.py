"""Settings of PFit, and its presets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from protofit.config.checks import above, at_least, one_of, within
from protofit.prototypes.create import CreationConfig
from protofit.prototypes.follow import FollowConfig
from protofit.prototypes.functional import Pairs, Reduction
from protofit.prototypes.prune import PruneConfig
from protofit.prototypes.start import StartConfig


@dataclass(frozen=True)
class DiversityConfig:
    """Pairwise repulsion of prototypes closer than λ."""

    weight: float = 1e-5  # ρ_d
    form: Literal["literal", "consistent"] = "literal"  # λ − ‖·‖ as printed, or √λ − ‖·‖
    threshold: Literal["dynamic", "fixed"] = "dynamic"  # λ of the step, or the first λ (PF-F)
    pairs: Pairs = "all"  # all pairs, or those of one class
    reduction: Reduction = "sum"  # over pairs

    def __post_init__(self) -> None:
        at_least("head.diversity.weight", self.weight, 0)
        one_of("head.diversity.form", self.form, ("literal", "consistent"))
        one_of("head.diversity.threshold", self.threshold, ("dynamic", "fixed"))
        one_of("head.diversity.pairs", self.pairs, ("all", "same_class"))
        one_of("head.diversity.reduction", self.reduction, ("sum", "mean"))


@dataclass(frozen=True)
class ScaleConfig:
    """σ: one variance for everything (paper), or a temperature beside a clustering variance."""

    kind: Literal["shared", "split"] = "shared"  # split: temperature learned, variance from data
    variance: float = 5.0  # shared: first σ
    gap: float = 1.5  # split: root mean square of the first logit gaps at full separability
    floor: float = 0.25  # split: the same at no separability
    quantile: float = 0.95  # split: share of within-class squared distances below the first λ
    momentum: float = 0.99  # split: of the running mean within-class squared distance

    def __post_init__(self) -> None:
        one_of("head.scale.kind", self.kind, ("shared", "split"))
        for name in ("variance", "gap", "floor"):
            above(f"head.scale.{name}", getattr(self, name), 0)
        within("head.scale.quantile", self.quantile, 0, 1)
        within("head.scale.momentum", self.momentum, 0, 1)
        at_least("head.scale.gap", self.gap, self.floor)


@dataclass(frozen=True)
class RegressionConfig:
    """How targets are cut into the bins that act as classes."""

    bins: int = 8  # N_reg
    edges: Literal["quantile", "width"] = "quantile"  # equal counts, or equal ranges

    def __post_init__(self) -> None:
        at_least("head.regression.bins", self.bins, 2)
        one_of("head.regression.edges", self.edges, ("quantile", "width"))


@dataclass(frozen=True)
class PFitConfig:
    """Settings of PFit; the values here are the faithful reading of the paper."""

    beta: float | None = 2.0  # β, first logit of the own class, −β elsewhere; None: by certainty
    certainty: float = 0.98  # where β is None: a new prototype's P(own class), whatever C is
    cohesion_weight: float = 0.0  # of the term that keeps a text with one prototype of its class
    cohesion_gap: float = 3.0  # first difference of energy between a text's two nearest of these
    neighbour_weight: float = 0.0  # of the in-batch soft-nearest-neighbour loss
    neighbour_scale: float = 1.0  # its 2σ, in standard deviations of the first pair distances
    start: StartConfig = field(default_factory=StartConfig)
    creation: CreationConfig = field(default_factory=CreationConfig)
    prune: PruneConfig = field(default_factory=PruneConfig)
    diversity: DiversityConfig = field(default_factory=DiversityConfig)
    scale: ScaleConfig = field(default_factory=ScaleConfig)
    regression: RegressionConfig = field(default_factory=RegressionConfig)
    follow: FollowConfig = field(default_factory=FollowConfig)

    def __post_init__(self) -> None:
        above("head.beta", self.beta, 0)
        within("head.certainty", self.certainty, 0.5, 0.9999)
        at_least("head.cohesion_weight", self.cohesion_weight, 0)
        above("head.cohesion_gap", self.cohesion_gap, 0)
        at_least("head.neighbour_weight", self.neighbour_weight, 0)
        above("head.neighbour_scale", self.neighbour_scale, 0)

    @classmethod
    def preset(cls, name: str) -> PFitConfig:
        """`paper`: the faithful reading; `default`: the best known."""
        if name == "paper":
            return cls()
        return cls(
            beta=None,
            neighbour_weight=1.0,
            start=StartConfig(examples="all"),
            creation=CreationConfig(rule="farthest"),
            prune=PruneConfig(threshold=0.1, relative=True, normalised=True),
            diversity=DiversityConfig(form="consistent", pairs="same_class", reduction="mean"),
            scale=ScaleConfig(kind="split"),
        )
