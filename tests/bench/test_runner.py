"""Plans, shards, workers, versions: every run once, whoever runs it."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.bench import without_times, write_spec
from helpers.places import ROOT
from protofit.bench.clock import Clock
from protofit.bench.engines import assign
from protofit.bench.fleet.engine import FleetEngine, _chunks
from protofit.bench.plan import Pace, Shard
from protofit.bench.pool import over_processes, threads_of
from protofit.bench.progress import Listener
from protofit.bench.ray_pool import _work_off
from protofit.bench.records import read_records
from protofit.bench.runner import Bench, Options
from protofit.bench.sameness import same_settings, ways
from protofit.bench.spec import read_spec
from protofit.bench.trial import Trial, trials_of
from protofit.bench.version import code_version
from protofit.bench.workbench import Places, Workbench
from protofit.errors import InputError, ProtoFitError


class Ears(Listener):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.begun: tuple[int, int] = (-1, -1)
        self.steps = 0
        self.ended = False

    def begin(self, runs: int, steps: int) -> None:
        self.begun = (runs, steps)

    def advance(self, record: dict[str, Any], steps: int) -> None:
        self.steps += steps

    def end(self) -> None:
        self.ended = True


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory, places: Places) -> Path:
    """The spec's records by one worker; the folder holds spec and records."""
    folder = tmp_path_factory.mktemp("once")
    Bench(write_spec(folder / "toy.toml"), Options(places)).run(Listener())
    return folder


def records_of(path: Path) -> list[dict[str, Any]]:
    return read_records(path).records


def test_one_run_after_the_other(once: Path) -> None:
    found = records_of(once / "toy.jsonl")
    assert len(found) == 8
    assert len({record["key"] for record in found}) == 8
    subsets = {(r["trial"]["size"], r["trial"]["seed"]): set() for r in found}
    for record in found:
        subsets[record["trial"]["size"], record["trial"]["seed"]].add(record["subset"])
    assert all(len(hashes) == 1 for hashes in subsets.values())  # the same for every arm
    assert len(set.union(*subsets.values())) == 4


def test_two_workers_give_the_records_of_one(once: Path, tmp_path: Path, places: Places) -> None:
    bench = Bench(write_spec(tmp_path / "toy.toml"), Options(places, workers=2))
    ears = Ears()
    said = bench.run(ears)
    assert said["run_now"] == 8
    assert without_times(records_of(tmp_path / "toy.jsonl")) == without_times(
        records_of(once / "toy.jsonl")
    )
    assert ears.begun == (8, 2 * 2 * 2 * 5)
    assert ears.steps == 2 * 2 * 2 * 5
    assert ears.ended


def test_what_is_done_is_not_done_again(once: Path, places: Places) -> None:
    before = (once / "toy.jsonl").read_bytes()
    said = Bench(once / "toy.toml", Options(places)).run(Listener())
    assert (said["already_done"], said["run_now"]) == (8, 0)
    assert (once / "toy.jsonl").read_bytes() == before


def test_plan_counts_and_estimates(once: Path, tmp_path: Path, places: Places) -> None:
    spec = write_spec(tmp_path / "toy.toml", sizes=[12, 24, 36], seeds=[0, 1, 2])
    empty = Bench(spec, Options(places)).plan()
    assert (empty["runs"], empty["done"], empty["waiting"]) == (18, 0, 18)
    assert empty["runs_without_estimate"] == 18
    found = records_of(once / "toy.jsonl")
    (tmp_path / "toy.jsonl").write_bytes((once / "toy.jsonl").read_bytes())
    plan = Bench(spec, Options(places)).plan()
    assert (plan["runs"], plan["done"], plan["waiting"]) == (18, 8, 10)
    assert plan["runs_without_estimate"] == 0
    paces = sorted(record["seconds"] / record["steps"] for record in found)
    steps = 10 * 5 + 6 * 5  # five epochs of one batch; of two batches with 36 examples
    assert plan["estimate_seconds"] == pytest.approx(
        (paces[3] + paces[4]) / 2 * steps, rel=0.05, abs=0.1
    )
    cells = {(c["size"], c["arm"]): (c["done"], c["runs"]) for c in plan["cells"]}
    assert cells[12, "raw"] == (2, 3)
    assert cells[36, "pfit"] == (0, 3)
    assert json.loads(json.dumps(plan)) == plan


