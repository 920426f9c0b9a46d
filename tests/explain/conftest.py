"""One trained estimator per method and kind; every test gets a copy of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.opened import fitted

Opened = Callable[..., Any]


@pytest.fixture(scope="session")
def _made() -> dict[tuple[str, str], Any]:
    return {}


@pytest.fixture
def opened(_made: dict[tuple[str, str], Any], tiny_bert: Path) -> Opened:
    """`opened(method, kind)`: an estimator with an index and texts, free to be changed."""

    def open_one(method: str = "pfit", kind: str = "texts") -> Any:
        if (method, kind) not in _made:
            _made[method, kind] = fitted(method, kind, tiny_bert)
        return copy.deepcopy(_made[method, kind])

    return open_one
