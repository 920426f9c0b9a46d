"""From records to figures: the learning rate of each seed is chosen on the slice, never on dev.

reported  dev figure of the rate with the best slice accuracy, then the lowest slice log-loss
oracle    best dev figure over all rates; oracle − reported is the optimism of choosing on dev

A run that failed takes part as failed: it is never chosen, and a seed without any other run has
no figure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from protofit.errors import InputError

Record = Mapping[str, Any]
LOWER_IS_BETTER = frozenset({"log_loss", "ece", "mse"})


@dataclass(frozen=True, order=True)
class Cell:
    """What is repeated over seeds and learning rates."""

    data: str
    size: int
    arm: str
    encoder: str
    protocol: str

    @classmethod
    def of(cls, trial: Mapping[str, Any]) -> Cell:
        """The cell a run belongs to."""
        return cls(
            data=str(trial["data"]),
            size=int(trial["size"]),
            arm=str(trial["arm"]),
            encoder=str(trial["encoder"]),
            protocol=str(trial["protocol"]),
        )

    def __str__(self) -> str:
        return f"{self.data} {self.size} {self.arm} ({self.encoder}, {self.protocol})"


@dataclass(frozen=True)
class Choice:
    """One seed of a cell: its runs over the learning rates and the chosen one."""

    chosen: Record | None  # None: every run failed
    runs: tuple[Record, ...] = ()  # that ended well
    failures: tuple[Record, ...] = ()

    @property
    def subset(self) -> str | None:
        """Hash of the training subset, the same for every method at a seed."""
        return None if self.chosen is None else self.chosen.get("subset")

    def reported(self, split: str, metric: str = "accuracy") -> float | None:
        """Dev figure of the chosen run."""
        return None if self.chosen is None else _figure(self.chosen, split, metric)

    def oracle(self, split: str, metric: str = "accuracy") -> float | None:
        """Best dev figure over the learning rates."""
        found = [_figure(run, split, metric) for run in self.runs]
        known = [value for value in found if value is not None]
        best = min if metric in LOWER_IS_BETTER else max
        return best(known) if known else None


def select(records: Iterable[Record]) -> dict[Cell, dict[int, Choice]]:
    """Cell → seed → choice. Two different runs of one trial are refused."""
    gathered: dict[Cell, dict[int, list[Record]]] = {}
    for record in without_repeats(records):
        trial = record["trial"]
        gathered.setdefault(Cell.of(trial), {}).setdefault(int(trial["seed"]), []).append(record)
    return {
        cell: {seed: choose(runs, cell) for seed, runs in sorted(seeds.items())}
        for cell, seeds in sorted(gathered.items())
    }


def choose(records: Sequence[Record], cell: Cell) -> Choice:
    """Choose among the rates of one seed by the slice."""
    failures = tuple(record for record in records if "error" in record)
    runs = tuple(record for record in records if "error" not in record)
    if not runs:
        return Choice(None, (), failures)
    blind = [run for run in runs if not run.get("slice")]
    if len(runs) > 1 and blind:
        raise InputError(
            f"{len(blind)} of the {len(runs)} runs of one seed have no slice to choose a learning "
            "rate by",
            where=str(cell),
            fix="Keep one learning rate for this size, decided before the runs.",
        )
    return Choice(min(runs, key=_merit), runs, failures)


def one_version(records: Sequence[Record], code: str | None, where: str) -> list[Record]:
    """The records of one code version; a mixture without `code` is refused."""
    if code is not None:
        return [record for record in records if record.get("code") == code]
    counts = Counter(str(record.get("code")) for record in records)
    if len(counts) > 1:
        parts = ", ".join(f"{count} of {name}" for name, count in counts.most_common())
        raise InputError(
            f"the records come from {len(counts)} versions of the code: {parts}",
            where=where,
            fix="Choose one with --code, or run the older part again.",
        )
    return list(records)


def without_repeats(records: Iterable[Record]) -> list[Record]:
    """One record per trial: the first of equal keys; different keys of one trial are refused."""
    first: dict[tuple[Any, ...], Record] = {}
    for record in records:
        trial = record["trial"]
        cell, rate, seed = Cell.of(trial), trial.get("rate"), int(trial["seed"])
        known = first.setdefault((cell, rate, seed), record)
        if known["key"] == record["key"]:
            continue
        kind = "versions of the code" if known.get("code") != record.get("code") else "settings"
        raise InputError(
            f"rate {rate}, seed {seed} was run with two {kind} "
            f"({known.get('code')}/{known['key']}, {record.get('code')}/{record['key']})",
            where=str(cell),
            fix="Keep one of them in the records, or choose a version with --code.",
        )
    return list(first.values())


def _merit(record: Record) -> tuple[float, ...]:
    """Smaller is better: slice error, slice log-loss (or squared error), then the rate."""
    held = record.get("slice") or {}
    rate = float(record["trial"].get("rate") or 0.0)
    if "accuracy" in held:
        return (-held["accuracy"], _or_infinite(held.get("log_loss")), rate)
    return (_or_infinite(held.get("mse")), rate)


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None or math.isnan(value) else value


def _figure(record: Record, split: str, metric: str) -> float | None:
    value = record.get("dev", {}).get(split, {}).get(metric)
    return None if value is None else float(value)
