"""The list of a model folder's files with sizes and checksums, written last and checked first."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path, PureWindowsPath

from protofit.errors import InputError, ModelFolderError
from protofit.storage.atomic import disk_errors, recover, write_file

FORMAT = "protofit"
MODEL_MANIFEST = "protofit.json"
RESERVED = frozenset({"format", "format_version", "files", "checksum"})
CHECKSUM = "checksum"
REPAIR = "Restore the folder from a copy or train again."
CHUNK_BYTES = 1 << 20
READ_ATTEMPTS = 5

_SHA256 = re.compile(r"[0-9a-f]{64}")


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hex, read piece by piece."""
    digest = hashlib.sha256()
    with disk_errors(path, "read"), path.open("rb") as handle:
        while chunk := handle.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def write_manifest(
    folder: Path,
    extra: dict[str, object],
    *,
    name: str = MODEL_MANIFEST,
    format_version: int,
) -> None:
    """Write `folder/name`: the format, `extra`, and size and SHA-256 of every other file."""
    if taken := sorted(RESERVED & extra.keys()):
        raise InputError(
            f"the manifest itself sets {', '.join(taken)}.",
            where=str(folder / name),
            fix="Use other keys.",
        )
    content = {
        **extra,
        "format": FORMAT,
        "format_version": format_version,
        "files": _describe(folder, name),
    }
    content[CHECKSUM] = _checksum(content)
    write_file(folder / name, json.dumps(content, sort_keys=True, indent=2) + "\n")


def refuse_foreign(folder: Path, fix: str = "Choose another folder.") -> None:
    """Raise if the folder holds something that is no model: nobody's work is replaced by one."""
    with disk_errors(folder, "read"):
        foreign = folder.is_dir() and any(folder.iterdir())
    if foreign and not (folder / MODEL_MANIFEST).is_file():
        found = "the folder is not a model folder and is not overwritten"
        raise InputError(found, where=str(folder), fix=fix)


def read_manifest(
    folder: Path,
    *,
    name: str = MODEL_MANIFEST,
    supported: int,
    verify: bool = True,
) -> dict[str, object]:
    """The manifest of a complete folder; without `verify` the checksums are not recomputed."""
    recover(folder)
    for _ in range(READ_ATTEMPTS):
        before = _identity(folder)
        try:
            return _checked(folder, name, supported, verify)
        except ModelFolderError:
            if _identity(folder) == before:
                raise
    return _checked(folder, name, supported, verify)


def _identity(folder: Path) -> tuple[int, int] | None:
    """Tells a folder from the one that took its place while it was being read."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _checked(folder: Path, name: str, supported: int, verify: bool) -> dict[str, object]:
    with disk_errors(folder, "read"):
        _require_manifest(folder, name)
        content = _parsed(folder / name)
        _check_version(content, folder / name, supported)
        for relative, (size, sha256) in _listed_files(content, folder / name).items():
            _check_file(folder / relative, size, sha256 if verify else None)
        if verify and content.get(CHECKSUM) != _checksum(content):
            raise _damaged(folder / name, "the manifest is damaged, its checksum does not match.")
    return content


def _checksum(content: dict[str, object]) -> str:
    """SHA-256 of the manifest's own content, in a fixed form."""
    rest = {key: value for key, value in content.items() if key != CHECKSUM}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _require_manifest(folder: Path, name: str) -> None:
    if not folder.exists():
        raise ModelFolderError(
            "there is no such folder.",
            where=str(folder),
            fix="Check the path, or train a model and save it there.",
        )
    if not folder.is_dir():
        raise ModelFolderError(
            "this is a file, not a model folder.",
            where=str(folder),
            fix="Give the folder that the model was saved to.",
        )
    if not (folder / name).is_file():
        raise ModelFolderError(
            f"not a ProtoFit model folder, because it has no {name}.",
            where=str(folder),
            fix=f"Give the folder that the model was saved to; if this is it: {REPAIR}",
        )


def _parsed(path: Path) -> dict[str, object]:
    """The manifest as a dictionary, whatever version wrote it."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise _damaged(path, "this file is missing.") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "the manifest is damaged, it is not JSON.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _damaged(path, "not the manifest of a ProtoFit model folder.")
    return content


def _check_version(content: dict[str, object], path: Path, supported: int) -> None:
    version = content.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _damaged(path, "the manifest is damaged, its format_version is not a number from 1.")
    if version > supported:
        raise ModelFolderError(
            f"made by a newer ProtoFit (format {version}, this one reads up to {supported}).",
            where=str(path),
            fix="Upgrade ProtoFit to read it.",
        )


def _listed_files(content: dict[str, object], path: Path) -> dict[str, tuple[int, str]]:
    """Relative name to (bytes, sha256), each proven to be of that shape and inside the folder."""
    files = content.get("files")
    if not isinstance(files, dict):
        raise _damaged(path, "the manifest is damaged, it does not list its files.")
    return {name: _file_entry(name, entry, path) for name, entry in files.items()}


def _file_entry(name: str, entry: object, path: Path) -> tuple[int, str]:
    if _unsafe(name):
        raise ModelFolderError(
            f"the manifest lists {name!a}, which is no safe name inside the folder.",
            where=str(path),
            fix="Do not use this folder unless you trust who made it; get it from its source.",
        )
    size = entry.get("bytes") if isinstance(entry, dict) else None
    sha256 = entry.get("sha256") if isinstance(entry, dict) else None
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise _damaged(path, f"the manifest is damaged, it gives no size for {name!a}.")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise _damaged(path, f"the manifest is damaged, it gives no sha256 for {name!a}.")
    return size, sha256


def _unsafe(name: str) -> bool:
    """Whether the name is absolute or climbs, with either slash, or cannot be shown."""
    path = PureWindowsPath(name)  # its rules contain those of the other systems
    return bool(path.anchor) or ".." in path.parts or not name.isprintable()


def _check_file(path: Path, size: int, sha256: str | None) -> None:
    if not path.is_file():
        raise _damaged(path, "this file of the model is missing.")
    found = path.stat().st_size
    if found != size:
        state = "truncated" if found < size else "damaged"
        raise _damaged(path, f"this file is {state}: {found} bytes instead of {size}.")
    if sha256 is not None and sha256_of(path) != sha256:
        raise _damaged(path, "this file is damaged: its sha256 is not the one it was saved with.")


def _damaged(path: Path, found: str) -> ModelFolderError:
    return ModelFolderError(found, where=str(path), fix=REPAIR)


def _describe(folder: Path, manifest: str) -> dict[str, dict[str, object]]:
    """Size and SHA-256 of every file below `folder` except its manifest, sorted by name."""
    described: dict[str, dict[str, object]] = {}
    with disk_errors(folder, "read"):
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            relative = path.relative_to(folder).as_posix()
            if relative == manifest:
                continue
            if _unsafe(relative):
                raise InputError(
                    "this file name does not work on every system.",
                    where=str(path),
                    fix="Rename the file.",
                )
            described[relative] = {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
    return described
