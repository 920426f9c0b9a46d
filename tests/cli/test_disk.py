"""A disk that is full or cannot be written: one clear line, nothing half-written, nothing lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.command import Command, Result, leftovers, refusal, training, weights_of

Mount = Callable[[str], Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Make a file system with the given options: `mount("size=1m")`."""
    tools = shutil.which("mount"), shutil.which("umount")
    if not (all(tools) and sys.platform.startswith("linux") and os.geteuid() == 0):
        pytest.skip("only root on Linux can mount a small disk")
    mounted: list[Path] = []

    def make(options: str) -> Path:
        place = tmp_path / f"disk{len(mounted)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting is not allowed here")
        mounted.append(place)
        return place

    yield make
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


def lock(place: Path) -> None:
    """Make a mounted disk read-only."""
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)


def fill(place: Path, free: int) -> None:
    """Leave about this many bytes on a disk."""
    status = os.statvfs(place)
    (place / "ballast").write_bytes(bytes(max(0, status.f_bavail * status.f_frsize - free)))


def failed(result: Result, *parts: str) -> None:
    """Exit code 1 or 2 and one line, which names no file that the reader cannot know."""
    assert result.code in (1, 2), result
    assert ".tmp" not in refusal(result, *parts, code=result.code)


@pytest.mark.parametrize("missing", [1, 2, 3, 4, 8, 40])
def test_disk_full_at_the_end(
    missing: int, mount: Mount, model: Path, data: Path, tiny_bert: Path, command: Command
) -> None:
    """Too small by some blocks: at whichever file it shows, no part of a model appears."""
    block = os.sysconf("SC_PAGE_SIZE")
    needed = sum(-(-path.stat().st_size // block) for path in model.iterdir())
    disk = mount(f"size={(needed - missing) * block}")
    result = command(*training(data, tiny_bert, disk / "model", "--json", steps=16))
    failed(result, str(disk / "model"), "Free some space")
    assert set(result.json()) == {"error", "where", "fix"}
    assert list(disk.iterdir()) == []


def test_disk_full_while_overwriting(
    mount: Mount, model: Path, data: Path, tiny_bert: Path, command: Command
) -> None:
    """The old model stays whole."""
    disk = mount("size=2m")
    out = disk / "model"
    shutil.copytree(model, out)
    fill(disk, 100_000)
    result = command(*training(data, tiny_bert, out, "--overwrite", "--seed", "3"))
    failed(result, str(out), "Free some space")
    assert weights_of(out) == weights_of(model)
    assert leftovers(disk) == []
    assert command("info", out).code == 0


def test_disk_full_at_a_checkpoint(
    mount: Mount, data: Path, tiny_bert: Path, command: Command
) -> None:
    """The run stops with one line; freed of ballast, it is resumed to the same model."""
    from protofit.training.state import RunState

    disk = mount("size=8m")
    every = ("--set", "train.checkpoint_every=2")
    save = RunState.save

    def save_and_fill(self: RunState, folder: Path) -> None:
        if self.step == 4:
            fill(disk, 100_000)
        save(self, folder)

    arguments = training(data, tiny_bert, disk / "model", *every, steps=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunState, "save", save_and_fill)
        failed(command(*arguments), "model.run", "Free some space")
    assert not (disk / "model").exists()
    assert leftovers(disk) == []
    (disk / "ballast").unlink()
    assert command(*arguments, "--resume").code == 0
    assert command(*training(data, tiny_bert, disk / "whole", *every, steps=8)).code == 0
    assert weights_of(disk / "model") == weights_of(disk / "whole")


def test_disk_full_from_the_start(
    mount: Mount, data: Path, tiny_bert: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said before training, not after."""
    from protofit.training.loop import Run

    def no_training(*_: object) -> None:
        raise AssertionError("training began")

    monkeypatch.setattr(Run, "run", no_training)
    disk = mount("size=1m")
    fill(disk, 0)
    failed(command(*training(data, tiny_bert, disk / "model")), str(disk), "disk full")
    assert [path.name for path in disk.iterdir()] == ["ballast"]


def test_disk_full_while_predicting(
    mount: Mount, model: Path, data: Path, command: Command
) -> None:
    """Said before the work; the file of an earlier prediction stays as it was."""
    disk = mount("size=64k")
    out = disk / "predictions.csv"
    out.write_text("earlier")
    fill(disk, 0)
    failed(command("predict", model, data, "--out", out), str(disk), "disk full")
    assert out.read_text() == "earlier"
    assert leftovers(disk) == []


def test_read_only_disk(
    mount: Mount, model: Path, data: Path, tiny_bert: Path, command: Command
) -> None:
    """Nothing is written; a model on it can still be used."""
    disk = mount("size=2m")
    shutil.copytree(model, disk / "old")
    lock(disk)
    failed(command(*training(data, tiny_bert, disk / "new")), str(disk), "read-only")
    failed(command(*training(data, tiny_bert, disk / "old", "--overwrite")), "read-only")
    failed(command("predict", model, data, "--out", disk / "a.csv"), str(disk), "read-only")
    assert [path.name for path in disk.iterdir()] == ["old"]
    assert command("predict", disk / "old", data, "--json").code == 0
    assert command("info", disk / "old").code == 0


def test_forbidden_folder(data: Path, tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """Permission denied in one line, where the user is not root."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere; test_read_only_disk covers the refusal")
    place = tmp_path / "locked"
    place.mkdir(mode=0o555)
    failed(command(*training(data, tiny_bert, place / "model")), "permission denied")
    assert list(place.iterdir()) == []


def refuse_disk(patch: pytest.MonkeyPatch) -> None:
    """Let safetensors fail as it does on a full disk, wherever it is used."""
    import safetensors.torch
    from safetensors import SafetensorError

    def refuse(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (28)")

    patch.setattr(safetensors.torch, "save_file", refuse)
    patch.setattr("transformers.modeling_utils.safe_save_file", refuse)


@pytest.mark.parametrize("every", [1, 100])
def test_tensor_file_that_is_refused(
    every: int,
    model: Path,
    data: Path,
    tiny_bert: Path,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At a checkpoint and at the end, without a disk of its own."""
    out = tmp_path / "model"
    shutil.copytree(model, out)
    refuse_disk(monkeypatch)
    more = ("--overwrite", "--set", f"train.checkpoint_every={every}")
    failed(command(*training(data, tiny_bert, out, *more)), "No space left", "Free some space")
    assert weights_of(out) == weights_of(model)
    assert leftovers(tmp_path) == []
    assert not list(tmp_path.glob("model.run/*"))
