"""What a spec still asks for: done, waiting, impossible here, and how long it may take."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from protofit.bench.arms import arm_of
from protofit.bench.peers import why_not
from protofit.bench.records import Record, Records
from protofit.bench.sameness import same_settings
from protofit.bench.spec import Spec
from protofit.bench.trial import Trial, trials_of
from protofit.bench.version import code_version
from protofit.bench.workbench import Workbench
from protofit.errors import InputError


@dataclass(frozen=True)
class Shard:
    """Part `index` of `count`, from 1."""

    index: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str | None) -> Shard:
        """From `i/n`."""
        if text is None:
            return cls()
        first, _, second = text.partition("/")
        if not (first.isdigit() and second.isdigit() and 1 <= int(first) <= int(second)):
            raise InputError(
                f"'{text}' is no shard", where="--shard", fix="Write i/n, such as 1/4."
            )
        return cls(int(first), int(second))

    def holds(self, key: str) -> bool:
        """Whether the trial of this key is in the part: a matter of the key alone."""
        return int(key, 16) % self.count == self.index - 1


@dataclass(frozen=True)
class Survey:
    """The trials of a spec (or of its shard), sorted by what is to be done with them."""

    done: list[Trial]
    failed: list[Trial]  # of the done ones, those that diverged
    waiting: list[Trial]
    skipped: dict[Trial, str]  # impossible here, and why
    reusable: list[Trial]  # of the waiting ones, those another code version ran with these settings
    changed: list[Trial]  # of the waiting ones, those another code version ran with other settings


def survey(
    spec: Spec, records: Records, bench: Workbench, shard: Shard, *, mix: bool = False
) -> Survey:
    """Sort all trials; with `mix`, a run of another code version with today's settings is done."""
    code = code_version()
    found = {record["key"]: record for record in records.records}
    others = _of_other_versions(records, code)
    done, failed, waiting, skipped = [], [], [], {}
    reusable, changed = [], []
    for trial in trials_of(spec):
        key = trial.key(code)
        if not shard.holds(key):
            continue
        old = others.get(_same(trial.to_dict()), [])
        same = next((record for record in old if same_settings(trial, record)), None)
        record = found.get(key) or (same if mix else None)
        if record is not None:
            done.append(trial)
            if "error" in record:
                failed.append(trial)
            continue
        if same is not None:
            reusable.append(trial)
        elif old:
            changed.append(trial)
        if reason := _why_not(trial, bench):
            skipped[trial] = reason
        else:
            waiting.append(trial)
    return Survey(done, failed, waiting, skipped, reusable, changed)


def _of_other_versions(records: Records, code: str) -> dict[tuple[Any, ...], list[Record]]:
    found: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for record in records.records:
        if record["code"] != code:
            found[_same(record["trial"])].append(record)
    return found


def _same(trial: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(trial.items()))


def _why_not(trial: Trial, bench: Workbench) -> str | None:
    if not trial.external:
        return None
    paired = not arm_of(trial.arm).pairs and bench.set(trial.data).paired
    return why_not(trial, bench.places, paired=paired)


def counts(spec: Spec, found: Survey) -> list[dict[str, Any]]:
    """Runs, done and skipped of each (data, size, arm), in the order of the spec."""
    total: Counter[tuple[str, int, str]] = Counter()
    parts = {"done": found.done, "skipped": found.skipped, "waiting": found.waiting}
    each = {name: Counter(map(_cell, trials)) for name, trials in parts.items()}
    for counter in each.values():
        total.update(counter)
    return [
        {
            "data": cell[0], "size": cell[1], "arm": cell[2], "runs": runs,
            "done": each["done"][cell], "skipped": each["skipped"][cell],
        }
        for cell in dict.fromkeys(map(_cell, trials_of(spec)))
        if (runs := total[cell])
    ]  # fmt: skip


def _cell(trial: Trial) -> tuple[str, int, str]:
    return trial.data, trial.size, trial.arm


class Pace:
    """Seconds per step, as this engine on this device recorded them for a set and an encoder."""

    def __init__(self, records: Iterable[Record], engine: str, device: str) -> None:
        self.engine = engine
        seen: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self.elsewhere: dict[tuple[str, str], set[str]] = defaultdict(set)
        for record in records:
            if not record.get("steps"):
                continue
            trial, by = record["trial"], record["engine"]
            if record.get("device") == device:
                seen[trial["data"], trial["encoder"], by].append(
                    record["seconds"] / record["steps"]
                )
            place = trial["data"], trial["encoder"]
            self.elsewhere[place].add(f"{by} on {record.get('device')}")
        self.seconds = {place: median(values) for place, values in seen.items()}

    def estimate(self, trials: Iterable[Trial]) -> tuple[float, int]:
        """(seconds, number of runs that nothing is known about)."""
        known, unknown = 0.0, 0
        for trial in trials:
            engine = "peer" if trial.external else self.engine
            pace = self.seconds.get((trial.data, trial.encoder, engine))
            if pace is None:
                unknown += 1
            else:
                known += pace * max(1, trial.planned_steps())
        return known, unknown

    def others(self, trials: Iterable[Trial]) -> list[str]:
        """Who has recorded such runs: `fleet on NVIDIA H200`."""
        places = {(trial.data, trial.encoder) for trial in trials}
        return sorted(set[str]().union(*(self.elsewhere.get(place, set()) for place in places)))
