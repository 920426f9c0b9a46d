"""A record that cannot be read is one sentence: which file, what it is not, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from protofit.errors import InputError


@contextmanager
def reading(file: Path, what: str, scripts: str) -> Iterator[None]:
    """Around all that looks into `file`, a record of `what` that `scripts` write."""
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(
            f"this is no record of {what} ({type(error).__name__}: {error})",
            where=str(file),
            fix=f"Write it again with {scripts}.",
        ) from error
