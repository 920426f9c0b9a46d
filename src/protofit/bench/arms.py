"""The arms of a comparison: what runs under which name."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protofit.settings import Settings


@dataclass(frozen=True)
class Arm:
    """A method under a preset, or a program outside."""

    method: str | None  # name in the registry; None: an external program
    preset: str = "paper"
    rated: bool = True  # False: no learning rate of ours enters, so one run is all there is
    pairs: bool = True  # False: for single texts only


ARMS = {
    "raw": Arm("raw"),
    "protonet": Arm("protonet"),
    "prosenet": Arm("prosenet"),
    "dpmeans": Arm("dpmeans"),
    "imp": Arm("imp"),  # episodic
    "imp-exact": Arm("imp-exact"),  # re-estimation every R steps
    "vibert": Arm("vibert"),
    "bss": Arm("bss"),
    "raw-init": Arm("raw-init"),
    "raw-snn": Arm("raw-snn"),
    "probe": Arm("probe", rated=False),
    "pfit": Arm("pfit", "default"),
    "pfit-paper": Arm("pfit", "paper"),
    "pf-i": Arm("pfit", "pf-i"),
    "pf-s": Arm("pfit", "pf-s"),
    "pf-d": Arm("pfit", "pf-d"),
    "pf-f": Arm("pfit", "pf-f"),
    "pfit-sc": Arm("pfit", "pfit-sc"),
    "setfit": Arm(None, rated=False, pairs=False),
    "hf-trainer": Arm(None),
}
PAPER_BASELINES = ("raw", "protonet", "prosenet", "dpmeans", "imp", "vibert", "bss")
CONTROLS = ("raw-init", "raw-snn", "probe")
ABLATIONS = ("pf-i", "pf-s", "pf-d", "pf-f", "pfit-sc")
EXTERNAL = tuple(name for name, arm in ARMS.items() if arm.method is None)


def arm_of(name: str) -> Arm:
    """The arm `name`: one of ARMS, or else a registered method under its `paper` preset."""
    if name in ARMS:
        return ARMS[name]
    from protofit.methods.registry import method_class

    return Arm(name, rated=method_class(name).trains)


@functools.cache
def preset_settings(name: str) -> Settings:
    """Settings of an arm before the protocol replaces its `train` part."""
    from protofit.settings import Settings

    arm = arm_of(name)
    if arm.method is None:
        raise ValueError(f"{name} runs outside")
    return Settings.build(arm.preset, arm.method)
