"""Pages of the report, and a browser to read them in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.browser import browsing
from helpers.opened import fitted

Fitted = Callable[..., Any]


@pytest.fixture(scope="session", autouse=True)
def _extra() -> None:
    pytest.importorskip("jinja2", reason="needs the extra `report`")
    pytest.importorskip("vl_convert", reason="needs the extra `report`")


@pytest.fixture(scope="session")
def trained(tiny_bert: Path) -> Fitted:
    """`trained(method, kind)`: an estimator with an index and texts, not to be changed."""
    made: dict[tuple[str, str], Any] = {}

    def one(method: str = "pfit", kind: str = "texts") -> Any:
        if (method, kind) not in made:
            made[method, kind] = fitted(method, kind, tiny_bert)
        return made[method, kind]

    return one


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, closed after the file: while it runs, its thread has an event loop."""
    with browsing() as started:
        yield started
