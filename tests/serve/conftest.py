"""Model folders for the server, each made once; the page in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from helpers.served import make


@pytest.fixture(scope="session")
def model_folder(
    tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path
) -> Callable[[str], Path]:
    """Folder of a kind of model: texts, bare, pairs, numbers, raw; made once, not to be changed."""
    made: dict[str, Path] = {}
    base = tmp_path_factory.mktemp("served")

    def folder(kind: str) -> Path:
        if kind not in made:
            make(kind, tiny_bert).save(base / kind)
            made[kind] = base / kind
        return made[kind]

    return folder


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    """A tab of Chromium, closed after the file: while it runs, its thread has an event loop."""
    from helpers.browser import browsing, tab

    with browsing() as browser, tab(browser) as page:
        yield page


@pytest.fixture
def show(window: Any) -> Iterator[Callable[..., Any]]:
    """Opens the page over a desk; at the end it must not have complained or called away."""
    from helpers.page import shown

    with ExitStack() as stack:
        yield lambda desk, *given, **named: stack.enter_context(
            shown(window, desk, *given, **named)
        )