def test_pace_knows_engines_and_devices() -> None:
    trial = Trial("toys", 12, "raw", "bert", 5e-5, 0, "paper")
    records = [{"trial": trial.to_dict(), "steps": 10, "seconds": s, "engine": e, "device": d}
               for e, d, s in (("loop", "cpu", 20.0), ("fleet", "H200", 2.0))]  # fmt: skip
    assert Pace(records, "loop", "cpu").estimate([trial]) == (10.0, 0)
    assert Pace(records, "fleet", "H200").estimate([trial]) == (1.0, 0)
    assert Pace([], "loop", "cpu").estimate([trial]) == (0.0, 1)
    for engine, device in (("fleet", "cpu"), ("loop", "H200"), ("fleet", "H100")):
        pace = Pace(records, engine, device)
        assert pace.estimate([trial]) == (0.0, 1)
        assert pace.others([trial]) == ["fleet on H200", "loop on cpu"]
    assert Pace(records, "loop", "cpu").estimate([replace(trial, data="other")]) == (0.0, 1)


def test_shards_share_all_runs(tmp_path: Path, places: Places) -> None:
    spec = write_spec(tmp_path / "toy.toml", seeds=list(range(10)))
    parts = [Bench(spec, Options(places, shard=Shard(i, 3))).survey().waiting for i in (1, 2, 3)]
    assert sum(map(len, parts)) == 40
    assert len(set().union(*parts)) == 40
    assert all(parts)
    again = Bench(spec, Options(places, shard=Shard(2, 3))).survey().waiting
    assert again == parts[1]


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", ""])
def test_shards_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="--shard"):
        Shard.parse(text)
    assert Shard.parse("2/3") == Shard(2, 3)
    assert Shard.parse(None) == Shard(1, 1)


OTHER = "0123456789ab"


def of_another_version(records: list[dict[str, Any]], **head: Any) -> list[dict[str, Any]]:
    """The records as another code version would have left them, with settings of the head."""
    return [{**r, "code": OTHER, "key": key_with(Trial(**r["trial"]), head)} for r in records]


def key_with(trial: Trial, head: dict[str, Any]) -> str:
    """The key under another code version with these settings of the head on top."""
    facts = trial.facts()
    return trial.key(OTHER, {**facts, "head": {**facts["head"], **head}})


def write_records(path: Path, records: list[dict[str, Any]]) -> str:
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(text)
    return text


def test_other_code_versions_are_not_mixed_silently(
    once: Path, tmp_path: Path, places: Places
) -> None:
    old = of_another_version(records_of(once / "toy.jsonl"))
    text = write_records(tmp_path / "toy.jsonl", old)
    spec = write_spec(tmp_path / "toy.toml", sizes=[12, 24, 36], arms=["raw"], seeds=[0])
    with pytest.raises(InputError, match=r"8 of 0123456789ab.*--mix-versions"):
        Bench(spec, Options(places)).run(Listener())
    assert (tmp_path / "toy.jsonl").read_text() == text
    plan = Bench(spec, Options(places)).plan()
    assert plan["other_codes"] == {"0123456789ab": 8}
    assert (plan["waiting"], plan["done_by_other_versions"]) == (3, 2)
    said = Bench(spec, Options(places, mix_versions=True)).run(Listener())
    assert (said["already_done"], said["run_now"]) == (2, 1)
    assert (tmp_path / "toy.jsonl").read_text().startswith(text)
    assert records_of(tmp_path / "toy.jsonl")[-1]["code"] == code_version()


def test_other_settings_are_never_mixed(once: Path, tmp_path: Path, places: Places) -> None:
    """A record of PFit with another β is no record of today's PFit, whatever is asked."""
    old = of_another_version(records_of(once / "toy.jsonl"))
    changed = [
        record if record["trial"]["arm"] == "raw" else of_another_version([record], beta=9.0)[0]
        for record in old
    ]
    text = write_records(tmp_path / "toy.jsonl", changed)
    bench = Bench(write_spec(tmp_path / "toy.toml"), Options(places, mix_versions=True))
    plan = bench.plan()
    assert (plan["done"], plan["waiting"], plan["done_with_other_settings"]) == (4, 4, 4)
    with pytest.raises(InputError, match=r"4 of the records.*other settings.*\(pfit\)"):
        bench.run(Listener())
    assert (tmp_path / "toy.jsonl").read_text() == text


