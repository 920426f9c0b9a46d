"""A spec: which data, sizes, arms, encoder, rates, seeds and protocol make an experiment."""

from __future__ import annotations

import difflib
import math
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from protofit.bench.arms import ARMS
from protofit.bench.protocols import PROTOCOLS
from protofit.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Spec:
    """One experiment, as its TOML file says."""

    name: str
    encoder: str  # a folder under --weights-dir, or what `--encoder` understands
    data: tuple[str, ...]  # folders under --data-dir, or datasets ids
    sizes: tuple[int, ...]  # examples of the training subsets
    arms: tuple[str, ...]  # names in `bench/arms.py`
    rates: tuple[float, ...]  # learning rates to choose from
    seeds: tuple[int, ...]
    protocol: str  # name in `bench/protocols.py`
    records: str  # file name of the records

    def records_path(self, path: Path, folder: Path | None = None) -> Path:
        """The records of the spec read from `path`; in `folder` where one is given."""
        return (folder or records_folder(path)) / self.records


def records_folder(path: Path) -> Path:
    """`records/bench` beside a folder named specs; beside the spec itself elsewhere."""
    parent = path.absolute().parent
    return parent.parent / "records" / "bench" if parent.name == "specs" else parent


def read_spec(path: Path) -> Spec:
    """The checked spec of a TOML file."""
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        raise InputError("there is no such spec", where=str(path), fix="Check the path.") from None
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the spec cannot be read ({reason})", where=str(path)) from error
    return parse_spec(values, str(path))


def parse_spec(values: dict[str, Any], where: str) -> Spec:
    """Check every key; one sentence names the file and the key that is wrong."""
    known = [field.name for field in fields(Spec)]
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            fix = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(known)}."
            raise InputError("there is no such key", where=_place(where, key), fix=fix)
    for key in known:
        if key not in values:
            raise InputError("the key is missing", where=_place(where, key), fix=f"Give {key} = ….")
    return Spec(**{key: _CHECKS[key](values[key], _place(where, key)) for key in known})


def _place(where: str, key: str) -> str:
    return f"{where}, key '{key}'"


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"found {value!r}, not a text", where=where, fix="Give a text.")
    return value


def _file_name(value: Any, where: str) -> str:
    name = _text(value, where)
    if Path(name).name != name or not name.endswith(".jsonl"):
        raise InputError(
            f"'{name}' is not a file name", where=where, fix='Give a name such as "mine.jsonl".'
        )
    return name


def _each(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise InputError(f"found {value!r}, not a list", where=where, fix="Give a list: [ … ].")
    for i, item in enumerate(value):
        if item in value[:i]:
            raise InputError(f"{item!r} is listed twice", where=where, fix="Name it once.")
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    return tuple(_text(item, where) for item in _each(value, where))


def _arms(value: Any, where: str) -> tuple[str, ...]:
    names = _texts(value, where)
    for name in names:
        if name not in ARMS:
            _one_of(name, (*ARMS, *_methods()), where)
    return names


def _methods() -> list[str]:
    """Registered methods, each of which is an arm of its own name."""
    from protofit.methods.registry import METHODS

    return [name for name in METHODS if name not in ARMS]


def _protocol(value: Any, where: str) -> str:
    return _one_of(_text(value, where), tuple(PROTOCOLS), where)


def _one_of(name: str, known: tuple[str, ...], where: str) -> str:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        fix = f"Did you mean '{near[0]}'?" if near else f"Choose one of: {', '.join(known)}."
        raise InputError(f"'{name}' is unknown", where=where, fix=fix)
    return name


def _numbers(low: int) -> Any:
    def check(value: Any, where: str) -> tuple[int, ...]:
        for item in _each(value, where):
            if not isinstance(item, int) or isinstance(item, bool) or item < low:
                raise InputError(
                    f"found {item!r}", where=where, fix=f"Give whole numbers from {low}."
                )
        return tuple(value)

    return check


def _rates(value: Any, where: str) -> tuple[float, ...]:
    for item in _each(value, where):
        number = isinstance(item, (int, float)) and not isinstance(item, bool)
        if not number or not 0 < item < math.inf:
            raise InputError(f"found {item!r}", where=where, fix="Give numbers above 0.")
    return tuple(float(item) for item in value)


_CHECKS: dict[str, Any] = {
    "name": _text,
    "encoder": _text,
    "data": _texts,
    "sizes": _numbers(4),
    "arms": _arms,
    "rates": _rates,
    "seeds": _numbers(0),
    "protocol": _protocol,
    "records": _file_name,
}
