"""Both ways to swap folders, small and forbidden disks, a process that is gone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.saving import (
    ROOT,
    without_exchange,
)


@pytest.fixture(params=["exchange", "steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to swap folders."""
    if request.param == "steps":
        without_exchange(monkeypatch)
    return str(request.param)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    place = tmp_path / "tiny"
    place.mkdir()
    if not (ROOT and sys.platform.startswith("linux") and mount and unmount):
        pytest.skip("only root on Linux can mount a small disk")
    command = [mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run([unmount, "-l", str(place)], check=True)


@pytest.fixture
def forbidden() -> Iterator[Path]:
    """A folder that this process may read but not write, root or not."""
    place = Path(tempfile.mkdtemp())
    (place / "model").mkdir()
    (place / "model" / "old").write_text("old")
    place.chmod(0o555)
    if ROOT:
        os.seteuid(65534)
    yield place
    if ROOT:
        os.seteuid(0)
    place.chmod(0o755)
    shutil.rmtree(place)


@pytest.fixture
def dead_process() -> int:
    """The id of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    return child.pid