def test_settings_without_effect_make_no_difference(once: Path) -> None:
    """The scale of a neighbour loss that is off had another value once."""
    for record in records_of(once / "toy.jsonl"):
        trial = Trial(**record["trial"])
        (old,) = of_another_version([record], neighbour_scale=0.15)
        assert same_settings(trial, record)
        assert same_settings(trial, old) == (trial.arm == "raw")
    snn = Trial("toys", 12, "raw-snn", "bert", 5e-5, 0, "paper")
    narrow = key_with(snn, {"neighbour_scale": 0.15})
    assert not same_settings(snn, {"code": OTHER, "key": narrow})


@pytest.mark.parametrize("per_class", [1, 2])
def test_a_setting_that_came_later_counts_only_where_it_does_something(per_class: int) -> None:
    trial = Trial("toys", 12, "pfit", "bert", 5e-5, 0, "paper")
    before = trial.facts()
    for name in ("cohesion_weight", "cohesion_gap", "follow"):
        del before["head"][name]
    del before["head"]["start"]["per_class"]
    record = {"code": OTHER, "key": trial.key(OTHER, before)}
    assert same_settings(trial, record)
    today = trial.facts()
    today["head"]["start"]["per_class"] = per_class
    assert (record["key"] in [trial.key(OTHER, way) for way in ways(today)]) == (per_class == 1)


def test_committed_records_have_the_settings_of_today() -> None:
    """Else a table would show two different methods under one name."""
    for file in (ROOT / "benchmarks" / "specs").glob("*.toml"):
        spec = read_spec(file)
        planned = {tuple(trial.to_dict().values()): trial for trial in trials_of(spec)}
        for record in records_of(spec.records_path(file)):
            trial = planned.get(tuple(record["trial"].values()))
            assert trial is None or same_settings(trial, record), record["trial"]


@pytest.mark.parametrize("workers", [1, 2])
def test_no_run_begins_after_its_time(workers: int, tmp_path: Path, places: Places) -> None:
    spec = write_spec(tmp_path / "toy.toml")
    said = Bench(spec, Options(places, workers=workers, minutes=1e-9)).run(Listener())
    assert (said["run_now"], said["left"]) == (0, 8)
    if workers == 1:
        said = Bench(spec, Options(places, minutes=60)).run(Listener())
        assert (said["run_now"], said["left"]) == (8, 0)


def test_a_fleet_begins_no_voyage_that_would_end_too_late(places: Places) -> None:
    """What a voyage has taken so far is what the next one is expected to take."""
    trials = [Trial("toys", 12, "raw", "bert", 5e-5, seed, "paper") for seed in range(4)]
    engine = FleetEngine(2)
    voyages = engine.run(trials, Workbench(places, Clock(minutes=10)))
    assert len([next(voyages), next(voyages)]) == 2
    engine.pace.longest = 601.0
    assert list(voyages) == []


def test_methods_that_look_again_share_voyages() -> None:
    arms = ["raw", "protonet", "pfit", "imp", "bss", "prosenet"]
    trials = [Trial("toys", 12, arm, "bert", 5e-5, s, "paper") for s in (0, 1) for arm in arms]
    chunks = [[trial.arm for trial in chunk] for chunk in _chunks(trials, 3)]
    assert chunks == [["raw", "pfit", "bss"]] * 2 + [["protonet", "imp", "prosenet"]] * 2


def test_diverged_runs_are_done(tmp_path: Path, places: Places) -> None:
    spec = write_spec(tmp_path / "toy.toml", sizes=[240], arms=["raw"], seeds=[0], rates=[1e38])
    said = Bench(spec, Options(places)).run(Listener())
    assert (said["run_now"], said["diverged_now"]) == (1, 1)
    plan = Bench(spec, Options(places)).plan()
    assert (plan["done"], plan["diverged"], plan["waiting"]) == (1, 1, 0)


