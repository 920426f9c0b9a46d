"""Settings as dictionaries and as text: every type read, every mistake explained."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.config.fields import from_dict, override, parse_assignments, to_dict
from protofit.errors import InputError, ProtoFitWarning


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    name: str = ""
    limit: int | None = None
    kind: Literal["one", "two"] = "one"


@dataclass(frozen=True)
class Outer:
    count: int = 1
    flag: bool = False
    amount: int | Literal["all"] = 8
    ceiling: float | None = 1.0
    inner: Inner = field(default_factory=Inner)


READ = [
    ("count", "7", 7),
    ("count", -3, -3),
    ("count", 4.0, 4),
    ("inner.rate", "1e-3", 1e-3),
    ("inner.rate", 2, 2.0),
    ("inner.rate", "-.5", -0.5),
    ("flag", "true", True),
    ("flag", "Off", False),
    ("flag", "yes", True),
    ("flag", True, True),
    ("amount", "all", "all"),
    ("amount", "12", 12),
    ("amount", 12, 12),
    ("ceiling", "none", None),
    ("ceiling", None, None),
    ("ceiling", "2.5", 2.5),
    ("inner.limit", "None", None),
    ("inner.limit", "3", 3),
    ("inner.kind", "two", "two"),
    ("inner.name", "query: ", "query: "),
    ("inner.name", "none", "none"),
]


@pytest.mark.parametrize(("key", "value", "expected"), READ)
def test_overrides_are_read_by_type(key: str, value: object, expected: object) -> None:
    changed = override(Outer(), {key: value})
    found: Any = changed
    for part in key.split("."):
        found = getattr(found, part)
    assert found == expected
    assert type(found) is type(expected)


REFUSED = [
    ("count", "three", "Expected int."),
    ("count", "1.5", "Expected int."),
    ("count", 1.5, "Expected int."),
    ("count", True, "Expected int."),
    ("count", None, "Expected int."),
    ("count", float("inf"), "Expected int."),
    ("count", float("nan"), "Expected int."),
    ("inner.rate", "fast", "Expected float."),
    ("inner.rate", [1.0], "Expected float."),
    ("flag", "maybe", "Expected bool."),
    ("flag", 1, "Expected bool."),
    ("amount", "some", "Expected int or 'all'."),
    ("ceiling", "high", "Expected float or none."),
    ("inner.kind", "three", "Expected 'one' or 'two'."),
    ("inner.name", 5, "Expected str."),
]


@pytest.mark.parametrize(("key", "value", "fix"), REFUSED)
def test_a_value_that_does_not_fit_is_refused(key: str, value: object, fix: str) -> None:
    with pytest.raises(InputError, match=f"'{key}' cannot be") as caught:
        override(Outer(), {key: value})
    assert caught.value.fix == fix
    nested: Any = value
    for part in reversed(key.split(".")):
        nested = {part: nested}
    with pytest.raises(InputError, match=f"'{key}' cannot be"):
        from_dict(Outer, nested)


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("cuont", "Did you mean 'count'?"),
        ("inner.ratte", "Did you mean 'inner.rate'?"),
        ("xyz", "Known: count, flag, amount, ceiling, inner."),
        ("inner", "Set one of: inner.rate, inner.name, inner.limit, inner.kind."),
        ("count.more", "Set 'count' itself."),
        ("inner.rate.more", "Set 'inner.rate' itself."),
    ],
)
def test_a_wrong_name_leads_to_the_right_one(key: str, fix: str) -> None:
    with pytest.raises(InputError, match=f"'{key.rsplit('.more', 1)[0]}'") as caught:
        override(Outer(), {key: 1})
    assert caught.value.fix == fix


def test_overrides_add_up_and_leave_the_original() -> None:
    first = Outer()
    changed = override(first, {"inner.rate": 0.1, "inner.limit": 2, "count": 5})
    assert changed == Outer(count=5, inner=Inner(rate=0.1, limit=2))
    assert first == Outer()


def test_unknown_keys_are_dropped_with_a_warning() -> None:
    with pytest.warns(ProtoFitWarning) as caught:
        read = from_dict(Outer, {"count": 2, "later": 1, "inner": {"newer": 2, "rate": 0.2}})
    assert read == Outer(count=2, inner=Inner(rate=0.2))
    told = sorted(str(w.message) for w in caught)
    assert len(told) == 2
    assert "'inner.newer'" in told[0]
    assert "'later'" in told[1]


def test_missing_keys_keep_their_defaults() -> None:
    assert from_dict(Outer, {"inner": {}}) == Outer()


outers = st.builds(
    Outer,
    count=st.integers(),
    flag=st.booleans(),
    amount=st.integers() | st.just("all"),
    ceiling=st.none() | st.floats(allow_nan=False),
    inner=st.builds(
        Inner,
        rate=st.floats(allow_nan=False),
        name=st.text(),
        limit=st.none() | st.integers(),
        kind=st.sampled_from(["one", "two"]),
    ),
)


@settings(max_examples=60, deadline=None)
@given(outers)
def test_a_dictionary_gives_the_same_settings_back(outer: Outer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_dict(Outer, to_dict(outer)) == outer


@settings(max_examples=60, deadline=None)
@given(outers)
def test_written_values_are_read_back(outer: Outer) -> None:
    values = to_dict(outer)
    inner = values.pop("inner")
    written = {key: str(value) for key, value in values.items()}
    written |= {f"inner.{key}": str(value) for key, value in inner.items()}
    assert override(Outer(), written) == outer


def test_assignments() -> None:
    texts = ["a.b=3", " c = x y ", "d=", "e=1=2", "a.b=4"]
    assert parse_assignments(texts) == {"a.b": "4", "c": "x y", "d": "", "e": "1=2"}
    assert parse_assignments([]) == {}


@pytest.mark.parametrize("text", ["beta", "=3", "  =3", ""])
def test_an_assignment_without_a_name_or_sign_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--set: cannot read the setting") as caught:
        parse_assignments([text])
    assert caught.value.fix == "Write it as name=value."
