"""One function per file format: the bytes of a file -> columns and row numbers."""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import NamedTuple

from protofit.errors import InputError

FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".txt": "txt",
}
_OTHER_SEPARATORS = {
    ";": "Its cells seem to be separated by semicolons: save the file with commas.",
    "\t": "Its cells seem to be separated by tabs: give --format tsv.",
    ",": "Its cells seem to be separated by commas: give --format csv.",
}
_LARGEST_CELL = 2**31 - 1
_cell_limit_lock = threading.Lock()


class Parsed(NamedTuple):
    """Columns in file order, the number of each row, and what that number counts."""

    columns: dict[str, list[object]]
    rows: list[int]
    unit: str


def read_delimited(data: bytes, source: str, *, delimiter: str) -> Parsed:
    """Comma- or tab-separated records under one header; every cell stays text as written."""
    text = _decode(data, source)
    with _large_cells():
        records = _records(text, source, delimiter)
        header_line, names = next(records)
        _check_names(names, f"{source}, line {header_line}")
        lines: list[int] = []
        cells: list[tuple[str, ...]] = []
        for line, record in records:
            if len(record) != len(names):
                raise _uneven(len(record), names, f"{source}, line {line}", delimiter)
            lines.append(line)
            cells.append(tuple(record))
    if not cells:
        raise InputError(
            "the file has a header but no rows.", where=source, fix="Add at least one row."
        )
    return _parsed(names, zip(*cells, strict=True), lines, "line")


def read_jsonl(data: bytes, source: str) -> Parsed:
    """One JSON object per line (or one array of objects, whose rows are counted)."""
    text = _decode(data, source)
    if text.lstrip().startswith("["):
        unit, items = "row", _array_items(text, source)
    else:
        unit, items = "line", _line_items(text, source)
    numbers: list[int] = []
    objects: list[dict[str, object]] = []
    for number, item in items:
        if not isinstance(item, dict):
            raise InputError(
                f"found {reprlib.repr(item)}, not a JSON object.",
                where=f"{source}, {unit} {number}",
                fix='Write one object per line, such as {"text": "...", "label": "..."}.',
            )
        numbers.append(number)
        objects.append(item)
    if not objects:
        raise _no_rows(source)
    names = list(dict.fromkeys(name for item in objects for name in item))
    _check_names(names, source)
    return _parsed(names, ([item.get(name) for item in objects] for name in names), numbers, unit)


def read_parquet(data: bytes, source: str) -> Parsed:
    """A Parquet file as plain Python values."""
    if not data:
        raise _empty(source)
    try:
        arrow = import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise InputError(
            f"Parquet files need the package pyarrow ({error}).",
            where=source,
            fix="Run: pip install pyarrow.",
        ) from None
    try:
        table = parquet.ParquetFile(arrow.BufferReader(data)).read()
        values = [column.to_pylist() for column in table.columns]
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"the Parquet file cannot be read ({_first_line(error)}).",
            where=source,
            fix="The file may be cut short or of another format: write it again.",
        ) from None
    if not table.num_rows:
        raise _no_rows(source)
    _check_names(table.column_names, source)
    return _parsed(table.column_names, values, list(range(1, table.num_rows + 1)), "row")


def read_txt(data: bytes, source: str) -> Parsed:
    """One text per line, blank lines included, in the column 'text'."""
    lines = io.StringIO(_decode(data, source), newline=None)
    texts: list[object] = [line.removesuffix("\n") for line in lines]
    return Parsed({"text": texts}, list(range(1, len(texts) + 1)), "line")


READERS: dict[str, Callable[[bytes, str], Parsed]] = {
    "csv": partial(read_delimited, delimiter=","),
    "tsv": partial(read_delimited, delimiter="\t"),
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "txt": read_txt,
}


