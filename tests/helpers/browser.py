"""Debian's Chromium without a display and without a network, and axe-core, which PyPI carries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SERIOUS = ("serious", "critical")
NARROW, WIDE, HEIGHT = 390, 1400, 900
THEMES = ("light", "dark")
PATIENCE = 30_000  # ms: a busy machine is no failure


@contextlib.contextmanager
def browsing() -> Iterator[Any]:
    """A browser; a skip that says what is missing."""
    if not CHROMIUM.exists():
        pytest.skip(f"needs {CHROMIUM}: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """What a page complained about and whom it called; calls that leave `home` are cut off."""

    def __init__(self, page: Any) -> None:
        self.page = page
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.begin("about:blank")

    def begin(self, home: str) -> None:
        """Watch from now on, with what was complained about forgotten."""
        self.complaints: list[str] = []
        self.away: list[str] = []
        self.home = home
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.route("**/*", self._called)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} {message.location.get('url', '')}")

    def _called(self, route: Any) -> None:
        if route.request.url.startswith((self.home, "data:", "blob:")):
            route.fallback()
            return
        self.away.append(route.request.url)
        route.abort()

    def forgive(self, part: str) -> None:
        """Take back the complaints that a test provoked; there must be one."""
        left = [each for each in self.complaints if part not in each]
        assert len(left) < len(self.complaints), f"nobody complained of {part}"
        self.complaints = left

    def quiet(self) -> None:
        """Assert that nothing was complained about and nobody else was called."""
        assert not self.complaints, self.complaints
        assert not self.away, self.away


@contextlib.contextmanager
def tab(browser: Any, *, width: int = WIDE, theme: str = "light", **more: Any) -> Iterator[Any]:
    """An empty page of this width and theme, watched."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT}, color_scheme=theme, reduced_motion="reduce",
        bypass_csp=False, **more,
    )  # fmt: skip
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.watch = Watch(page)
    try:
        yield page
    finally:
        context.close()


@contextlib.contextmanager
def opened(browser: Any, url: str, home: str, **look: Any) -> Iterator[Any]:
    """A page of this width and theme; at the end it must not have complained or called away."""
    with tab(browser, **look) as page:
        page.watch.begin(home)
        page.goto(url)
        yield page
        page.watch.quiet()


def scrolls_sideways(page: Any) -> bool:
    """Whether the page itself is wider than the window."""
    wide: bool = page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )
    return wide


def findings(page: Any) -> list[str]:
    """Serious and critical findings of axe-core, each in a line."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe_source())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']} ({node['html'][:160]})"
        for each in found["violations"]
        if each["impact"] in SERIOUS
        for node in each["nodes"][:3]
    ]


def axe_source() -> str:
    """The script of axe-core; a skip where its package is not installed."""
    spec = find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("needs axe-playwright-python, which carries axe-core")
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")
