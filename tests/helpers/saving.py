"""Folders that tell which commit they are, and system calls that refuse."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from protofit.storage import swap
from protofit.storage.atomic import replace_folder
from protofit.storage.manifest import read_manifest, write_manifest

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
REFUSALS = {
    errno.ENOSPC: "disk full",
    errno.EDQUOT: "disk full",
    errno.EROFS: "read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EIO: os.strerror(errno.EIO),
}

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def names_in(folder: Path) -> list[str]:
    """Everything in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())


def save(target: Path, generation: int) -> None:
    """Commit one small model folder whose every file tells its generation."""
    with replace_folder(target) as folder:
        (folder / "inner").mkdir()
        for name in ("weights.bin", "labels.json", "inner/words.txt"):
            (folder / name).write_bytes(f"{generation} ".encode() * 400)
        write_manifest(folder, {"generation": generation}, format_version=1)


def generation_of(target: Path) -> int:
    """Verify the whole folder and return which commit it is."""
    content = read_manifest(target, supported=1)
    generation = content["generation"]
    assert isinstance(generation, int)
    assert (target / "inner/words.txt").read_bytes() == f"{generation} ".encode() * 400
    return generation


def always_fails(code: int) -> Callable[..., None]:
    """A stand-in for a system call that refuses."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse


def without_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that the file system knows no exchange."""
    monkeypatch.setattr(swap, "exchange", lambda *_: False)
