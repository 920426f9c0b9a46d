"""One run of an experiment, and the key that its content gives it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from protofit.bench.arms import arm_of, preset_settings
from protofit.bench.protocols import FIXED_RATE, PROTOCOLS

if TYPE_CHECKING:
    from protofit.bench.spec import Spec
    from protofit.settings import Settings


@dataclass(frozen=True)
class Trial:
    """What is run; names only, so that a trial means the same on every machine."""

    data: str
    size: int
    arm: str
    encoder: str
    rate: float
    seed: int
    protocol: str

    @property
    def external(self) -> bool:
        """Whether a program outside runs it."""
        return arm_of(self.arm).method is None

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary."""
        return asdict(self)

    def settings(self) -> Settings:
        """Head and encoder of the arm's preset, `train` of the protocol."""
        train = PROTOCOLS[self.protocol].train_config(self.size, self.rate)
        return replace(preset_settings(self.arm), train=train)

    def key(self, code: str, settings: Mapping[str, Any] | None = None) -> str:
        """First 16 hex digits of the SHA-256 over trial, settings and code version.

        `settings` are taken in the place of today's.
        """
        settings = self.facts() if settings is None else settings
        facts = {"trial": self.to_dict(), "settings": settings, "code": code}
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def facts(self) -> dict[str, Any]:
        """The settings that a key is made of."""
        if not self.external:
            return self.settings().to_dict()
        train = PROTOCOLS[self.protocol].train_config(self.size, self.rate)
        return {"external": self.arm, "train": asdict(train)}

    def planned_steps(self) -> int:
        """Optimiser steps if nothing stops it; none where nothing is trained step by step."""
        arm = arm_of(self.arm)
        return PROTOCOLS[self.protocol].planned_steps(self.size) if arm.rated else 0

    def __str__(self) -> str:
        return f"{self.data}/{self.size}/{self.arm}, rate {self.rate:g}, seed {self.seed}"


def trials_of(spec: Spec) -> Iterator[Trial]:
    """Every run of a spec, in its order; arms side by side, so that cells fill up together."""
    protocol = PROTOCOLS[spec.protocol]
    for data in spec.data:
        for size in spec.sizes:
            for seed in spec.seeds:
                for arm in spec.arms:
                    rates = protocol.rates(size, spec.rates)
                    for rate in rates if arm_of(arm).rated else (FIXED_RATE,):
                        yield Trial(data, size, arm, spec.encoder, rate, seed, spec.protocol)
