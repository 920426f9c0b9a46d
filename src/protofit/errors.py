"""The one exception family: what was found, where, and what to do about it."""

from __future__ import annotations

import re

_NEWLINES = re.compile(r"\s*[\r\n]+\s*")


class ProtoFitError(Exception):
    """A failure that one sentence explains; the command turns it into exit code 1."""

    exit_code = 1

    def __init__(self, found: str, *, where: str = "", fix: str = "") -> None:
        self.found = found
        self.where = where
        self.fix = fix
        super().__init__(found, where, fix)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return _NEWLINES.sub(" ", f"{place}{_sentence(self.found)} {_sentence(self.fix)}".strip())

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.found, self.where, self.fix))


class InputError(ProtoFitError, ValueError):
    """What the user gave cannot be used as it is; the command exits with code 2."""

    exit_code = 2


class ModelFolderError(InputError):
    """A model folder that is missing, damaged, incomplete or from a newer version."""


class StorageError(ProtoFitError, OSError):
    """The disk refused: full, read-only, or gone."""


class ProtoFitWarning(UserWarning):
    """Something worked, but the user should know."""


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _rebuild(kind: type[ProtoFitError], found: str, where: str, fix: str) -> ProtoFitError:
    return kind(found, where=where, fix=fix)
