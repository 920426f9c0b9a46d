"""Disks that refuse: full, read-only, forbidden."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from helpers.saving import (
    REFUSALS,
    always_fails,
    generation_of,
    names_in,
    save,
)
from protofit.errors import InputError, StorageError
from protofit.storage.atomic import check_writable, replace_folder, write_file


def test_check_writable_leaves_no_trace(tmp_path: Path) -> None:
    """A folder that is there and one that could be made both pass, and nothing stays."""
    check_writable(tmp_path)
    check_writable(tmp_path / "not" / "yet")
    assert names_in(tmp_path) == []
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(InputError, match="this is a file"):
            check_writable(tmp_path / place)


@pytest.mark.parametrize(("code", "words"), REFUSALS.items())
def test_check_writable_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    """The probe's refusal names the folder asked for."""
    monkeypatch.setattr(os, "fsync", always_fails(code))
    with pytest.raises(StorageError, match=words) as caught:
        check_writable(tmp_path / "out")
    assert caught.value.where == str(tmp_path / "out")
    assert names_in(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions work otherwise here")
def test_forbidden_folder(forbidden: Path) -> None:
    """Without the right to write, each entry says so and nothing changes."""
    with pytest.raises(StorageError, match="permission denied"):
        check_writable(forbidden)
    with pytest.raises(StorageError, match="permission denied"):
        write_file(forbidden / "file", "x")
    with (
        pytest.raises(StorageError, match="permission denied"),
        replace_folder(forbidden / "model"),
    ):
        raise AssertionError("the block must not run")
    with pytest.raises(StorageError, match="permission denied"):
        save(forbidden / "a" / "b", 1)
    assert names_in(forbidden) == ["model"]
    assert (forbidden / "model" / "old").read_text() == "old"


def test_full_disk(tiny_disk: Path) -> None:
    """A disk that fills up in the middle keeps the old file and the old folder."""
    path, target = tiny_disk / "labels.json", tiny_disk / "model"
    write_file(path, "old")
    save(target, 1)
    with pytest.raises(StorageError, match="disk full"):
        write_file(path, bytes(1 << 19))
    with pytest.raises(StorageError, match="disk full"), replace_folder(target) as folder:
        (folder / "weights.bin").write_bytes(bytes(1 << 19))
    assert path.read_text() == "old"
    assert generation_of(target) == 1
    assert names_in(tiny_disk) == ["labels.json", "model"]
    with suppress(OSError):
        (tiny_disk / "ballast").write_bytes(bytes(1 << 19))
    with pytest.raises(StorageError, match="disk full"):
        check_writable(tiny_disk)


def test_read_only_disk(tiny_disk: Path) -> None:
    """A disk mounted for reading is recognised, and can be read."""
    save(tiny_disk / "model", 1)
    command = ["mount", "-o", "remount,ro", str(tiny_disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("remounting is not allowed here")
    with pytest.raises(StorageError, match="read-only"):
        check_writable(tiny_disk / "new")
    with pytest.raises(StorageError, match="read-only"):
        write_file(tiny_disk / "file", "x")
    with pytest.raises(StorageError, match="read-only"):
        save(tiny_disk / "model", 2)
    assert generation_of(tiny_disk / "model") == 1
