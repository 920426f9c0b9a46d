"""The map and the cards: pointer, arrow keys, filters, and how they find each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
pytest.importorskip("playwright", reason="needs playwright")

from playwright.sync_api import expect

from helpers.browser import NARROW
from helpers.fake_desk import FakeDesk, card
from helpers.page import answered, focused, press_until

Show = Callable[..., Any]
NAMES = ["billing 3", "billing 0", "delivery 1", "returns 2"]  # class by class, by support


def mark(page: Any, name: str) -> Any:
    return page.locator(f"#map .mark[aria-label^='Prototype {name} ']")


def is_chosen(page: Any, name: str) -> None:
    """One mark is pressed: that of this prototype."""
    label = f"Prototype {name} ({name.split(maxsplit=1)[0]})"
    expect(page.locator("#map .mark[aria-pressed=true]")).to_have_attribute("aria-label", label)


def test_the_pointer_reads_dots_and_marks(show: Show) -> None:
    page = show(FakeDesk())
    detail = page.locator("#map-detail")
    expect(page.locator("#map .dot")).to_have_count(3)
    expect(page.locator("#map .mark")).to_have_count(4)
    expect(page.locator("#map-note")).to_contain_text("70 % of their variance")
    page.locator("#map .dot").nth(1).hover()
    expect(detail).to_have_text("delivery: a parcel")
    mark(page, "returns 2").hover()
    expect(detail).to_have_text("Prototype returns 2 (returns)")
    page.locator("h1").hover()
    expect(detail).to_contain_text("Point at a mark")


def test_pressing_a_mark_opens_its_card(show: Show) -> None:
    page = show(FakeDesk())
    mark(page, "returns 2").click()
    is_chosen(page, "returns 2")
    expect(page.locator("#card-2 details")).to_have_attribute("open", "")
    assert focused(page).startswith("returns 2")
    mark(page, "delivery 1").click()
    expect(page.locator("#map .mark[aria-pressed=true]")).to_have_count(1)
    is_chosen(page, "delivery 1")


def test_arrow_keys_walk_and_enter_chooses(show: Show) -> None:
    page = show(FakeDesk())
    expect(page.locator("#map .mark[tabindex='0']")).to_have_count(1)
    page.focus("#text")
    press_until(page, "Tab", ".mark")
    expect(page.locator("#map-detail")).to_have_text("Prototype billing 0 (billing)")
    way = {"ArrowRight": "billing 3", "ArrowDown": "returns 2", "ArrowLeft": "delivery 1"}
    for key, name in way.items():
        page.keyboard.press(key)
        expect(page.locator("#map-detail")).to_contain_text(f"Prototype {name}")
        expect(page.locator("#map .mark[tabindex='0']")).to_have_count(1)
        expect(mark(page, name)).to_be_focused()
    page.keyboard.press("Enter")
    is_chosen(page, "delivery 1")
    page.focus("#map .mark[tabindex='0']")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    expect(page.locator("#card-0 details[open] > summary")).to_be_focused()


def test_a_class_can_be_hidden_from_pointer_and_keys(show: Show) -> None:
    page = show(FakeDesk())
    chip = page.get_by_role("group", name="Classes on the map").get_by_role("button")
    expect(chip).to_have_text(["billing", "delivery", "returns"])
    chip.nth(0).click()
    expect(chip.nth(0)).to_have_attribute("aria-pressed", "false")
    expect(mark(page, "billing 0")).to_be_hidden()
    expect(page.locator("#map .dot:visible")).to_have_count(2)
    stop = page.locator("#map .mark[tabindex='0']")
    expect(stop).to_have_count(1)
    assert "billing" not in stop.get_attribute("aria-label")
    page.set_viewport_size({"width": NARROW, "height": 900})  # drawn again
    expect(mark(page, "billing 0")).to_be_hidden()
    chip.nth(0).click()
    expect(mark(page, "billing 0")).to_be_visible()
    expect(page.locator("#map .dot:visible")).to_have_count(3)


def test_all_classes_can_be_hidden_and_shown(show: Show) -> None:
    page = show(FakeDesk())
    chips = page.locator("#legend button")
    for i in range(3):
        chips.nth(i).click()
    expect(page.locator("#map .mark:visible, #map .dot:visible")).to_have_count(0)
    expect(page.locator("#map .mark[tabindex='0']")).to_have_count(0)
    for i in range(3):
        chips.nth(i).click()
    expect(page.locator("#map .mark:visible")).to_have_count(4)
    expect(page.locator("#map .mark[tabindex='0']")).to_have_count(1)


def test_many_classes_can_be_hidden_at_once(show: Show) -> None:
    names = [f"kind {i}" for i in range(6)]
    cards = [card(i, name, f"{name}: words") for i, name in enumerate(names)]
    page = show(FakeDesk(classes=names, cards=cards))
    page.get_by_role("button", name="Hide all classes").click()
    expect(page.locator("#map .mark:visible")).to_have_count(0)
    page.locator("#legend button").nth(4).click()
    expect(page.locator("#map .mark:visible")).to_have_count(1)
    page.get_by_role("button", name="Hide all classes").click()
    page.get_by_role("button", name="Show all classes").click()
    expect(page.locator("#map .mark:visible")).to_have_count(6)
    assert focused(page) == "Hide all classes"


def test_another_width_keeps_what_is_chosen_and_asked(show: Show) -> None:
    page = show(FakeDesk())
    answered(page, "where is it")
    mark(page, "returns 2").click()
    wide = page.locator("#map svg").bounding_box()["width"]
    page.set_viewport_size({"width": NARROW, "height": 900})
    page.wait_for_function(
        "(wide) => document.querySelector('#map svg').clientWidth < wide", arg=wide
    )
    expect(page.locator("#map .you")).to_have_attribute("visibility", "visible")
    expect(page.locator("#map .lines line")).to_have_count(3)
    is_chosen(page, "returns 2")


def test_cards_are_filtered_by_class_and_by_words(show: Show) -> None:
    page = show(FakeDesk())
    names = page.locator("#cards .name")
    expect(names).to_have_text(NAMES)
    page.select_option("#class-filter", "billing")
    expect(names).to_have_text(NAMES[:2])
    page.fill("#find", "BILLING 0")
    expect(names).to_have_text(["billing 0"])
    page.select_option("#class-filter", "returns")
    expect(page.locator("#cards .empty")).to_have_text("No prototype is like that.")
    mark(page, "delivery 1").click()  # it is filtered away: the filters give way
    expect(names).to_have_text(NAMES)
    expect(page.locator("#card-1 details")).to_have_attribute("open", "")
    expect(page.locator("#find")).to_have_value("")
    page.fill("#find", "an invoice")  # a word of the nearest texts
    expect(names).to_have_count(4)


def test_a_card_says_what_the_prototype_is(show: Show) -> None:
    page = show(FakeDesk())
    first = page.locator("#card-0")
    expect(first.locator(".support")).to_have_text("1 text")
    first.locator("summary").click()
    expect(first.locator(".said").first).to_contain_text("Says billing 80 %, delivery 10 %")
    expect(first.locator(".said").first).to_contain_text("There from the start.")
    expect(first.locator("q")).to_have_text("an invoice twice")
    expect(first.locator(".texts li")).to_have_count(2)
    is_chosen(page, "billing 0")
    page.locator("#card-1 summary").click()
    expect(page.locator("#card-1 .said").first).to_contain_text("Created at step 1.")
    is_chosen(page, "delivery 1")


def test_many_cards_come_in_two_steps(show: Show) -> None:
    page = show(FakeDesk(cards=[card(row, "billing", f"name {row}") for row in range(40)]))
    names = page.locator("#cards .name")
    expect(names).to_have_count(30)
    page.get_by_role("button", name="Show 10 more").click()
    expect(names).to_have_count(40)
    assert focused(page).startswith("name 9")  # the thirty-first by support
    page.fill("#find", "name")
    expect(names).to_have_count(30)
    mark(page, "name 2").dispatch_event("click")  # it is not listed yet
    expect(page.locator("#card-2 details")).to_have_attribute("open", "")


def test_everything_can_be_reached_by_keys_alone(show: Show) -> None:
    page = show(FakeDesk())
    expect(page.locator("#answer .empty")).to_be_visible()
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the text field"
    page.keyboard.press("Enter")
    assert focused(page) == "text"
    page.keyboard.type("where is it")
    page.wait_for_selector("#answer .evidence")
    press_until(page, "Tab", "ol.evidence summary")
    page.keyboard.press("Enter")
    press_until(page, "Tab", "ol.evidence details[open] button")
    page.keyboard.press("Enter")
    expect(page.locator("#cards details[open] > summary")).to_be_focused()
    for wanted in ("#find", "#class-filter", "#legend button", ".mark", "#clear", "#tab-one"):
        press_until(page, "Shift+Tab", wanted)
