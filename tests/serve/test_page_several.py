"""Several texts on the page: the list, its order, its rows, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
pytest.importorskip("playwright", reason="needs playwright")

from playwright.sync_api import expect

from helpers.fake_desk import LONG, FakeDesk, label_of
from helpers.page import SMALL, Held, focused

Show = Callable[..., Any]
TEXTS = ["where is it", "who pays?", "the parcel", "my money back"]


def listed(page: Any, texts: list[str]) -> Any:
    """Paste texts as lines; the cells of the first column."""
    page.click("#tab-several")
    page.fill("#texts", "\n".join(texts))
    return page.locator("#table td:first-child")


def test_each_line_gets_its_label(show: Show) -> None:
    page = show(FakeDesk())
    expect(listed(page, [*TEXTS, "", "  "])).to_have_text(TEXTS)
    labels = page.locator("#table td:nth-child(2)")
    expect(labels).to_have_text([label_of(text) for text in TEXTS])
    sure = page.locator("#table td:nth-child(3)")
    expect(sure).to_have_text(["80.0 %", "50.0 %", "80.0 %", "80.0 %"])
    expect(page.locator("#table h2")).to_have_text("4 predictions")
    expect(page.locator("#lines")).to_have_text("4 texts")
    counts = page.locator("#table .tally li b").all_inner_texts()
    assert sum(map(int, counts)) == len(TEXTS)
    assert page.desk.passes[-1] == [4]


def test_lines_pasted_while_the_model_loads_are_counted_and_answered(show: Show) -> None:
    page = show(FakeDesk())
    held = Held(page, "**/api/health")
    page.reload()
    held.until(1)
    cells = listed(page, TEXTS)
    expect(page.locator("#lines")).to_have_text("")
    held.release()
    expect(cells).to_have_text(TEXTS)
    expect(page.locator("#lines")).to_have_text("4 texts")
    expect(page.locator("#clear-several")).to_be_visible()


def test_the_least_certain_come_first_when_asked(show: Show) -> None:
    page = show(FakeDesk())
    cells = listed(page, TEXTS)
    box = page.get_by_label("Least certain first")
    box.check()
    expect(cells.first).to_have_text("who pays?")
    expect(box).to_be_focused()
    box.uncheck()
    expect(cells).to_have_text(TEXTS)


def test_a_row_opens_its_evidence(show: Show) -> None:
    page = show(FakeDesk())
    listed(page, TEXTS).nth(2).get_by_role("button").click()
    expect(page.locator("#tab-one")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#text")).to_have_value("the parcel")
    expect(page.locator("#answer .verdict .label")).to_have_text(label_of("the parcel"))
    expect(page.locator("#table")).to_be_hidden()
    assert focused(page) == "text"
    page.click("#tab-several")
    expect(page.locator("#table td:first-child")).to_have_text(TEXTS)


def test_clear_and_nothing(show: Show) -> None:
    page = show(FakeDesk())
    page.click("#tab-several")
    expect(page.locator("#table .empty")).to_contain_text("one per line")
    listed(page, TEXTS)
    page.click("#clear-several")
    expect(page.locator("#table .empty")).to_be_visible()
    expect(page.locator("#lines")).to_have_text("")
    assert focused(page) == "texts"


def test_arrow_keys_go_between_the_tabs(show: Show) -> None:
    page = show(FakeDesk())
    page.focus("#tab-one")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#several")).to_be_visible()
    assert focused(page) == "tab-several"
    page.keyboard.press("ArrowRight")
    expect(page.locator("#one")).to_be_visible()
    assert focused(page) == "tab-one"


def test_too_much_is_said_and_not_sent(show: Show) -> None:
    page = show(FakeDesk())
    for texts, said in (
        (["a"] * (SMALL.batch_items + 1), "At most 6 texts at once; there are 7."),
        (["a", "x" * (SMALL.text_chars + 1)], "Text 2 has more than 1,000 characters."),
        (["x" * 900] * 4, "At most 3,000 characters at once; there are 3,600."),
    ):
        listed(page, texts)
        expect(page.locator("#table .notice.warn")).to_have_text(said)
    assert page.desk.passes == []
    expect(listed(page, ["a"])).to_have_count(1)


def test_a_long_line_is_said_to_be_cut(show: Show) -> None:
    page = show(FakeDesk())
    cells = listed(page, ["short", "x" * (LONG + 1)])
    expect(cells.nth(1)).to_contain_text("only its beginning was read")
    expect(cells.nth(0)).to_have_text("short")


def test_a_pair_needs_its_second_text(show: Show) -> None:
    page = show(FakeDesk(paired=True))
    listed(page, ["one | two", "three"])
    expect(page.locator("#table .notice")).to_contain_text("Pair 2 has no second text")
    cells = listed(page, ["one | two", "three\tfour"])
    expect(cells).to_have_text(["one  ·  two", "three  ·  four"])
    cells.nth(1).get_by_role("button").click()
    expect(page.locator("#pair")).to_have_value("four")
    expect(page.locator("#answer .verdict")).to_be_visible()


def test_an_error_can_be_tried_again(show: Show) -> None:
    page = show(FakeDesk())
    page.route("**/api/batch", lambda route: route.abort())
    listed(page, TEXTS)
    alert = page.locator("#table [role=alert]")
    expect(alert).to_contain_text("The server does not answer.")
    page.unroute("**/api/batch")
    alert.get_by_role("button", name="Try again").click()
    expect(page.locator("#table td:first-child")).to_have_text(TEXTS)
    page.watch.forgive("ERR_FAILED")
