"""The served page in a browser: how tests open it, ask it and read its answer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from helpers.browser import HEIGHT, WIDE
from helpers.serving import served
from protofit.serve.app import create_app
from protofit.serve.limits import Limits

SMALL = Limits(text_chars=1000, batch_items=6, batch_chars=3000, edit_items=5, wait_ms=0)


@contextlib.contextmanager
def shown(
    page: Any, desk: Any, limits: Limits = SMALL, *, edits: bool = False, width: int = WIDE
) -> Iterator[Any]:
    """The page over a desk, in a tab that may have shown another; `page.desk` is the desk."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    with served(create_app(desk, limits, allow_edits=edits)) as url:
        page.watch.begin(url)
        page.goto(url)
        page.desk = desk
        try:
            yield page
        finally:
            page.goto("about:blank")  # before its server goes: what it still asks is given up
        page.watch.quiet()


def answered(page: Any, text: str, pair: str | None = None) -> Any:
    """Put a text (or a pair) into the fields; the panel of its answer."""
    if pair is not None:
        page.fill("#pair", pair)
    with page.expect_response("**/api/explain"):
        page.fill("#text", text)
    verdict = page.locator("#answer .verdict")
    verdict.wait_for()
    return verdict


def press_until(page: Any, key: str, wanted: str, most: int = 40) -> None:
    """Press a key until what has the focus matches a selector."""
    for _ in range(most):
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", wanted):
            return
        page.keyboard.press(key)
    focused = page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
    raise AssertionError(f"{wanted} was not reached by {most} times {key}; at {focused}")


def focused(page: Any) -> str:
    """The id of what has the focus, or its text; "" where nothing has it."""
    found: str = page.evaluate(
        "(document.activeElement === document.body) ? ''"
        " : document.activeElement.id || document.activeElement.textContent.trim()"
    )
    return found


class Held:
    """Requests to a path wait here until a test lets the last one go on."""

    def __init__(self, page: Any, path: str) -> None:
        self.page = page
        self.routes: list[Any] = []
        page.route(path, self._keep)

    def _keep(self, route: Any) -> None:
        self.routes.append(route)

    def until(self, count: int) -> None:
        """Return once this many have come."""
        for _ in range(400):
            if len(self.routes) >= count:
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"{len(self.routes)} of {count} requests came")

    def release(self) -> None:
        """Let the last one go on."""
        self.routes[-1].fallback()
