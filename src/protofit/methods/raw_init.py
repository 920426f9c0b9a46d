"""Raw-init: a linear head that starts from the class means of frozen features.

A control that the paper lacks: if good first prototypes explain a gain, then a linear head with
the same knowledge has it too. Squared distances to class means differ by a linear map of the
features, so nearest-class-mean classification is a linear head (Snell et al., NeurIPS-17).

    p_c = mean of f(x_i) with y_i = c, f frozen
    W_c = 2 p_c / τ',  b_c = −‖p_c‖² / τ'
    softmax(W f(x) + b) = softmax_c(−‖f(x) − p_c‖² / τ')

From there it is trained like `raw`. τ' is set once: the root mean square of the first logit gaps
is `floor` + (`gap` − `floor`) · separability. Separability is the leave-one-out accuracy of the
nearest class mean, balanced over classes and rescaled so that chance is 0. PFit sets its
temperature in the same way.

In regression the first weights are s · cov(y, f(x)). The slope s is the least-squares one on
scores that leave their own example out, and at least 0.

Deviations:
- The means over classes are taken off W and b. No probability changes.
- All examples of the training data are used, whatever their weight, unless it is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from protofit.methods.raw import Raw, RawConfig


@dataclass(frozen=True)
class RawInitConfig(RawConfig):
    """The linear head from class means."""

    init: Literal["random", "means"] = "means"  # first weights: drawn, or from class means


class RawInit(Raw):
    """Raw, with other first weights."""

    config_class = RawInitConfig
