"""Every edit on the page: shown first, kept or not, undone; and what stands in its way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
pytest.importorskip("playwright", reason="needs playwright")

from playwright.sync_api import expect

from helpers.fake_desk import FakeDesk
from helpers.page import answered, focused, press_until

Show = Callable[..., Any]
NAMES = ["billing 3", "billing 0", "delivery 1", "returns 2"]


def button(page: Any, row: int, name: str) -> Any:
    """A button of a card, which is opened for it."""
    card = page.locator(f"#card-{row}")
    if card.locator("details").get_attribute("open") is None:
        card.locator("summary").click()
    return card.get_by_role("button", name=name)


def effect(page: Any) -> Any:
    """Ask for the effect; its box once it is measured."""
    with page.expect_response("**/api/edits/try"):
        page.get_by_role("button", name="Show effect").click()
    return page.locator("#effect")


def keep(page: Any) -> None:
    """Show the effect, keep the edit, and wait for the new version."""
    expect(effect(page).locator("table")).to_be_visible()
    page.get_by_role("button", name="Keep edit").click()
    expect(page.locator("#editor")).to_be_hidden()


def test_an_effect_is_shown_before_anything_is_kept(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    button(page, 0, "Rename").click()
    expect(page.get_by_role("heading", name="Rename “billing 0”")).to_be_visible()
    keeping = page.get_by_role("button", name="Keep edit")
    expect(keeping).to_be_disabled()
    page.fill("#field", "invoices")
    told = effect(page)
    expect(told.locator("caption")).to_have_text("On 10 evaluation texts")
    expect(told.locator("tbody tr")).to_have_text("Accuracy80.0 %90.0 %")
    expect(told).to_contain_text("1 prediction changes:")
    expect(told).to_contain_text("billing → delivery (right now)")
    expect(keeping).to_be_enabled()
    page.fill("#field", "other")  # the effect was of something else
    expect(keeping).to_be_disabled()
    expect(told).to_be_empty()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#editor")).to_be_hidden()
    expect(page.locator("#cards .name")).to_have_text(NAMES)
    assert page.desk.kept == []


def test_rename_keep_and_undo(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    answered(page, "where is it")
    button(page, 0, "Rename").click()
    page.fill("#field", "invoices")
    keep(page)
    expect(page.locator("#card-0 .name")).to_have_text("invoices")
    expect(page.locator("#history .told")).to_have_text("Kept: rename something")
    expect(page.locator("#history summary")).to_have_text("1 edit")
    expect(page.locator("#announce")).to_contain_text("Prediction")
    page.click("#history summary")
    expect(page.locator("#history li")).to_have_text(["rename"])
    page.click("#undo")
    expect(page.locator("#card-0 .name")).to_have_text("billing 0")
    expect(page.locator("#history .told")).to_have_text("The last edit was undone.")
    expect(page.locator("#undo")).to_have_count(0)
    assert focused(page) == "Add prototype"


def test_delete(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    button(page, 3, "Delete").click()
    expect(page.locator("#editor .note")).to_contain_text("no longer takes part")
    keep(page)
    expect(page.locator("#cards .name")).to_have_text(["billing 0", "delivery 1", "returns 2"])
    expect(page.locator("#map .mark")).to_have_count(3)
    expect(page.locator("#facts")).to_contain_text("3 prototypes")
    expect(page.locator("#undo")).to_be_focused()


def test_merge_with_another_of_its_class(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    button(page, 3, "Merge").click()
    expect(page.locator("#field option")).to_have_text(["billing 0"])
    keep(page)
    expect(page.locator("#cards .name")).to_have_text(["billing 3", "delivery 1", "returns 2"])


def test_merge_needs_another_of_its_class(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    button(page, 1, "Merge").click()
    expect(page.locator("#editor")).to_contain_text("no other prototype of its class")
    expect(page.get_by_role("button", name="Show effect")).to_have_count(0)
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#editor")).to_be_hidden()


def test_a_prototype_is_made_from_texts(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    answered(page, "where is it")
    page.get_by_role("button", name="Add prototype").click()
    expect(page.locator("#texts-field")).to_have_value("where is it")  # what was asked
    page.fill("#texts-field", "a first one\n\n  a second one ")
    page.select_option("#label-field", label="delivery")
    with page.expect_request("**/api/edits/try") as sent:
        keep(page)
    assert sent.value.post_data_json["edit"] == {
        "action": "add", "label": "delivery",
        "items": [{"text": "a first one"}, {"text": "a second one"}],
    }  # fmt: skip
    expect(page.locator("#cards .name")).to_contain_text(["made from texts"])


def test_a_class_is_made_from_texts(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    page.get_by_role("button", name="Add class").click()
    page.fill("#label-field", "refunds")
    page.fill("#texts-field", "my money\nback please")
    keep(page)
    expect(page.locator("#facts")).to_contain_text("4 classes")
    expect(page.locator("#legend button")).to_have_text([*FakeDesk().classes, "refunds"])
    expect(page.locator("#class-filter option")).to_contain_text(["refunds"])


def test_what_cannot_be_asked_is_said_at_once(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    page.get_by_role("button", name="Add class").click()
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url))
    for name, texts, said in (
        ("   ", "a text", "Give it a name."),
        ("refunds", " \n ", "Give at least one text."),
        ("refunds", "\n".join("abcdef"), "At most 5 texts at once; there are 6."),
        ("refunds", "x" * 1001, "Text 1 has more than 1,000 characters."),
    ):
        page.fill("#label-field", name)
        page.fill("#texts-field", texts)
        page.get_by_role("button", name="Show effect").click()
        expect(page.locator("#effect [role=alert]")).to_contain_text(said)
        expect(page.get_by_role("button", name="Keep edit")).to_be_disabled()
    assert calls == []


def test_numbers_stay_numbers_as_names_of_classes(show: Show) -> None:
    page = show(FakeDesk(classes=[1, 2, 3]), edits=True)
    page.get_by_role("button", name="Add class").click()
    page.fill("#texts-field", "a text")
    page.fill("#label-field", "four")
    page.get_by_role("button", name="Show effect").click()
    expect(page.locator("#effect")).to_contain_text("whole numbers")
    page.fill("#label-field", "4")
    with page.expect_request("**/api/edits/try") as sent:
        effect(page)
    assert sent.value.post_data_json["edit"]["name"] == 4


def test_escape_and_keys_alone(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    opener = button(page, 0, "Rename")
    opener.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#field")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#editor")).to_be_hidden()
    expect(opener).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("invoices")  # the old name is selected
    page.keyboard.press("Enter")
    expect(page.locator("#effect table")).to_be_visible()
    press_until(page, "Tab", "button.strong")
    page.keyboard.press("Enter")
    expect(page.locator("#card-0 .name")).to_have_text("invoices")


def test_somebody_else_has_edited_meanwhile(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    button(page, 0, "Delete").click()
    page.desk.kept.append("rename")  # another window
    page.desk.before.append((page.desk.cards, page.desk.classes))
    page.desk.cards = [replace(each, name=f"their {each.row}") for each in page.desk.cards]
    told = effect(page)
    expect(told).to_contain_text("The model is at version 1, not 0")
    page.get_by_role("button", name="Load it again").click()
    expect(page.locator("#editor")).to_be_hidden()
    expect(page.locator("#card-0 .name")).to_have_text("their 0")
    expect(page.locator("#history summary")).to_have_text("1 edit")
    button(page, 0, "Delete").click()
    keep(page)
    expect(page.locator("#card-0")).to_have_count(0)
    page.watch.forgive("409")


def test_an_edit_that_cannot_be_kept_says_why(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    button(page, 0, "Delete").click()
    effect(page)
    page.route("**/api/edits/keep", lambda route: route.abort())
    page.get_by_role("button", name="Keep edit").click()
    expect(page.locator("#effect")).to_contain_text("The server does not answer.")
    expect(page.locator("#editor")).to_be_visible()
    page.unroute("**/api/edits/keep")
    keep(page)
    page.watch.forgive("ERR_FAILED")


def test_an_undo_that_fails_says_why(show: Show) -> None:
    page = show(FakeDesk(), edits=True)
    button(page, 0, "Delete").click()
    keep(page)
    page.route("**/api/edits/undo", lambda route: route.abort())
    page.click("#undo")
    expect(page.locator("#editor")).to_contain_text("The server does not answer.")
    page.get_by_role("button", name="Close").click()
    page.unroute("**/api/edits/undo")
    page.click("#undo")
    expect(page.locator("#cards .name")).to_have_text(NAMES)
    page.watch.forgive("ERR_FAILED")


def test_without_an_evaluation_set_the_page_says_so(show: Show) -> None:
    page = show(FakeDesk(judged=False), edits=True)
    button(page, 0, "Delete").click()
    expect(effect(page)).to_contain_text("No evaluation set was given (--eval)")
    expect(page.locator("#effect table")).to_have_count(0)
    page.get_by_role("button", name="Keep edit").click()
    expect(page.locator("#card-0")).to_have_count(0)
