"""The page in both themes and widths, in every state; over every kind of real model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
pytest.importorskip("playwright", reason="needs playwright")

from playwright.sync_api import expect

from helpers.browser import HEIGHT, NARROW, THEMES, WIDE, findings, scrolls_sideways
from helpers.fake_desk import FakeDesk
from helpers.page import answered
from helpers.quick import few_tickets
from helpers.served import CLASSES
from protofit.model.bundle import Bundle
from protofit.serve.limits import Limits
from protofit.serve.model_desk import ModelDesk

Show = Callable[..., Any]
Folder = Callable[[str], Path]
Looks = Sequence[tuple[int, str]]
ALL = [(width, theme) for width in (NARROW, WIDE) for theme in THEMES]
TWO = [(NARROW, "dark"), (WIDE, "light")]
ENDLESS = "donaudampfschiff" * 20  # a word that no line can hold
TEXTS = few_tickets(10, CLASSES)[0]


def looks_right(page: Any, state: str, looks: Looks = ALL) -> None:
    """No serious finding and nothing beyond the edge."""
    for width, theme in looks:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.wait_for_timeout(50)  # the map is drawn again
        assert not scrolls_sideways(page), f"{state} at {width} px"
        assert findings(page) == [], f"{state} at {width} px, {theme}"


def show_answer(page: Any) -> None:
    answered(page, f"something strange {ENDLESS}" * 2)
    page.locator("ol.evidence summary").first.click()
    page.locator("#card-0 summary").click()
    page.locator("#legend button").first.click()


def show_list(page: Any) -> None:
    page.click("#tab-several")
    page.fill("#texts", f"short\n{ENDLESS}")
    expect(page.locator("#table td")).to_have_count(6)


def show_too_much(page: Any) -> None:
    page.fill("#texts", "a\n" * 9)
    expect(page.locator("#table .notice")).to_be_visible()


def show_refusal(page: Any) -> None:
    page.click("#tab-one")
    page.fill("#text", "fail")
    expect(page.locator("#answer [role=alert]")).to_be_visible()
    page.watch.forgive("500")


def show_dialog(page: Any) -> None:
    page.click("#clear")
    page.get_by_role("button", name="Add class").click()
    page.fill("#label-field", ENDLESS[:100])
    page.fill("#texts-field", ENDLESS)
    page.get_by_role("button", name="Show effect").click()
    expect(page.locator("#effect table")).to_be_visible()


def show_kept(page: Any) -> None:
    page.get_by_role("button", name="Keep edit").click()
    page.click("#history summary")
    expect(page.locator("#history li")).to_be_visible()


STATES = (show_answer, show_list, show_too_much, show_refusal, show_dialog, show_kept)


def in_every_state(page: Any, looks: Looks) -> None:
    looks_right(page, "empty", looks)
    for state in STATES:
        state(page)
        looks_right(page, state.__name__, looks)


def test_every_state_fits_and_can_be_read(show: Show) -> None:
    """A phone in the dark and a wide screen in the light."""
    in_every_state(show(FakeDesk(), edits=True), TWO)


@pytest.mark.slow
def test_every_state_in_both_widths_and_themes(show: Show) -> None:
    in_every_state(show(FakeDesk(), edits=True), ALL)


def desk_of(folder: Path, *jury: Any) -> ModelDesk:
    return ModelDesk(Bundle.load(folder), folder, jury or None)


def is_usable(page: Any, *, paired: bool, prototypes: bool) -> None:
    """A text is answered, several are listed, and the parts that the model has are there."""
    pair = TEXTS[1] if paired else None
    answered(page, TEXTS[0], pair)
    expect(page.locator("#answer ol.evidence")).to_have_count(2 if prototypes else 0)
    expect(page.locator("#map-panel")).to_be_visible(visible=prototypes)
    expect(page.locator("#cards-panel")).to_be_visible(visible=prototypes)
    page.click("#tab-several")
    page.fill("#texts", "\n".join(f"{text} | {TEXTS[0]}" if paired else text for text in TEXTS[:3]))
    expect(page.locator("#table tbody tr")).to_have_count(3)
    page.click("#tab-one")
    expect(page.locator("#answer .verdict")).to_be_visible()
    assert not scrolls_sideways(page)


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("texts", "bare")]


@pytest.mark.parametrize("kind", ["pairs", "raw", *SLOW])
def test_every_kind_of_classifier_on_a_phone(show: Show, model_folder: Folder, kind: str) -> None:
    page = show(desk_of(model_folder(kind)), Limits(), edits=True, width=NARROW)
    is_usable(page, paired=kind == "pairs", prototypes=kind != "raw")
    dots = 30 if kind in ("texts", "pairs") else 0
    expect(page.locator("#map .dot")).to_have_count(dots)
    tools = 0 if kind == "raw" else 2
    expect(page.locator("#card-tools button:visible")).to_have_count(tools)
    if kind == "raw":
        expect(page.locator("#answer")).to_contain_text("keeps no prototypes")


def test_numbers_on_a_phone(show: Show, model_folder: Folder) -> None:
    page = show(desk_of(model_folder("numbers")), Limits(), edits=True, width=NARROW)
    answered(page, TEXTS[0])
    expect(page.locator("#facts")).to_contain_text("predicts a number")
    value = page.locator("#answer .verdict .label").inner_text()
    expect(page.locator(".step.total .figure")).to_have_text(value)
    expect(page.locator("#answer .classes, #answer .chance")).to_have_count(0)
    expect(page.locator("#legend")).to_contain_text("low values to high values")
    page.click("#tab-several")
    page.fill("#texts", "\n".join(TEXTS[:3]))
    expect(page.locator("#table th")).to_have_text(["Text", "Value"])
    expect(page.locator("#table td:nth-child(2)").first).to_have_text(value)
    expect(page.get_by_label("Least certain first")).to_have_count(0)
    page.get_by_role("button", name="Add prototype").click()
    page.fill("#texts-field", TEXTS[0])
    page.fill("#label-field", "2.5")
    page.get_by_role("button", name="Show effect").click()
    expect(page.locator("#effect")).to_contain_text("No evaluation set was given")
    assert not scrolls_sideways(page)


def test_a_class_is_added_on_the_page_and_undone(
    show: Show, model_folder: Folder, tmp_path: Path
) -> None:
    """The whole way, over a real model and its folder."""
    folder = shutil.copytree(model_folder("texts"), tmp_path / "model")
    page = show(desk_of(folder, *few_tickets(14, CLASSES)), Limits(), edits=True)
    page.get_by_role("button", name="Add class").click()
    page.fill("#label-field", "gifts")
    page.fill("#texts-field", "gift card code\ngift card balance")
    page.get_by_role("button", name="Show effect").click()
    expect(page.locator("#effect caption")).to_have_text("On 42 evaluation texts")
    page.get_by_role("button", name="Keep edit").click()
    expect(page.locator("#facts")).to_contain_text("4 classes")
    answered(page, "gift card code")
    expect(page.locator("#answer .verdict .label")).to_have_text("gifts")
    assert "gifts" in Bundle.load(folder).classes.to_json()
    page.click("#undo")
    expect(page.locator("#facts")).to_contain_text("3 classes")
    expect(page.locator("#answer .verdict .label")).not_to_have_text("gifts")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["texts", "bare", "pairs", "numbers", "raw"])
def test_every_kind_of_model_fits_and_can_be_read(
    show: Show, model_folder: Folder, kind: str
) -> None:
    page = show(desk_of(model_folder(kind)), Limits(), edits=True)
    looks_right(page, f"{kind}, empty")
    answered(page, TEXTS[0], TEXTS[1] if kind == "pairs" else None)
    if kind != "raw":
        page.locator("ol.evidence summary").first.click()
        page.locator("#cards summary").first.click()
    looks_right(page, f"{kind}, answered")
