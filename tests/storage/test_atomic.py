"""Files and folders stay whole: through failures, races and interruptions."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.saving import (
    REFUSALS,
    always_fails,
    generation_of,
    names_in,
    save,
    without_exchange,
)
from protofit.errors import InputError, StorageError
from protofit.storage import atomic, swap
from protofit.storage.atomic import LONGEST_NAME, replace_folder, write_file


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=5000) | st.text(max_size=500))
def test_file_holds_exactly_what_was_given(tmp_path: Path, data: bytes | str) -> None:
    """Bytes and text arrive unchanged, new lines included."""
    path = tmp_path / "a file.txt"
    write_file(path, data)
    assert path.read_bytes() == (data.encode() if isinstance(data, str) else data)
    assert names_in(tmp_path) == ["a file.txt"]


@pytest.mark.parametrize(("code", "words"), REFUSALS.items())
def test_refused_file_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    """Every refusal is said in words, and nothing changed."""
    path = tmp_path / "labels.json"
    write_file(path, "old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", always_fails(code))
        with pytest.raises(StorageError, match=words) as caught:
            write_file(path, "new")
    assert str(path) in str(caught.value)
    assert ".tmp" not in str(caught.value)
    assert caught.value.fix
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["labels.json"]


def test_longest_name_has_room(tmp_path: Path) -> None:
    """A name of that length can be written, with anything beside it; a longer one is refused."""
    longest = tmp_path / ("n" * LONGEST_NAME)
    save(longest, 1)
    save(longest, 2)
    assert generation_of(longest) == 2
    for name in ("n" * (LONGEST_NAME + 1), "é" * (LONGEST_NAME // 2 + 1)):
        with pytest.raises(InputError, match=f"too long .* at most {LONGEST_NAME} bytes"):
            save(tmp_path / name, 1)
        with pytest.raises(InputError, match="too long"):
            write_file(tmp_path / name, "")
    assert names_in(tmp_path) == [longest.name]


def test_interrupted_file_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C during the flush removes the temporary."""
    path = tmp_path / "labels.json"
    write_file(path, "old")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["labels.json"]


def test_file_over_folder_and_without_folder(tmp_path: Path) -> None:
    """A folder is not overwritten by a file, and a missing folder is named."""
    (tmp_path / "model").mkdir()
    with pytest.raises(InputError, match="this is a folder"):
        write_file(tmp_path / "model", "x")
    with pytest.raises(StorageError, match="No such file") as caught:
        write_file(tmp_path / "absent" / "x.json", "x")
    assert str(tmp_path / "absent" / "x.json") in str(caught.value)
    assert names_in(tmp_path) == ["model"]