def _decode(data: bytes, source: str) -> str:
    """UTF-8 text, with or without a byte order mark, that is not blank."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        offset = error.start + len(data) - len(error.object)
        line = 1 + len(re.findall(rb"\r\n|\r|\n", data[:offset]))
        likely = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "WINDOWS-1252"
        raise InputError(
            f"the file is not UTF-8 text (byte 0x{data[offset]:02x} at byte offset {offset}).",
            where=f"{source}, line {line}",
            fix=f"Save the file as UTF-8, for example: iconv -f {likely} -t UTF-8 OLD > NEW.",
        ) from None
    if not text or text.isspace():
        raise _empty(source)
    return text


@contextmanager
def _large_cells() -> Iterator[None]:
    """Lift the cell size limit of the csv module, one reader at a time, then restore it."""
    with _cell_limit_lock:
        before = csv.field_size_limit(_LARGEST_CELL)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _records(text: str, source: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not blank, with the line on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begin = 1
    try:
        for cells in reader:
            if cells:
                yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        unclosed = "unexpected end" in str(error)
        reason = "a double quote is opened and never closed" if unclosed else str(error)
        raise InputError(
            f"the record that begins here cannot be read: {reason}.",
            where=f"{source}, line {begin}",
            fix='End a quoted cell with a double quote, and double the quotes inside it ("").',
        ) from None


def other_separator(names: Sequence[str]) -> str | None:
    """What to do where the only column name seems to be several, split by another character."""
    held = [mark for mark in _OTHER_SEPARATORS if len(names) == 1 and mark in names[0]]
    return _OTHER_SEPARATORS[held[0]] if held else None


def _uneven(found: int, names: Sequence[str], where: str, delimiter: str) -> InputError:
    mark, expected = "tab" if delimiter == "\t" else "comma", len(names)
    other = other_separator(names)
    if other is not None:
        fix = other
    elif found < expected:
        fix = "Add the missing cells (they may be empty)."
    else:
        fix = f"Put double quotes around a cell that holds a {mark}, or remove the extra cells."
    cells = "1 cell" if found == 1 else f"{found} cells"
    return InputError(f"the row has {cells}, the header has {expected}.", where=where, fix=fix)


def _line_items(text: str, source: str) -> Iterator[tuple[int, object]]:
    for line, content in enumerate(io.StringIO(text, newline=None), start=1):
        if not content.isspace():
            yield line, _parse_json(content.removesuffix("\n"), source, line)


def _array_items(text: str, source: str) -> Iterator[tuple[int, object]]:
    items = _parse_json(text, source, 1)
    return enumerate(items if isinstance(items, list) else [items], start=1)


def _parse_json(text: str, source: str, line: int) -> object:
    fix = "Write one JSON object per line, with double quotes around names and texts."
    try:
        return _JSON.decode(text)
    except json.JSONDecodeError as error:
        place = f"{source}, line {line + error.lineno - 1}, column {error.colno}"
        raise InputError(f"not valid JSON ({error.msg}).", where=place, fix=fix) from None
    except (ValueError, RecursionError) as error:
        reason = _first_line(error)
        place = f"{source}, line {line}"
        raise InputError(f"not usable JSON ({reason}).", where=place, fix=fix) from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    item = dict(pairs)
    if len(item) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in item if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} appears twice in one object")
    return item


_JSON = json.JSONDecoder(object_pairs_hook=_object)


def _check_names(names: Sequence[str], where: str) -> None:
    """Names must differ; a column without a name is left out, but one must have a name."""
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name.strip() and name in first:
            raise InputError(
                f"the column name {name!r} appears twice (columns {first[name]} and {number}).",
                where=where,
                fix="Give every column its own name.",
            )
        first.setdefault(name, number)
    if not any(name.strip() for name in names):
        raise InputError("no column has a name.", where=where, fix="Name the columns.")


def _parsed(
    names: Sequence[str], values: Iterable[Iterable[object]], rows: list[int], unit: str
) -> Parsed:
    named = zip(names, values, strict=True)
    return Parsed({name: list(column) for name, column in named if name.strip()}, rows, unit)


def _empty(source: str) -> InputError:
    fix = "Give a file with a header and at least one row."
    return InputError("the file is empty.", where=source, fix=fix)


def _no_rows(source: str) -> InputError:
    return InputError("the file has no rows.", where=source, fix="Add at least one row.")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
