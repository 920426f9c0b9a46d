"""Results as JSON-ready values: no arrays, tuples, NaN or infinity."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np


class Plain:
    """A dataclass that says itself as a dictionary which JSON can hold."""

    def to_dict(self) -> dict[str, Any]:
        """Every field by its name, nested; None where a number is not finite."""
        return {
            field.name: plain(getattr(self, field.name))
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
        }


def plain(value: Any) -> Any:
    """`value` in dictionaries, lists, texts, whole numbers and finite numbers."""
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    infinite = isinstance(value, float) and not math.isfinite(value)
    return None if infinite else value