def test_file_keeps_permissions_and_link(tmp_path: Path) -> None:
    """What the link points to is replaced and stays private."""
    path, link = tmp_path / "secret", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)
    write_file(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_exchange_swaps_two_folders(tmp_path: Path) -> None:
    """The system's exchange, where it exists, swaps; otherwise it says so and does nothing."""
    a, b = tmp_path / "a", tmp_path / "b"
    a.mkdir()
    b.mkdir()
    (a / "from_a").touch()
    swapped = swap.exchange(a, b)
    assert names_in(b if swapped else a) == ["from_a"]
    assert names_in(a if swapped else b) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs renameat2")
def test_exchange_works_on_linux_and_names_what_is_missing(tmp_path: Path) -> None:
    """On an ordinary Linux disk the indivisible way is the one taken."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    if not swap.exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this disk cannot exchange")
    with pytest.raises(FileNotFoundError, match="absent"):
        swap.exchange(tmp_path / "a", tmp_path / "absent")


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EINVAL, None])
def test_exchange_tells_unsupported_from_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    """An unknown call or flag is False; a refusal is an error."""

    def refuse(with_code: int) -> swap.NativeSwap:
        monkeypatch.setattr(ctypes, "get_errno", lambda: with_code)
        return lambda *_: -1

    native = None if code is None else refuse(code)
    monkeypatch.setattr(swap, "_native_swap", lambda: native)
    assert swap.exchange(tmp_path / "a", tmp_path / "b") is False
    denied = refuse(errno.EACCES)
    monkeypatch.setattr(swap, "_native_swap", lambda: denied)
    with pytest.raises(PermissionError):
        swap.exchange(tmp_path / "a", tmp_path / "b")


def test_folder_appears_and_is_replaced_whole(tmp_path: Path, way: str) -> None:
    """First with missing parents, then over the old one, of which nothing stays."""
    assert way in {"exchange", "steps"}
    target = tmp_path / "new" / "parents" / "model"
    save(target, 1)
    (target / "only_in_old").touch()
    before = target.stat().st_ino
    save(target, 2)
    assert generation_of(target) == 2
    assert not (target / "only_in_old").exists()
    assert target.stat().st_ino != before
    assert names_in(target.parent) == ["model"]


def test_folder_is_flushed_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file and folder inside is synced first, the parent last."""
    synced: list[tuple[Path, bool]] = []
    target = tmp_path / "model"
    real_sync = atomic._sync

    def note(path: Path) -> None:
        synced.append((path, target.exists()))
        real_sync(path)

    monkeypatch.setattr(atomic, "_sync", note)
    with replace_folder(target) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("x")
    assert synced == [
        (folder / "inner" / "file", False),
        (folder / "inner", False),
        (folder, False),
        (tmp_path, True),
    ]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_failure_inside_the_block_changes_nothing(tmp_path: Path, error: BaseException) -> None:
    """The error passes through as it is, the old folder stays, nothing is left beside it."""
    save(tmp_path / "model", 1)

    def fail() -> None:
        with replace_folder(tmp_path / "model") as folder:
            (folder / "half").write_text("half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert generation_of(tmp_path / "model") == 1
    assert names_in(tmp_path) == ["model"]


def test_interrupted_removal_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the old folder is taken away: nothing of it stays beside the new one."""
    save(tmp_path / "model", 1)
    remove, calls = os.rmdir, []

    def interrupt_once(*arguments: Any, **more: Any) -> None:
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        remove(*arguments, **more)

    monkeypatch.setattr(os, "rmdir", interrupt_once)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "model", 2)
    assert generation_of(tmp_path / "model") == 2
    assert names_in(tmp_path) == ["model"]


@pytest.mark.parametrize(("code", "words"), REFUSALS.items())
@pytest.mark.parametrize("moment", ["block", "sync", "rename", "exchange"])
def test_refused_folder_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str, moment: str
) -> None:
    """Whenever the disk refuses, the old folder stays and the sentence names the target."""
    target = tmp_path / "model"
    save(target, 1)

    def save_until(refused: str, patch: pytest.MonkeyPatch) -> None:
        with replace_folder(target) as folder:
            (folder / "half").write_text("half")
            if refused == "block":
                raise OSError(code, os.strerror(code), str(folder / "half"))
            if refused == "sync":
                patch.setattr(os, "fsync", always_fails(code))
            if refused == "exchange":
                patch.setattr(swap, "exchange", always_fails(code))
            if refused == "rename":
                without_exchange(patch)
                patch.setattr(Path, "rename", always_fails(code))

    with (
        monkeypatch.context() as patch,
        pytest.raises(StorageError, match=words) as caught,
    ):
        save_until(moment, patch)
    assert caught.value.where == str(target)
    assert generation_of(target) == 1
    assert names_in(tmp_path) == ["model"]


def test_error_about_another_file_names_that_file(tmp_path: Path) -> None:
    """A missing input inside the block is not blamed on the target."""
    with (
        pytest.raises(StorageError) as caught,
        replace_folder(tmp_path / "model"),
        (tmp_path / "absent.csv").open(),
    ):
        raise AssertionError("this file does not exist")
    assert caught.value.where == str(tmp_path / "absent.csv")


@pytest.mark.parametrize("place", ["model", "model/inside/deep"])
def test_file_in_the_way_of_a_folder(tmp_path: Path, place: str) -> None:
    """A regular file is never replaced by a folder, nor used as one."""
    (tmp_path / "model").write_text("precious")
    with (
        pytest.raises(InputError, match="this is a file") as caught,
        replace_folder(tmp_path / place),
    ):
        raise AssertionError("the block must not run")
    assert caught.value.where == str(tmp_path / "model")
    assert (tmp_path / "model").read_text() == "precious"
    assert names_in(tmp_path) == ["model"]


def test_file_that_comes_during_the_block_is_kept(tmp_path: Path) -> None:
    """The check is made again right before the folder takes its place."""
    target = tmp_path / "model"
    with pytest.raises(InputError, match="this is a file"), replace_folder(target):
        target.write_text("precious")
    assert target.read_text() == "precious"
    assert names_in(tmp_path) == ["model"]


@pytest.mark.parametrize("path", ["/", "nul\0byte"])
def test_impossible_targets(path: str) -> None:
    """A disk's root and a name no system takes are input errors."""
    with pytest.raises(InputError), replace_folder(Path(path)):
        raise AssertionError("the block must not run")


def test_folder_keeps_permissions_link_and_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A private folder stays private, a link stays a link, and a chdir inside does not matter."""
    save(tmp_path / "real", 1)
    (tmp_path / "real").chmod(0o700)
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    with replace_folder(Path("link")) as folder:
        monkeypatch.chdir("/")
        (folder / "x").write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "link" / "x").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o700
    assert names_in(tmp_path) == ["link", "real"]
