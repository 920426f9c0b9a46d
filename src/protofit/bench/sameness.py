"""Whether a record of another code version was run with the settings of today.

A record's key is a hash over trial, settings and code version. So with the record's own version
the key of today's trial is the record's, if and only if the settings are the same.
"""

from __future__ import annotations

from typing import Any

from protofit.bench.records import Record
from protofit.bench.trial import Trial

# setting: the one at whose 0 it has no effect, and the values it had before today's
IDLE = {"neighbour_scale": ("neighbour_weight", (0.15,))}


def same_settings(trial: Trial, record: Record) -> bool:
    """Whether the record's settings are today's, but for settings that have no effect."""
    code = str(record["code"])
    return record["key"] in (trial.key(code), *(trial.key(code, old) for old in _idle(trial)))


def _idle(trial: Trial) -> list[dict[str, Any]]:
    """Earlier values of settings that do nothing in this arm."""
    head = {} if trial.external else trial.settings().to_dict()["head"]
    return [
        {name: value}
        for name, (weight, values) in IDLE.items()
        if name in head and head.get(weight) == 0
        for value in values
    ]
