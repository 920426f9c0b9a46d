"""A table of labelled rows, and how to get one from a file, standard input or a dataset."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from protofit.data.hub import parse_id, read_dataset
from protofit.data.readers import FORMAT_OF_SUFFIX, READERS
from protofit.errors import InputError


@dataclass(frozen=True)
class Table:
    """Columns of equal length, with the number by which a person finds each row."""

    source: str
    columns: dict[str, list[object]]
    rows: list[int]
    unit: str

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, i: int, column: str | None = None) -> str:
        """Where row `i` (from 0) stands: "tickets.csv, line 7, column 'label'"."""
        row = f"{self.source}, {self.unit} {self.rows[i]}"
        return row if column is None else f"{row}, column {column!r}"

    def take(self, indices: Sequence[int]) -> Table:
        """The rows at `indices` (from 0), in that order, with their own numbers."""
        columns = {name: [cells[i] for i in indices] for name, cells in self.columns.items()}
        return Table(self.source, columns, [self.rows[i] for i in indices], self.unit)


def read_table(source: str, *, fmt: str = "auto", stdin: BinaryIO | None = None) -> Table:
    """Read a file, "-" for standard input, or a dataset id such as "owner/name:test"."""
    if fmt != "auto" and fmt not in READERS:
        raise InputError(
            f"the format {fmt!r} is unknown.", where=source, fix=f"Use auto, {_listed(READERS)}."
        )
    if not source:
        raise InputError(
            "the name is empty.", where="the data", fix="Give a file, - for stdin, or a dataset id."
        )
    if source == "-":
        data = (stdin or sys.stdin.buffer).read()
        return Table("stdin", *READERS[_sniffed(data) if fmt == "auto" else fmt](data, "stdin"))
    wanted = parse_id(source) if fmt == "auto" and not _is_local(source) else None
    if wanted is not None:
        return Table(source, *read_dataset(wanted, source))
    with _file_errors(source), Path(source).open("rb") as file:
        read = READERS[_format_of(source) if fmt == "auto" else fmt]
        data = file.read()
    return Table(source, *read(data, source))


def _is_local(source: str) -> bool:
    path = Path(source)
    try:
        return path.exists() or path.is_symlink()
    except OSError:
        return True


@contextmanager
def _file_errors(source: str) -> Iterator[None]:
    """Turn what the operating system reports into one sentence for people."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        found, fix = "there is no such file.", "Check the path and the working folder."
    except IsADirectoryError:
        found, fix = "this is a folder, not a file.", "Give one file."
    except PermissionError:
        found, fix = "permission to read the file is denied.", "Run: chmod u+r on the file."
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        found, fix = f"the file cannot be read ({reason}).", "Check the path and the disk."
    else:
        return
    raise InputError(found, where=source, fix=fix)


def _format_of(source: str) -> str:
    suffix = Path(source).suffix
    known = FORMAT_OF_SUFFIX.get(suffix.lower())
    if known is None:
        raise InputError(
            f"the suffix {suffix!r} is unknown." if suffix else "the file name has no suffix.",
            where=source,
            fix=f"Use {_listed(FORMAT_OF_SUFFIX)}, or name the format: {_listed(READERS)}.",
        )
    return known


def _sniffed(data: bytes) -> str:
    """The format of standard input, judged by its first line that is not blank."""
    content = data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    if content.lstrip().startswith(b"{"):
        return "jsonl"
    header = re.split(rb"[\r\n]", content, maxsplit=1)[0]
    return "tsv" if b"\t" in header and b"," not in header else "csv"


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"
