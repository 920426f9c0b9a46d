"""Where a command writes a changed model: checked before the work."""

from __future__ import annotations

from pathlib import Path

from protofit.errors import InputError


def check_target(out: Path, model: Path, *, overwrite: bool) -> None:
    """Refuse early what would fail after the work, or destroy something else."""
    from protofit.storage.atomic import check_name, check_writable
    from protofit.storage.manifest import refuse_foreign

    check_name(out)
    if out.exists() and not out.is_dir():
        raise InputError("this is a file", where=str(out), fix="Name a folder for --out.")
    refuse_foreign(out, "Choose another --out.")
    if out.is_dir() and any(out.iterdir()) and not (overwrite or out.resolve() == model.resolve()):
        raise InputError(
            "the folder holds another model",
            where=str(out),
            fix="Choose another --out, or give --overwrite.",
        )
    check_writable(out.absolute().parent)
