"""Two neighbouring folders trade places: at once where the system can, else in three renames."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

EXCHANGE_FLAG = 2  # RENAME_EXCHANGE on Linux and RENAME_SWAP on macOS share this value
HERE = -100  # AT_FDCWD: relative paths start at the working folder
UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST})

NativeSwap = Callable[[bytes, bytes], int]


def exchange(a: Path, b: Path) -> bool:
    """Swap two paths in one indivisible step; False where this system or disk cannot."""
    swap = _native_swap()
    if swap is None:
        return False
    if swap(os.fsencode(a), os.fsencode(b)) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(a), None, str(b))


def exchange_in_steps(fresh: Path, target: Path) -> None:
    """Swap two folders by way of `previous_of(target)`; a failure leaves `target` as it was."""
    previous = previous_of(target)
    if previous.exists() and target.exists():
        shutil.rmtree(previous)
    try:
        target.rename(previous)
        fresh.rename(target)
    except BaseException:
        put_back(target)
        raise
    with suppress(FileNotFoundError):  # the next writer may have cleared it away already
        previous.rename(fresh)


def previous_of(target: Path) -> Path:
    """Where the old folder waits while `exchange_in_steps` is between two renames."""
    return target.with_name(f".{target.name}.previous")


def put_back(target: Path) -> bool:
    """Give a missing target its previous folder again; True if that was needed and done."""
    previous = previous_of(target)
    if target.exists() or not previous.is_dir():
        return False
    try:
        previous.rename(target)
    except OSError as error:
        if error.errno in TAKEN or not previous.exists():
            return False
        raise
    return True


def lost_a_race(error: OSError, fresh: Path) -> bool:
    """Whether a swap failed only because another process took or moved a name meanwhile."""
    return error.errno in TAKEN or (error.errno == errno.ENOENT and fresh.exists())


def _native_swap() -> NativeSwap | None:
    """The system's own exchange as a function of two paths, None where there is none."""
    if sys.platform.startswith("linux"):
        return _linux_swap()
    if sys.platform == "darwin":
        return _macos_swap()
    return None


def _linux_swap() -> NativeSwap | None:
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return None
    call.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    )
    return lambda a, b: int(call(HERE, a, HERE, b, EXCHANGE_FLAG))


def _macos_swap() -> NativeSwap | None:
    call = getattr(ctypes.CDLL(None, use_errno=True), "renamex_np", None)
    if call is None:
        return None
    call.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint)
    return lambda a, b: int(call(a, b, EXCHANGE_FLAG))
