"""The code version: a hash of the sources that determine what a run gives."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

SOURCES = (
    "config", "data", "encoders", "methods", "model", "presets", "prototypes", "randomness",
    "settings", "training",
)  # fmt: skip


@functools.cache
def code_version() -> str:
    """First 12 hex digits of the SHA-256 over names and bytes of the sources."""
    import protofit

    return hash_sources(Path(protofit.__file__).parent)


def hash_sources(package: Path) -> str:
    """The hash for a package folder."""
    digest = hashlib.sha256()
    for file in sorted(file for name in SOURCES for file in _files(package, name)):
        content = file.read_bytes()
        name = file.relative_to(package).as_posix().encode()
        digest.update(b"%d %s %d " % (len(name), name, len(content)) + content)
    return digest.hexdigest()[:12]


def _files(package: Path, name: str) -> list[Path]:
    folder = package / name
    return list(folder.rglob("*.py")) if folder.is_dir() else [package / f"{name}.py"]
