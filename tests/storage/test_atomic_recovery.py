"""The way without exchange, what a dead process left behind, and sudden death at any step."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from helpers.saving import (
    always_fails,
    generation_of,
    names_in,
    needs_fork,
    save,
    without_exchange,
)
from protofit.errors import StorageError
from protofit.storage import swap
from protofit.storage.atomic import recover, replace_folder, sweep
from protofit.storage.manifest import read_manifest


def test_failed_second_rename_puts_the_old_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt while the target is away restores it."""
    target = tmp_path / "model"
    save(target, 1)
    without_exchange(monkeypatch)
    real_rename = Path.rename

    def interrupt(self: Path, to: Path) -> Path:
        if self.name.endswith(".tmp"):
            assert not target.exists()
            raise KeyboardInterrupt
        return real_rename(self, to)

    with pytest.raises(KeyboardInterrupt), replace_folder(target):
        monkeypatch.setattr(Path, "rename", interrupt)
    assert names_in(tmp_path) == ["model"]
    assert generation_of(target) == 1


def test_recover_puts_the_previous_folder_back(tmp_path: Path) -> None:
    """Only when the target is missing; readers and writers do it by themselves."""
    target, previous = tmp_path / "model", tmp_path / ".model.previous"
    assert recover(target) is False
    save(target, 1)
    target.rename(previous)
    assert recover(target) is True
    assert generation_of(target) == 1
    assert recover(target) is False
    target.rename(previous)
    assert read_manifest(target, supported=1)["generation"] == 1
    target.rename(previous)
    with pytest.raises(ValueError, match="no"), replace_folder(target):
        raise ValueError("no")
    assert names_in(tmp_path) == ["model"]
    assert generation_of(target) == 1
    target.rename(previous)
    target.mkdir()
    assert recover(target) is False
    assert names_in(target) == []


def test_stale_previous_folder_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed commit left is cleared by the next commit or by sweep, never put back."""
    target, previous = tmp_path / "model", tmp_path / ".model.previous"
    without_exchange(monkeypatch)
    save(target, 2)
    save(previous, 1)
    save(target, 3)
    assert names_in(tmp_path) == ["model"]
    save(previous, 1)
    assert recover(target) is False
    assert sweep(target) == 1
    assert generation_of(target) == 3
    assert names_in(tmp_path) == ["model"]


def test_previous_folder_cleared_by_another_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the new folder is in place it does not matter who removes the old one."""
    target, previous = tmp_path / "model", tmp_path / ".model.previous"
    save(target, 1)
    without_exchange(monkeypatch)
    real_rename = Path.rename

    def clear_after(self: Path, to: Path) -> Path:
        moved = real_rename(self, to)
        if self.name.endswith(".tmp"):
            shutil.rmtree(previous)
        return moved

    monkeypatch.setattr(Path, "rename", clear_after)
    save(target, 2)
    assert names_in(tmp_path) == ["model"]
    assert generation_of(target) == 2


@pytest.mark.parametrize("event", ["new target", "previous gone", "refused"])
def test_recover_meets_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    """Another process that was faster is fine, a refusal is not."""
    target, previous = tmp_path / "model", tmp_path / ".model.previous"
    save(previous, 1)
    real_rename = Path.rename

    def interfere(self: Path, to: Path) -> Path:
        if event == "new target":
            shutil.copytree(previous, target)
        elif event == "previous gone":
            shutil.rmtree(previous)
        else:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real_rename(self, to)

    monkeypatch.setattr(Path, "rename", interfere)
    if event == "refused":
        with pytest.raises(StorageError, match="permission denied"):
            recover(target)
    else:
        assert recover(target) is False
    assert target.exists() == (event == "new target")
    assert previous.exists() == (event != "previous gone")


def test_target_that_vanishes_during_the_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new folder then simply takes the free name."""
    target = tmp_path / "model"
    save(target, 1)

    def vanish(_: Path, old: Path) -> bool:
        shutil.rmtree(old)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(swap, "exchange", vanish)
    save(target, 2)
    assert names_in(tmp_path) == ["model"]
    assert generation_of(target) == 2


def test_endless_race_ends_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that is taken again and again is reported, not waited for forever."""
    target = tmp_path / "model"
    save(target, 1)
    monkeypatch.setattr(swap, "exchange", always_fails(errno.ENOTEMPTY))
    with pytest.raises(StorageError, match="other processes"):
        save(target, 2)
    assert generation_of(target) == 1
    assert names_in(tmp_path) == ["model"]


