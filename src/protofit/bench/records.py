"""Records of runs: one JSON line each, appended under a lock, never changed."""

from __future__ import annotations

import fcntl
import json
import os
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protofit.bench.trial import Trial
from protofit.errors import InputError, ProtoFitWarning

Record = dict[str, Any]


@dataclass(frozen=True)
class Records:
    """The complete lines of a records file; of repeated keys, the first."""

    records: list[Record]
    torn: bool = False  # the file ends in the middle of a line: its writer was killed

    @property
    def codes(self) -> Counter[str]:
        """How many records there are of each code version."""
        return Counter(record["code"] for record in self.records)

    def keys(self) -> set[str]:
        """Of the runs that are done, diverged ones included."""
        return {record["key"] for record in self.records}


def read_runs(path: Path) -> Records:
    """Every complete line, each of which must say what trial it is of."""
    return read_records(path, trials=True)


def read_records(path: Path, *, trials: bool = False) -> Records:
    """Every complete line; an unreadable one in the middle is an error."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Records([])
    lines, torn = _complete(content)
    found: dict[str, Record] = {}
    for number, line in enumerate(lines, 1):
        record = _parsed(line, f"{path}, line {number}", trial=trials)
        found.setdefault(record["key"], record)
    return Records(list(found.values()), torn)


def _complete(content: bytes) -> tuple[list[bytes], bool]:
    *lines, rest = content.split(b"\n")
    return lines, bool(rest)


def _parsed(line: bytes, where: str, *, trial: bool = False) -> Record:
    try:
        record = json.loads(line)
        if not (isinstance(record["key"], str) and isinstance(record["code"], str)):
            raise TypeError
        if trial:
            Trial(**record["trial"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            "this is not a record of a run", where=where, fix="Remove or repair the line."
        ) from error
    return dict(record)


class RecordFile:
    """Appends to a records file that other processes may append to as well."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0  # bytes that are known
        self._keys: set[str] = set()

    def append(self, record: Record) -> bool:
        """Add a line unless its key is there; on disk when this returns."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._catch_up(descriptor)
            if record["key"] in self._keys:
                return False
            self._write(descriptor, f"{line}\n".encode())
            self._keys.add(record["key"])
            return True
        finally:
            os.close(descriptor)  # lets go of the lock

    def _catch_up(self, descriptor: int) -> None:
        """Learn what others appended; cut off what a killed writer left of a line."""
        size = os.fstat(descriptor).st_size
        if size < self._read:
            self._read, self._keys = 0, set()
        fresh = os.pread(descriptor, size - self._read, self._read)
        lines, torn = _complete(fresh)
        if torn:
            kept = self._read + fresh.rfind(b"\n") + 1
            os.ftruncate(descriptor, kept)
            warnings.warn(
                f"{self.path}: {size - kept} bytes of an unfinished line were cut off; "
                "its run is done again",
                ProtoFitWarning,
                stacklevel=3,
            )
        self._keys |= {_parsed(line, str(self.path))["key"] for line in lines}
        self._read += sum(len(line) + 1 for line in lines)

    def _write(self, descriptor: int, line: bytes) -> None:
        written = os.write(descriptor, line)
        if written != len(line):
            os.ftruncate(descriptor, self._read)
            raise OSError(f"{self.path}: the disk took {written} of {len(line)} bytes")
        os.fsync(descriptor)
        self._read += written


def check_versions(path: Path, records: Records, code: str, *, mix: bool) -> None:
    """Refuse to add to records of other code versions, unless that is asked for."""
    others = {version: count for version, count in records.codes.items() if version != code}
    if not others or mix:
        return
    listed = ", ".join(f"{count} of {version}" for version, count in sorted(others.items()))
    raise InputError(
        f"there are records of other code versions than {code} ({listed})",
        where=str(path),
        fix="Give --mix-versions to keep them and run what is missing, or use another file.",
    )
