"""Adam without weight decay, for parameters that may be born late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BETA_FIRST = 0.9
BETA_SECOND = 0.999
EPS = 1e-8


@dataclass
class Moments:
    """Running averages of the gradient and of its square, shaped like the parameter."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]

    @classmethod
    def zeros(cls, size: int) -> Moments:
        """Return the moments of a parameter that has seen no gradient."""
        return cls(np.zeros(size), np.zeros(size))


def adam_update(
    value: NDArray[np.float64],
    grad: NDArray[np.float64],
    moments: Moments,
    step: int,
    lr: float,
) -> NDArray[np.float64]:
    """Return the updated (n,) value and advance its moments in place.

    m <- b1 m + (1-b1) g;  v <- b2 v + (1-b2) g^2;  m' = m/(1-b1^t);  v' = v/(1-b2^t)
    value <- value - lr m' / (sqrt(v') + eps), where t is the step count of the whole run.
    """
    updated = value.copy()
    for j in range(len(value)):
        g = float(grad[j])
        m = BETA_FIRST * float(moments.first[j]) + (1.0 - BETA_FIRST) * g
        v = BETA_SECOND * float(moments.second[j]) + (1.0 - BETA_SECOND) * g * g
        moments.first[j], moments.second[j] = m, v
        m_hat = m / (1.0 - BETA_FIRST**step)
        v_hat = v / (1.0 - BETA_SECOND**step)
        updated[j] -= lr * m_hat / (v_hat**0.5 + EPS)
    return updated