def test_sweep_takes_only_what_the_dead_left(tmp_path: Path, dead_process: int) -> None:
    """Names that differ in anything, and those of living processes, stay."""
    living = os.getppid() or os.getpid()
    stale = [f".model.{dead_process}-0123abcd.tmp", f".model.{dead_process}-ffffffff.tmp"]
    kept = [
        f".model.{living}-0123abcd.tmp",
        f".model.{os.getpid()}-0123abcd.tmp",
        ".model.9999999999-0123abcd.tmp",
        ".model.0-0123abcd.tmp",
        f".model.{dead_process}-0123ABCD.tmp",
        f".model.{dead_process}-0123abc.tmp",
        f".model.{dead_process}-0123abcd.tmp.old",
        f".models.{dead_process}-0123abcd.tmp",
        f".my.model.{dead_process}-0123abcd.tmp",
        f"model.{dead_process}-0123abcd.tmp",
        ".model.previous",
        "model",
    ]
    (tmp_path / stale[0]).write_text("half a file")
    for name in [stale[1], *kept]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    assert sweep(tmp_path / "model") == 2
    assert names_in(tmp_path) == sorted(kept)
    assert sweep(tmp_path / "model") == 0


def test_sweep_removes_a_link_but_not_what_it_points_to(tmp_path: Path, dead_process: int) -> None:
    """A link with a stale name is only unlinked."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (tmp_path / f".model.{dead_process}-0123abcd.tmp").symlink_to(tmp_path / "precious")
    assert sweep(tmp_path / "model") == 1
    assert names_in(tmp_path) == ["precious"]
    assert names_in(tmp_path / "precious") == ["file"]
    assert sweep(tmp_path / "absent" / "model") == 0


def test_sweep_leaves_a_commit_in_progress(tmp_path: Path) -> None:
    """A folder being filled by this very process survives."""
    target = tmp_path / "model"
    with replace_folder(target) as folder:
        (folder / "x").write_text("new")
        assert sweep(target) == 0
    assert (target / "x").read_text() == "new"


def start(work: Callable[[], None]) -> int:
    """Run `work` in a forked child; its exit code is 0 only if it came to its end."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def save_forever(target: Path, started: int) -> None:
    """Say that the work starts, then commit one generation after another until killed."""
    generation = generation_of(target)
    os.write(started, b"!")
    while True:
        generation += 1
        save(target, generation)


@needs_fork
def test_kill_at_random_moments(tmp_path: Path, way: str) -> None:
    """After each kill the target is one whole generation, at once if the disk can exchange."""
    target = tmp_path / "model"
    save(target, 0)
    begin = time.perf_counter()
    save(target, 0)
    one_commit = time.perf_counter() - begin
    dice, generations, swept = random.Random(7), [0], 0
    ear, mouth = os.pipe()
    for _ in range(30):
        child = start(partial(save_forever, target, mouth))
        assert os.read(ear, 1) == b"!"
        time.sleep(dice.uniform(0, 2 * one_commit))
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        assert way == "steps" or target.exists()
        generations.append(generation_of(target))
        swept += sweep(target)
        assert names_in(tmp_path) == ["model"]
    os.close(ear)
    os.close(mouth)
    assert generations == sorted(generations)
    assert generations[-1] > 0, "no commit came to its end"
    assert swept > 0, "no commit was cut short"


def die_at(moment: int) -> None:
    """Let this process kill itself right before its n-th system call that Python reports."""
    left = moment

    def count_down(event: str, _: tuple[object, ...]) -> None:
        nonlocal left
        if event == "open" or event.startswith(("os.", "shutil.", "ctypes.")):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count_down)


@needs_fork
@pytest.mark.parametrize("existing", [True, False])
def test_kill_before_every_single_step(tmp_path: Path, way: str, existing: bool) -> None:
    """Old or new, whichever step of a commit is the last one."""

    def doomed(moment: int) -> None:
        die_at(moment)
        save(target, 2)

    outcomes: list[int] = []
    for moment in range(1, 500):
        target = tmp_path / f"model{moment}"
        if existing:
            save(target, 1)
        status = os.waitpid(start(partial(doomed, moment)), 0)[1]
        if existing and way == "exchange":
            assert target.exists()
        recover(target)
        outcomes.append(generation_of(target) if target.exists() else 0)
        sweep(target)
        assert set(names_in(tmp_path)) <= {target.name}
        shutil.rmtree(target, ignore_errors=True)
        if status == 0:
            break
        assert status == signal.SIGKILL
    assert len(outcomes) > 20
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {int(existing), 2}


@needs_fork
def test_several_writers_at_once(tmp_path: Path, way: str) -> None:
    """Every commit succeeds, and whoever looks finds one whole generation."""
    target = tmp_path / "model"
    save(target, 0)

    def write_some(writer: int) -> None:
        for turn in range(15):
            save(target, 100 * writer + turn)

    running = {start(partial(write_some, writer)) for writer in (1, 2, 3)}
    statuses: list[int] = []
    while running:
        if way == "exchange":
            assert target.exists()
        else:
            recover(target)
        ended = dict(os.waitpid(child, os.WNOHANG) for child in running)
        running -= ended.keys()
        statuses += [status for child, status in ended.items() if child]
    assert statuses == [0, 0, 0]
    assert generation_of(target) % 100 == 14
    sweep(target)
    assert names_in(tmp_path) == ["model"]
