"""Tensor dictionaries as safetensors files, with the disk's refusals in one sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from protofit.errors import StorageError
from protofit.storage.atomic import disk_errors

if TYPE_CHECKING:
    from torch import Tensor


def save_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors from any device."""
    from safetensors.torch import save_file

    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with disk_errors(path):
        save_file(plain, str(path))


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors onto the processor."""
    from safetensors.torch import load_file

    with disk_errors(path, "read"):
        loaded: dict[str, Tensor] = load_file(str(path))
    return loaded


@contextlib.contextmanager
def writing_folder(folder: Path) -> Iterator[None]:
    """Name the folder, not the file aside, when a disk refuses; safetensors and tokenizers too."""
    from safetensors import SafetensorError

    try:
        yield
    except StorageError as error:
        raise StorageError(error.found, where=str(folder), fix=error.fix) from error
    except Exception as error:
        if not isinstance(error, SafetensorError) and type(error) is not Exception:
            raise
        reason = " ".join(str(error).split())
        raise StorageError(
            f"could not be written ({reason})",
            where=str(folder),
            fix="Free some space or choose another folder, then run again.",
        ) from error
