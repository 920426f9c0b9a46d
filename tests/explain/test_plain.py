"""Results as values that JSON can hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from protofit.explain.plain import Plain, plain


@dataclass(frozen=True)
class Inner(Plain):
    value: Any


@dataclass(frozen=True)
class Outer(Plain):
    inner: Inner
    many: list[Inner]
    named: dict[Any, Any]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (float("nan"), None),
        (np.float64("inf"), None),
        ((1, (2.0, "x")), [1, [2.0, "x"]]),
        ({1: float("-inf")}, {"1": None}),
        (True, True),
        (None, None),
        ("é", "é"),
    ],
)
def test_values(value: Any, wanted: Any) -> None:
    found = plain(value)
    assert found == wanted
    assert type(found) is type(wanted)
    json.dumps(found, allow_nan=False)


def test_nested_results() -> None:
    found = Outer(Inner(np.nan), [Inner((1, 2))], {"a": Inner(np.float32(1))}).to_dict()
    assert found == {"inner": {"value": None}, "many": [{"value": [1, 2]}],
                     "named": {"a": {"value": 1.0}}}  # fmt: skip
