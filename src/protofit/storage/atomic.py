"""Write files and folders so that a reader finds the old ones or the new ones, never a mixture."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from protofit.errors import InputError, ProtoFitError, StorageError
from protofit.storage import swap

COMMIT_ATTEMPTS = 20
PROBE_BYTES = 4096
LONGEST_FOLDER = 255  # bytes: the limit of file systems
LONGEST_NAME = LONGEST_FOLDER - len("..4194304000-01234567.tmp")  # see `_temporary_of`
NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?P<process>[1-9][0-9]{0,9})-[0-9a-f]{8}\.tmp", re.S)
_FULL = ("disk full", "Free some space or choose a folder on another disk, then run again.")
_READ_ONLY = ("read-only file system", "Choose a folder on a disk that can be written.")
_DENIED = ("permission denied", "Change the permissions of the folder or choose one of your own.")
_REFUSALS = {
    errno.ENOSPC: _FULL,
    getattr(errno, "EDQUOT", errno.ENOSPC): _FULL,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
}


def write_file(path: Path, data: bytes | str) -> None:
    """Put `data` (text as UTF-8) at `path` in one step, over whatever file was there."""
    payload = data.encode() if isinstance(data, str) else data
    home = _replaceable(path)
    check_name(home)
    with disk_errors(home):
        if home.is_dir():
            raise InputError("this is a folder.", where=str(path), fix="Give the name of a file.")
        temporary = _temporary_of(home)
        try:
            _write_through(temporary, payload, like=home)
            temporary.replace(home)
            _sync(home.parent)
        finally:
            _discard(temporary)


@contextmanager
def replace_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `target` when the block ends well."""
    home = _replaceable(target)
    check_name(home)
    temporary = _temporary_of(home)
    with disk_errors(home):
        _refuse_file(home)
        _nearest_folder(home.parent)
        swap.put_back(home)
        home.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.mkdir()
            _keep_mode(home, temporary, at_least=stat.S_IRWXU)
            yield temporary
            _commit(temporary, home)
        finally:
            _discard(temporary)


def remove_folder(target: Path) -> None:
    """Take a folder away in one step, then delete it; `sweep` finishes for a killed process."""
    home = _real(target)
    aside = _temporary_of(home)
    with disk_errors(home):
        if home.is_dir():
            home.rename(aside)
            _discard(aside)


def recover(target: Path) -> bool:
    """Put the previous folder back if a killed process left `target` missing."""
    home = _replaceable(target)
    with disk_errors(home):
        return swap.put_back(home)


def sweep(target: Path) -> int:
    """Remove what killed processes left beside `target`; returns how many things went."""
    home = _replaceable(target)
    with disk_errors(home, "tidied"):
        swap.put_back(home)
        makers = _makers(home)
        stale = [path for path, process in makers.items() if not _alive(process)]
        previous = swap.previous_of(home)
        if len(stale) == len(makers) and previous.is_dir() and home.exists():
            stale.append(previous)
    return sum(_discard(path) for path in stale)


def check_name(path: Path) -> None:
    """Refuse a name that leaves no room for the hidden neighbours that are named after it."""
    folders = [(folder, LONGEST_FOLDER) for folder in path.parent.parts]
    for name, most in [*folders, (path.name, LONGEST_NAME)]:
        length = len(os.fsencode(name))
        if length > most:
            raise InputError(
                f"the name is too long ({length} bytes).",
                where=str(path),
                fix=f"Give a name of at most {most} bytes.",
            )


def check_writable(parent: Path) -> None:
    """Raise now if the folder `parent` could not be made or written later."""
    home = _real(parent)
    with disk_errors(home):
        probe = _temporary_of(_nearest_folder(home) / "protofit")
        try:
            _write_through(probe, bytes(PROBE_BYTES), like=probe)
        finally:
            _discard(probe)


