"""The named presets: `default`, `paper`, `groups`, and the paper's ablations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from protofit.errors import InputError


@dataclass(frozen=True)
class Preset:
    """A base that configs know, and dotted overrides."""

    base: str  # `default` or `paper`
    overrides: dict[str, Any] = field(default_factory=dict)
    method: str | None = None  # the only method it is for; None: any


PRESETS = {
    "default": Preset("default"),  # the best known
    "paper": Preset("paper"),  # the faithful reading
    "groups": Preset(  # several prototypes in each class, each with its own kind of text
        "default",
        {
            "head.start.per_class": 5,
            "head.creation.rule": "off",
            "head.cohesion_weight": 1.0,
            "head.neighbour_weight": 0.0,
            "head.follow.together": 0.05,
            "head.follow.own": 0.01,
        },
        "pfit",
    ),
    "pf-i": Preset("paper", {"head.start.vectors": "random"}, "pfit"),  # no initialisation
    "pf-s": Preset("paper", {"head.prune.per_epoch": 0}, "pfit"),  # no simplification
    "pf-d": Preset("paper", {"head.diversity.weight": 0.0}, "pfit"),  # no diversity term
    "pf-f": Preset("paper", {"head.diversity.threshold": "fixed"}, "pfit"),  # its threshold fixed
    "pfit-sc": Preset("paper", {"encoder.skip_connection": True}, "pfit"),  # skip connection
}


def find_preset(name: str, method: str) -> Preset:
    """The preset `name`, if it exists and is for `method`."""
    if name not in PRESETS:
        known = ", ".join(PRESETS)
        raise InputError(
            f"there is no preset '{name}'", where="settings", fix=f"Choose one of: {known}."
        )
    preset = PRESETS[name]
    if preset.method not in (None, method):
        raise InputError(
            f"the preset '{name}' is for the method {preset.method}, not {method}",
            where="settings",
            fix=f"Leave out --method, or choose the preset {preset.base}.",
        )
    return preset
