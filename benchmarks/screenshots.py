"""Pictures of the report and of the page over the bundled example, for docs/images.

    python benchmarks/screenshots.py            # trains, writes the report, serves, takes pictures
    python benchmarks/screenshots.py --model M  # of a model folder that is there already

Both are shown at 1400 and at 390 pixels, light and dark. Needs Debian's Chromium.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "tickets"
IMAGES = ROOT / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDTHS = (1400, 390)
THEMES = ("light", "dark")
TALLEST = 2280  # pixels of a picture
ASKED = "I was charged twice for the same invoice and nobody answers my emails"


def protofit(*arguments: Any) -> list[str]:
    """The command of this environment."""
    return [sys.executable, "-m", "protofit", *map(str, arguments)]


def train(folder: Path) -> Path:
    """A model of the example that keeps its texts, as a reader would train it."""
    model = folder / "tickets"
    subprocess.run(
        protofit("train", EXAMPLE / "train.csv", "--eval", EXAMPLE / "test.csv",
                 "--keep-texts", "--out", model, "--overwrite"),
        check=True,
    )  # fmt: skip
    return model


@contextmanager
def serving(model: Path) -> Iterator[str]:
    """The address of the page, with edits judged on the test texts."""
    process = subprocess.Popen(
        protofit("serve", model, "--port", 0, "--allow-edits", "--eval", EXAMPLE / "test.csv"),
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://\S+", said)
        if found is None:
            raise RuntimeError(said)
        yield found.group()
    finally:
        process.terminate()
        process.wait(20)


def take(browser: Any, name: str, url: str, folder: Path) -> None:
    """Four pictures of one page."""
    for width in WIDTHS:
        for theme in THEMES:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=theme,
                reduced_motion="reduce", device_scale_factor=1,
            )  # fmt: skip
            page = context.new_page()
            page.goto(url)
            (ready_page if name == "page" else ready_report)(page)
            tall = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
            page.set_viewport_size({"width": width, "height": tall})
            page.wait_for_timeout(300)
            path = folder / f"{name}-{width}-{theme}.png"
            page.screenshot(path=path, clip={"x": 0, "y": 0, "width": width, "height": tall})
            reduce(path)
            context.close()


def ready_report(page: Any) -> None:
    """All charts are drawn."""
    page.wait_for_selector("html[data-drawn]")


def ready_page(page: Any) -> None:
    """A text is answered, and its strongest prototype is open."""
    page.wait_for_selector("#map svg")
    page.fill("#text", ASKED)
    page.wait_for_selector("#answer .evidence")
    page.click("#answer .evidence summary >> nth=0")
    page.evaluate("document.activeElement.blur()")


def reduce(path: Path) -> None:
    """The same picture in fewer bytes, where Pillow is there; every colour stays."""
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(path) as picture:
        small = picture.convert("RGB")
    small.save(path, optimize=True)


def main() -> None:
    """Train or take the model, write the report, take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a model folder; trained by default")
    parser.add_argument("--out", type=Path, default=IMAGES)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model = options.model or train(folder)
        report = folder / "report.html"
        subprocess.run(
            protofit("report", model, EXAMPLE / "test.csv", "--title", "tickets", "--out", report),
            check=True, cwd=ROOT,
        )  # fmt: skip
        with sync_playwright() as driver, serving(model) as url:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            take(browser, "report", report.as_uri(), options.out)
            take(browser, "page", url, options.out)
            browser.close()
    pictures = sorted(options.out.glob("*-[0-9]*-*.png"))
    print(f"{len(pictures)} pictures, {sum(p.stat().st_size for p in pictures) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
