"""Raw-snn: a linear head and an in-batch soft-nearest-neighbour loss on its features.

A control that the paper lacks: the neighbour loss of PFit's `default` preset without prototypes.
The loss is that of Frosst et al. (ICML-19), on squared distances with one fixed scale.

    L = L0 + w · mean_i −log( Σ_{j≠i, y_j=y_i} e^{−‖f_i−f_j‖²/2σ} / Σ_{j≠i} e^{−‖f_i−f_j‖²/2σ} )

The mean is over the examples that have another one of their class in the batch. 2σ is a fixed
number of standard deviations of the pair distances of frozen features, measured before the first
step, as in PFit. Features are those before dropout.

Deviations:
- σ is neither learned nor searched per batch as it is in the cited paper.
- The loss is added, so that classes are pulled together (the cited paper also studies the reverse).
- In regression the quantile bins of the targets act as classes.
"""

from __future__ import annotations

from dataclasses import dataclass

from protofit.methods.raw import Raw, RawConfig


@dataclass(frozen=True)
class RawSNNConfig(RawConfig):
    """The linear head with the neighbour loss of PFit's default preset."""

    neighbour_weight: float = 1.0  # of the in-batch soft-nearest-neighbour loss


class RawSNN(Raw):
    """Raw, with one more term."""

    config_class = RawSNNConfig
