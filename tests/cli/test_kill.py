"""A run killed at any moment ends, resumed, in the very bytes of the run that was not killed."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from helpers.command import Command, fork, leftovers, training, weights_of
from protofit.cli.main import TERMINATED, terminate

STEPS, EVERY = 60, 3
PAUSE = 0.1  # seconds that a step takes where a kill is due
MOMENTS = {  # the step that a checkpoint must reach before the kill; None: no checkpoint yet
    "before the first checkpoint": None,
    "in the middle": (12, 45),
    "near the end": (50, 57),
}
LIVELY = {"default": "head.prune.threshold=0.8", "paper": "head.scale.variance=0.1"}


def arguments_of(data: Path, encoder: Path, out: Path, preset: str, *more: str) -> list[str]:
    """Sixty steps in fifteen epochs that create and prune; a checkpoint every third step."""
    settings = (
        f"train.checkpoint_every={EVERY}",
        "train.epochs=100",
        "train.patience=50",
        LIVELY[preset],
    )
    sets = [word for setting in settings for word in ("--set", setting)]
    return training(data, encoder, out, "--preset", preset, *sets, *more, steps=STEPS)


def finished(process: BaseProcess) -> None:
    """Wait for a run that must succeed."""
    process.join(200)
    assert process.exitcode == 0


def killed(process: BaseProcess, delay: float) -> bool:
    """SIGKILL after a delay; False if the run was faster."""
    process.join(delay)
    process.kill()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def saved_step(out: Path) -> int:
    """The step of the checkpoint that a killed run left; 0 where it left none."""
    manifest = out.with_name(f"{out.name}.run") / "checkpoint" / "checkpoint.json"
    try:
        return int(json.loads(manifest.read_text())["state"]["step"])
    except FileNotFoundError:
        return 0


@dataclass(frozen=True)
class Reference:
    """A run that nobody disturbed."""

    preset: str
    model: Path
    seconds: float


@pytest.fixture(scope="module", params=["default", "paper"])
def reference(
    request: pytest.FixtureRequest,
    data: Path,
    tiny_bert: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Reference:
    """Made once for each preset, after the server of forks is warm."""
    folder = tmp_path_factory.mktemp("reference")
    preset = str(request.param)
    finished(fork(["--version"], folder / "log"))
    began = time.perf_counter()
    finished(fork(arguments_of(data, tiny_bert, folder / "model", preset), folder / "log"))
    return Reference(preset, folder / "model", time.perf_counter() - began)


def same(model: Path, reference: Reference) -> None:
    """Weights, settings and trace agree to the last byte, and nothing else is left."""
    assert weights_of(model) == weights_of(reference.model)
    for name in ("config.json", "trace.csv"):
        assert (model / name).read_bytes() == (reference.model / name).read_bytes()
    assert not model.with_name(f"{model.name}.run").exists()
    assert leftovers(model.parent) == []


def linger(after: int) -> None:
    """Let a run take its time from a step on: a busy machine must not end it before the kill."""
    from protofit.training.loop import Run

    step_of = Run._step

    def slow(self: Run, *arguments: Any) -> None:
        step_of(self, *arguments)
        if self.state.step >= after:
            time.sleep(PAUSE)

    Run._step = slow  # type: ignore[method-assign]


def hold(after: int, reached: Path) -> None:
    """Stand still, as the command does under SIGTERM, where the checkpoint of a step is written."""
    from protofit.training import state

    signal.signal(signal.SIGTERM, terminate)
    write = state.write_manifest

    def slow(folder: Path, content: dict[str, Any], **more: Any) -> None:
        write(folder, content, **more)
        if content["state"]["step"] >= after:
            reached.touch()
            time.sleep(60)

    state.write_manifest = slow  # type: ignore[assignment]


def kill_after(step: int, arguments: list[str], out: Path, dice: random.Random) -> int:
    """Kill a run a drawn moment after its checkpoint reached a step; the step that it left."""
    process = fork(arguments, out.with_name("log"), linger, step)
    while saved_step(out) < step and process.is_alive():
        time.sleep(0.002)
    assert killed(process, dice.uniform(0, PAUSE)), "the run was over before the kill"
    return saved_step(out)


def kill_early(arguments: list[str], out: Path, dice: random.Random, seconds: float) -> None:
    """Kill a run at a drawn moment of its start; again, and earlier, if it was too late."""
    for _ in range(8):
        assert killed(fork(arguments, out.with_name("log")), dice.uniform(0, seconds / 3))
        if not saved_step(out):
            return
        shutil.rmtree(out.with_name(f"{out.name}.run"))
        seconds /= 2
    raise AssertionError("every run had a checkpoint at once")


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_once(
    moment: str, reference: Reference, data: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    """kill -9 before the first checkpoint, in the middle and near the end; then --resume."""
    out, span = tmp_path / "model", MOMENTS[moment]
    arguments = arguments_of(data, tiny_bert, out, reference.preset)
    dice = random.Random(f"{moment} {reference.preset}")
    if span is None:
        kill_early(arguments, out, dice, reference.seconds)
    else:
        step = kill_after(dice.randint(*span), arguments, out, dice)
        assert step % EVERY == 0
        assert span[0] <= step <= STEPS
    assert not out.exists()
    finished(fork([*arguments, "--resume"], tmp_path / "log"))
    same(out, reference)


def test_killed_again_and_again(
    reference: Reference, data: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    """The resumed run may be killed as well: three times, each time a little further."""
    out = tmp_path / "model"
    arguments = [*arguments_of(data, tiny_bert, out, reference.preset), "--resume"]
    dice = random.Random(f"again {reference.preset}")
    targets = [dice.randint(low, low + 12) for low in (1, 18, 36)]
    steps = [kill_after(target, arguments, out, dice) for target in targets]
    assert steps == sorted(steps)
    assert 0 < steps[0] < steps[2] < STEPS
    finished(fork(arguments, tmp_path / "log"))
    same(out, reference)


def test_terminated_while_it_writes(
    reference: Reference, data: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    """SIGTERM half-way through a checkpoint: nothing half-written stays; then --resume."""
    out, reached, step = tmp_path / "model", tmp_path / "reached", 7 * EVERY
    arguments = arguments_of(data, tiny_bert, out, reference.preset)
    process = fork(arguments, tmp_path / "log", hold, step, reached)
    while not reached.exists() and process.is_alive():
        time.sleep(0.002)
    assert leftovers(tmp_path) != []
    process.terminate()
    process.join(60)
    assert process.exitcode == TERMINATED
    assert (tmp_path / "log").read_text() == "protofit: stopped\n"
    assert leftovers(tmp_path) == []
    assert saved_step(out) == step - EVERY
    assert not out.exists()
    finished(fork([*arguments, "--resume"], tmp_path / "log"))
    same(out, reference)


@pytest.mark.slow
@pytest.mark.parametrize("draw", range(10))
def test_killed_at_any_moment(
    draw: int, reference: Reference, data: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    """Delays drawn evenly over the time that a whole run takes, starting up included."""
    out = tmp_path / "model"
    arguments = [*arguments_of(data, tiny_bert, out, reference.preset), "--resume"]
    delay = random.Random(f"{draw} {reference.preset}").uniform(0, reference.seconds)
    killed(fork(arguments, tmp_path / "log"), delay)
    finished(fork(arguments, tmp_path / "log"))
    same(out, reference)


def test_these_runs_do_what_is_to_be_restored(reference: Reference, command: Command) -> None:
    """They create and prune prototypes; under `paper` they also keep the best of many epochs."""
    content = command("info", reference.model, "--json").json()
    last, record = content["trace"][-1], content["record"]
    assert last["created"] > 10
    assert last["pruned"] > 2
    assert content["steps"] == STEPS
    assert (record["slice_score"] is not None) == (reference.preset == "paper")
    assert (record["held_back"] > 0) == (reference.preset == "paper")


def test_probe_of_a_killed_process_is_swept(
    data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """The first check of the disk may be killed as well; the next run takes its file away."""
    dead = subprocess.Popen([sys.executable, "-S", "-c", ""])
    dead.wait()
    for name in ("protofit", "model"):
        (tmp_path / f".{name}.{dead.pid}-0123abcd.tmp").write_bytes(bytes(4096))
    assert command(*training(data, tiny_bert, tmp_path / "model", steps=1)).code == 0
    assert leftovers(tmp_path) == []
