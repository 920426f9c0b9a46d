"""Whether a record of another code version was run with the settings of today.

A record's key is a hash over trial, settings and code version. So with the record's own version
the key of today's trial is the record's, if and only if the settings are the same. What a version
wrote differently without another effect is tried as well: a setting that did not exist yet, at
the value at which it does nothing, and the earlier value of one that is idle.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from protofit.bench.records import Record
from protofit.bench.trial import Trial

Facts = dict[str, Any]
ADDED = {  # settings that came after the first records: their value where nothing is different
    "head.cohesion_weight": 0.0,
    "head.cohesion_gap": 3.0,
    "head.start.per_class": 1,
    "head.follow": {"together": 0.0, "own": 0.0},
}
# setting: the one at whose 0 it has no effect, and the value it had before today's
IDLE = {"head.neighbour_scale": ("head.neighbour_weight", 0.15)}


def same_settings(trial: Trial, record: Record) -> bool:
    """Whether the record's settings are today's, but for settings that have no effect."""
    code = str(record["code"])
    return any(record["key"] == trial.key(code, facts) for facts in ways(trial.facts()))


def ways(facts: Facts) -> Iterator[Facts]:
    """The settings as they are and as earlier versions wrote the same."""
    for known in (facts, _without_added(facts)):
        yield known
        yield _with_idle(known)


def _without_added(facts: Facts) -> Facts:
    older = copy.deepcopy(facts)
    for path, nothing in ADDED.items():
        place, name = _find(older, path)
        if place.get(name) == nothing:
            del place[name]
    return older


def _with_idle(facts: Facts) -> Facts:
    older = copy.deepcopy(facts)
    for path, (weight, value) in IDLE.items():
        place, name = _find(older, path)
        switch, switch_name = _find(older, weight)
        if name in place and switch.get(switch_name) == 0:
            place[name] = value
    return older


def _find(facts: Facts, path: str) -> tuple[Facts, str]:
    """The innermost dictionary of a dotted path, empty where there is none, and the last name."""
    *parents, name = path.split(".")
    place = facts
    for parent in parents:
        inner = place.get(parent)
        place = inner if isinstance(inner, dict) else {}
    return place, name
