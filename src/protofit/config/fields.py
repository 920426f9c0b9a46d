"""Dataclass ↔ dictionary ↔ dotted overrides (`head.creation.alpha=0.05`), checked by type."""

from __future__ import annotations

import dataclasses
import difflib
import json
import types
import typing
import warnings
from typing import Any, TypeVar

from protofit.errors import InputError, ProtoFitWarning

Config = TypeVar("Config")


def to_dict(config: Any) -> dict[str, Any]:
    """Nested plain dictionary of a config dataclass."""
    return dataclasses.asdict(config)


def from_dict(kind: type[Config], values: dict[str, Any], path: str = "") -> Config:
    """Build `kind` from a nested dictionary; unknown keys are dropped with a warning."""
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(typing.cast("Any", kind))]
    known: dict[str, Any] = {}
    for name, value in values.items():
        if name not in names:
            warnings.warn(
                f"unknown setting '{path}{name}' ignored (written by another version?)",
                ProtoFitWarning,
                stacklevel=2,
            )
        elif dataclasses.is_dataclass(hints[name]) and isinstance(value, dict):
            known[name] = from_dict(typing.cast("Any", hints[name]), value, f"{path}{name}.")
        else:
            known[name] = _coerce(value, hints[name], f"{path}{name}")
    return kind(**known)


def override(config: Config, settings: dict[str, Any], path: str = "") -> Config:
    """Return `config` with dotted `settings` replaced; values may be text from a command line."""
    for key, value in settings.items():
        config = _override_one(config, key.split("."), value, path)
    return config


def parse_assignments(assignments: list[str]) -> dict[str, str]:
    """Turn `["head.beta=3"]` into `{"head.beta": "3"}`."""
    settings: dict[str, str] = {}
    for text in assignments:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise InputError(
                f"cannot read the setting '{text}'", where="--set", fix="Write it as name=value."
            )
        settings[key.strip()] = value.strip()
    return settings


def _override_one(config: Any, keys: list[str], value: Any, path: str) -> Any:
    if not dataclasses.is_dataclass(config):
        raise InputError(
            f"'{path.rstrip('.')}' is a value and has no part '{keys[0]}'",
            where="settings",
            fix=f"Set '{path.rstrip('.')}' itself.",
        )
    hints = typing.get_type_hints(type(config))
    names = [field.name for field in dataclasses.fields(config)]
    name = keys[0]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"Did you mean '{path}{near[0]}'?" if near else f"Known: {', '.join(names)}."
        raise InputError(f"there is no setting '{path}{name}'", where="settings", fix=hint)
    current = getattr(config, name)
    if len(keys) > 1:
        new = _override_one(current, keys[1:], value, f"{path}{name}.")
    elif dataclasses.is_dataclass(current):
        parts = ", ".join(f"{path}{name}.{field.name}" for field in dataclasses.fields(current))
        raise InputError(
            f"'{path}{name}' is a group of settings", where="settings", fix=f"Set one of: {parts}."
        )
    else:
        new = _coerce(value, hints[name], f"{path}{name}")
    return dataclasses.replace(typing.cast("Any", config), **{name: new})


def _coerce(value: Any, hint: Any, path: str) -> Any:
    """Fit `value` (typed or text) to the annotation, or say what was expected."""
    for option in _options(hint):
        fitted, done = _fit(value, option)
        if done:
            return fitted
    expected = " or ".join(_name(option) for option in _options(hint))
    raise InputError(
        f"'{path}' cannot be {json.dumps(value, default=str)}",
        where="settings",
        fix=f"Expected {expected}.",
    )


def _options(hint: Any) -> list[Any]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [leaf for part in typing.get_args(hint) for leaf in _options(part)]
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    return [hint]


def _name(option: Any) -> str:
    if option is type(None):
        return "none"
    return option.__name__ if isinstance(option, type) else repr(option)


def _fit(value: Any, option: Any) -> tuple[Any, bool]:
    if option is type(None):
        return None, value is None or (isinstance(value, str) and value.lower() == "none")
    if not isinstance(option, type):  # a literal
        return option, value == option and isinstance(value, bool) == isinstance(option, bool)
    if option is bool:
        return _fit_bool(value)
    if option in (int, float):
        return _fit_number(value, option)
    return value, isinstance(value, option)


def _fit_bool(value: Any) -> tuple[Any, bool]:
    if isinstance(value, bool):
        return value, True
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    text = value.lower() if isinstance(value, str) else ""
    return words.get(text), text in words


def _fit_number(value: Any, kind: type[int] | type[float]) -> tuple[Any, bool]:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None, False
    if kind is int and isinstance(value, float):
        return (int(value), True) if value.is_integer() else (None, False)
    try:
        return kind(value), True
    except ValueError:
        return None, False