def test_an_error_in_a_worker_reaches_the_user(places: Places) -> None:
    trial = Trial("none", 12, "raw", "bert", 5e-5, 0, "paper")
    with pytest.raises(InputError, match="no set 'none'"):
        list(over_processes([trial, trial], places, 2))


def test_a_worker_that_dies_is_told(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial("toys", 12, "raw", "bert", 5e-5, 0, "paper")
    monkeypatch.setattr("protofit.bench.pool._work", _die)
    with pytest.raises(ProtoFitError, match="died with exit code 9"):
        list(over_processes([trial], places, 2))


def _die(*_: Any) -> None:
    import os

    os._exit(9)


def test_threads_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert [threads_of(n) for n in (1, 3, 16, 99)] == [16, 5, 1, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert threads_of(3) == 2


def test_engines_share_the_trials(workbench: Workbench) -> None:
    mine = Trial("toys", 12, "raw", "bert", 5e-5, 0, "paper")
    theirs = replace(mine, arm="hf-trainer")
    shares = {engine.name: trials for engine, trials in assign([mine, theirs], "auto", workbench)}
    assert shares == {"loop": [mine], "peer": [theirs]}
    with pytest.raises(InputError, match="no engine 'fast'"):
        assign([mine], "fast", workbench)
    assert assign([mine], "fleet", workbench)[0][0].name == "fleet"


def test_options_that_do_not_go_together(places: Places) -> None:
    with pytest.raises(InputError, match="one process"):
        Options(places, engine="fleet", workers=2)
    with pytest.raises(InputError, match="at least 1"):
        Options(places, workers=0)
    with pytest.raises(InputError, match="above 0"):
        Options(places, minutes=0)


def test_peers_that_cannot_run_are_listed(tmp_path: Path, places: Places) -> None:
    spec = write_spec(tmp_path / "toy.toml", data=["toys", "pairs"], arms=["setfit", "raw"])
    specs = Path(__file__).resolve().parents[2] / "benchmarks"
    there = replace(places, peers_dir=specs / "peers", peers_python="/usr/bin/python")
    plan = Bench(spec, Options(replace(there, peers_python=None))).plan()
    assert (plan["waiting"], plan["skipped"]) == (8, 8)
    assert plan["skipped_because"] == {
        "no --peers-python was given": 4,
        "setfit takes single texts only, and pairs holds pairs": 4,
    }
    assert Bench(spec, Options(there)).plan()["skipped"] == 4
    away = Bench(spec, Options(places)).plan()["skipped_because"]
    assert "its script peers/setfit_run.py is not beside the specs" in away


@pytest.mark.slow
def test_ray_gives_the_same_records(
    once: Path, tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="needs the extra protofit[ray]")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    spec = write_spec(tmp_path / "toy.toml")
    said = Bench(spec, Options(places, workers=2, ray=True)).run(Listener())
    assert said["run_now"] == 8
    assert without_times(records_of(tmp_path / "toy.jsonl")) == without_times(
        records_of(once / "toy.jsonl")
    )


class Pool:
    """Ray's pool of actors, as far as it is used: two workers who answer in reverse order."""

    def __init__(self) -> None:
        self.running: list[Any] = []
        self.most = 0

    def has_free(self) -> bool:
        return len(self.running) < 2

    def has_next(self) -> bool:
        return bool(self.running)

    def submit(self, call: Any, trial: Any) -> None:
        self.running.append(trial)
        self.most = max(self.most, len(self.running))

    def get_next_unordered(self) -> Any:
        return self.running.pop()


def test_free_workers_of_ray_get_the_next_run_while_there_is_time() -> None:
    pool: Any = Pool()
    done = list(_work_off(pool, deque(range(5)), Clock()))
    assert sorted(done) == list(range(5))
    assert pool.most == 2
    assert list(_work_off(Pool(), deque(range(5)), Clock(minutes=0))) == []


def test_ray_that_is_not_here_is_said(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from protofit.bench.ray_pool import over_ray

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="pip install ray"):
        list(over_ray([], places, 2))
