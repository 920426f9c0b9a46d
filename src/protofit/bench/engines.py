"""What runs trials: the training loop, one after the other; a fleet, many at once; programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from protofit.bench.records import Record
from protofit.bench.trial import Trial
from protofit.bench.workbench import Workbench
from protofit.errors import InputError

Share = tuple["Engine", list[Trial]]
ENGINES = ("auto", "loop", "fleet")


class Engine(Protocol):
    """Runs trials and yields a record for each as it ends, in any order."""

    name: str

    def accepts(self, trial: Trial) -> bool:
        """Whether this engine can run the trial."""

    def run(self, trials: Sequence[Trial], bench: Workbench) -> Iterator[Record]:
        """Every trial once, as long as the clock of the bench allows."""


def loop_engine() -> Engine:
    """One run after the other in the training loop."""
    from protofit.bench.loop_engine import LoopEngine

    return LoopEngine()


def peer_engine() -> Engine:
    """External arms, each in a process of its own."""
    from protofit.bench.peers import PeerEngine

    return PeerEngine()


def fleet_engine(copies: int | None = None) -> Engine:
    """Many runs stacked in one model on a GPU."""
    from protofit.bench.fleet import FleetEngine

    return FleetEngine() if copies is None else FleetEngine(copies)


def assign(
    trials: Sequence[Trial], asked: str, bench: Workbench, copies: int | None = None
) -> list[Share]:
    """Which engine runs which trials: `auto` gives the fleet what it can stack, on a GPU."""
    check_engine(asked)
    candidates = [peer_engine()]
    if asked != "loop" and trials and (asked == "fleet" or bench.device.type == "cuda"):
        candidates.append(fleet_engine(copies))
    if asked != "fleet":
        candidates.append(loop_engine())
    shares, rest = [], list(trials)
    for engine in candidates:
        picky = asked == "auto" and engine.name == "fleet"
        can = {trial.encoder: not picky or stackable(trial.encoder, bench) for trial in rest}
        mine = [trial for trial in rest if engine.accepts(trial) and can[trial.encoder]]
        taken = set(mine)
        rest = [trial for trial in rest if trial not in taken]
        if mine:
            shares.append((engine, mine))
    if rest:
        raise InputError(
            f"the {asked} engine cannot run {rest[0]}", where="--engine", fix="Use auto."
        )
    return shares


def check_engine(name: str) -> None:
    """Refuse what is no engine."""
    if name not in ENGINES:
        raise InputError(
            f"there is no engine '{name}'", where="--engine", fix=f"Use {' or '.join(ENGINES)}."
        )


def likely_engine(encoder: str, asked: str, bench: Workbench) -> str:
    """The engine that `assign` gives the library's own arms on this encoder."""
    if asked != "auto":
        return asked
    cuda = bench.device.type == "cuda"
    return "fleet" if cuda and stackable(encoder, bench) else "loop"


def stackable(encoder: str, bench: Workbench) -> bool:
    """Whether the fleet knows this kind of encoder."""
    from protofit.bench.fleet.weights import EncoderShape

    try:
        EncoderShape.of(bench.configuration(encoder))
    except InputError:
        return False
    return True