@contextmanager
def disk_errors(path: Path, deed: str = "written") -> Iterator[None]:
    """Turn an OSError into a StorageError that says in one sentence what the disk refused."""
    try:
        yield
    except ProtoFitError:
        raise
    except OSError as error:
        unnamed = (error.strerror or str(error), "Check that the path and its disk are there.")
        reason, fix = _REFUSALS.get(error.errno or 0, unnamed)
        place = _blamed(error, path)
        raise StorageError(f"could not be {deed}: {reason}.", where=str(place), fix=fix) from error


def _blamed(error: OSError, path: Path) -> Path:
    """The path to name: the one the error is about, but never a temporary of ours."""
    named = error.filename
    if not isinstance(named, str) or any(map(_TEMPORARY.fullmatch, Path(named).parts)):
        return path
    return Path(named)


def _real(path: Path) -> Path:
    """The absolute path behind links, so that a link stays and what it points to is replaced."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        found = f"this path cannot be used: {error}."
        raise InputError(found, where=str(path), fix="Give another path.") from error


def _replaceable(path: Path) -> Path:
    """The real path, which must have a name, because its neighbours are named after it."""
    home = _real(path)
    if not home.name:
        raise InputError("this is a whole disk.", where=str(path), fix="Give a folder on it.")
    return home


def _temporary_of(home: Path) -> Path:
    """A new hidden neighbour `.{name}.{pid}-{8 hex}.tmp` of this process."""
    return home.with_name(f".{home.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _makers(home: Path) -> dict[Path, int]:
    """Every temporary of `home` with the process that made it."""
    if not home.parent.is_dir():
        return {}
    found = {path: _TEMPORARY.fullmatch(path.name) for path in home.parent.iterdir()}
    return {path: int(m["process"]) for path, m in found.items() if m and m["name"] == home.name}


def _alive(process: int) -> bool:
    """Whether the process may still run; whatever cannot be known counts as alive."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _refuse_file(home: Path) -> None:
    if home.exists() and not home.is_dir():
        found = "this is a file, a folder is needed."
        raise InputError(found, where=str(home), fix="Give the name of a folder.")


def _nearest_folder(home: Path) -> Path:
    """The folder itself or the closest one above it that exists."""
    while not home.exists():
        home = home.parent
    _refuse_file(home)
    return home


def _write_through(path: Path, payload: bytes, *, like: Path) -> None:
    """Write a new file down to the disk, with the permissions of `like` if that exists."""
    with path.open("xb") as handle:
        _keep_mode(like, path)
        handle.write(payload)
        handle.flush()
        os.fsync(handle.fileno())


def _keep_mode(old: Path, new: Path, *, at_least: int = 0) -> None:
    with suppress(OSError):
        new.chmod(stat.S_IMODE(old.stat().st_mode) | at_least)


def _commit(temporary: Path, home: Path) -> None:
    """Flush the new folder and give it the place of the old, which ends up in `temporary`."""
    _sync_tree(temporary)
    for _ in range(COMMIT_ATTEMPTS):
        _refuse_file(home)
        if _took_place(temporary, home):
            _sync(home.parent)
            return
    raise OSError(errno.EBUSY, "other processes keep replacing it", str(home))


def _took_place(temporary: Path, home: Path) -> bool:
    """One try; False when another process changed `home` meanwhile."""
    try:
        if not home.exists():
            temporary.rename(home)
        elif not swap.exchange(temporary, home):
            swap.exchange_in_steps(temporary, home)
    except OSError as error:
        if swap.lost_a_race(error, temporary):
            return False
        raise
    return True


def _sync_tree(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if not path.is_symlink() and (path.is_file() or path.is_dir()):
            _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    """Flush a file, or the names in a folder where its file system knows how to."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_FOLDER_SYNC or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def _discard(path: Path) -> bool:
    """Remove a file or folder, wholly even if Ctrl-C comes meanwhile; False if nothing went."""
    try:
        return _removed(path)
    except BaseException:
        _removed(path)
        raise


def _removed(path: Path) -> bool:
    """Whether a file or folder could be removed: there may be none, or the disk refuses."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return False
    return True
