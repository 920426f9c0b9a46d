"""kill -9 while a model is replaced, or while the run tidies up: the folder always loads."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from pathlib import Path

import pytest

from helpers.command import Command, fork, leftovers, training, weights_of

SAMPLES = 7


def die_at(moment: int, folder: str, tally: str) -> None:
    """Let this process kill itself before the given event on the model folder; count all."""
    seen = 0

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event.startswith(("object.", "import", "compile", "exec", "sys.")):
            return
        paths = [os.fsdecode(a) for a in arguments if isinstance(a, (str, bytes, os.PathLike))]
        if event != "ctypes.call_function" and not any(path.startswith(folder) for path in paths):
            return
        seen += 1
        if seen == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        if not moment:
            descriptor = os.open(tally, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(descriptor, b".")
            os.close(descriptor)

    sys.addaudithook(listen)


def overwriting(out: Path, moment: int, arguments: list[str]) -> int:
    """Exit code of a process that replaces the model, killed before an event (0: never)."""
    watched = str(out.parent / ".model.")
    tally = out.parent / "tally"
    process = fork(arguments, out.parent / "log", die_at, moment, watched, str(tally))
    process.join(120)
    assert process.exitcode is not None
    return process.exitcode


@pytest.fixture
def replaced(data: Path, tiny_bert: Path, model: Path, tmp_path: Path) -> tuple[Path, list[str]]:
    """An old model, and the arguments that put another one in its place."""
    out = tmp_path / "model"
    shutil.copytree(model, out)
    return out, training(data, tiny_bert, out, "--seed", "5", "--overwrite", steps=1)


def check_kills(out: Path, arguments: list[str], old: Path, everywhere: bool) -> None:
    """Kill before events of the replacement; the folder is the old or the new one, and whole."""
    from protofit.model.bundle import Bundle

    assert overwriting(out, 0, arguments) == 0
    events = (out.parent / "tally").stat().st_size
    assert events > 2 * SAMPLES
    fresh, stale = weights_of(out), weights_of(old)
    assert fresh != stale
    moments = range(1, events + 1)
    if not everywhere:
        draws = random.Random(0).sample(range(1, events - 3), SAMPLES - 3)
        moments = sorted({*draws, events - 2, events - 1, events})
    found = set()
    for moment in moments:
        shutil.rmtree(out)
        shutil.copytree(old, out)
        assert overwriting(out, moment, arguments) == -signal.SIGKILL
        assert Bundle.load(out).classes is not None
        assert weights_of(out) in (fresh, stale)
        found.add(weights_of(out) == fresh)
    assert found == {True, False}
    assert overwriting(out, 0, arguments) == 0
    assert weights_of(out) == fresh
    assert leftovers(out.parent) == []


def test_killed_at_drawn_moments(replaced: tuple[Path, list[str]], model: Path) -> None:
    """At a few events of the replacement, the last three among them."""
    check_kills(*replaced, model, everywhere=False)


@pytest.mark.slow
def test_killed_at_every_moment(replaced: tuple[Path, list[str]], model: Path) -> None:
    """At every single event."""
    check_kills(*replaced, model, everywhere=True)


def stop_at_second_checkpoint(patch: pytest.MonkeyPatch) -> None:
    """Let a training end as if killed, right after its second checkpoint."""
    from protofit.training.state import RunState

    save, seen = RunState.save, []

    def stop(self: RunState, folder: Path) -> None:
        save(self, folder)
        seen.append(self.step)
        if len(seen) == 2:
            raise KeyboardInterrupt

    patch.setattr(RunState, "save", stop)


def test_interrupted_overwriting_can_be_resumed(
    model: Path, data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Until the new model is there, the old one is; --resume leads to the new one."""
    out = tmp_path / "model"
    shutil.copytree(model, out)
    settings = ("--seed", "5", "--set", "train.checkpoint_every=2")
    arguments = training(data, tiny_bert, out, *settings, steps=8)
    with pytest.MonkeyPatch.context() as patch:
        stop_at_second_checkpoint(patch)
        assert command(*arguments, "--overwrite").code == 130
    assert weights_of(out) == weights_of(model)
    assert command("info", out).code == 0
    assert command(*arguments, "--resume").code == 0
    assert command(*training(data, tiny_bert, tmp_path / "whole", *settings, steps=8)).code == 0
    assert weights_of(out) == weights_of(tmp_path / "whole")
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("removed", range(6))
def test_killed_while_tidying_up(
    removed: int, data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """The model is in place, and a part of the checkpoint is gone: --resume finds the end."""
    from protofit.model.bundle import Bundle

    out, run, copy = (tmp_path / name for name in ("model", "model.run", "copy"))
    save = Bundle.save

    def copy_and_save(self: Bundle, folder: Path) -> None:
        shutil.copytree(run, copy)
        save(self, folder)

    every = ("--set", "train.checkpoint_every=1")
    arguments = training(data, tiny_bert, out, *every, steps=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bundle, "save", copy_and_save)
        assert command(*arguments).code == 0
    before = weights_of(out)
    shutil.rmtree(run, ignore_errors=True)
    copy.rename(run)
    files = sorted((run / "checkpoint").rglob("*"))
    assert len(files) == 4
    for path in files[:removed]:
        path.unlink()
    if removed > len(files):
        (run / "checkpoint").rmdir()
    result = command(*arguments, "--resume")
    assert result.code == 0, result
    assert result.err.count("\n") <= 1
    assert weights_of(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
