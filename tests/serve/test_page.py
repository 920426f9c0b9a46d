"""One text on the page: typing, pasting, clearing, examples, evidence and every state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
pytest.importorskip("playwright", reason="needs playwright")

from playwright.sync_api import expect

from helpers.fake_desk import CLASSES, FakeDesk, label_of
from helpers.page import SMALL, Held, answered, focused

Show = Callable[..., Any]
ASKED = "**/api/explain"


def verdict(page: Any) -> Any:
    return page.locator("#answer .verdict .label")


def test_it_says_what_the_model_is(show: Show) -> None:
    page = show(FakeDesk())
    expect(page.locator("h1")).to_have_text("fake")
    expect(page).to_have_title("fake · ProtoFit")
    facts = ["3 classes", "4 prototypes", "3 training texts", "method pfit"]
    expect(page.locator("#facts span")).to_have_text(facts)
    expect(page.locator("#card-tools button")).to_have_count(0)  # edits are not allowed


def test_a_typed_text_is_answered_as_it_is_typed(show: Show) -> None:
    page = show(FakeDesk())
    expect(page.locator("#answer .empty")).to_contain_text("Type or paste a text")
    page.locator("#text").press_sequentially("where is it", delay=10)
    expect(verdict(page)).to_have_text(label_of("where is it"))
    expect(page.locator("#answer .chance")).to_have_text("80.0 %")
    expect(page.locator("#answer .classes .name")).to_have_count(3)
    expect(page.locator("#count")).to_have_text("11 characters")
    expect(page.locator("#announce")).to_have_text(f"Prediction: {label_of('where is it')}, 80 %")
    expect(page.locator("#map .you")).to_have_attribute("visibility", "visible")
    page.locator("#text").press_sequentially("?", delay=10)
    expect(verdict(page)).to_have_text(label_of("where is it?"))


def test_a_pasted_text_is_answered(show: Show) -> None:
    page = show(FakeDesk())
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('two lines\\nfrom elsewhere')")
    page.locator("#text").press("Control+V")
    expect(verdict(page)).to_have_text(label_of("two lines\nfrom elsewhere"))
    expect(page.locator("#text")).to_have_value("two lines\nfrom elsewhere")


def test_clear_leaves_nothing_of_the_text(show: Show) -> None:
    page = show(FakeDesk())
    answered(page, "where is it")
    expect(page.locator("#examples")).to_be_hidden()
    page.click("#clear")
    expect(page.locator("#answer .empty")).to_be_visible()
    expect(page.locator("#text")).to_have_value("")
    expect(page.locator("#count")).to_have_text("")
    expect(page.locator("#clear")).to_be_hidden()
    expect(page.locator("#examples")).to_be_visible()
    expect(page.locator("#map .you")).to_have_attribute("visibility", "hidden")
    assert focused(page) == "text"


def test_every_example_can_be_tried(show: Show) -> None:
    page = show(FakeDesk())
    examples = ["an invoice", "a parcel", "a refund"]
    expect(page.locator(".example")).to_have_text(examples)
    for text in examples:
        page.click(f".example >> text={text}")
        expect(page.locator("#text")).to_have_value(text)
        expect(verdict(page)).to_have_text(label_of(text))
        page.click("#clear")


def test_no_example_is_offered_where_the_model_keeps_no_texts(show: Show) -> None:
    page = show(FakeDesk(indexed=False))
    expect(page.locator("#map-note")).to_contain_text("keeps no index")
    expect(page.locator(".example")).to_have_count(0)
    answered(page, "where is it")
    expect(page.locator("#answer .novelty")).to_contain_text("Distance to the nearest prototype")
    expect(page.locator("#answer section[aria-label='Nearest training texts']")).to_have_count(0)


def test_waiting_is_shown_and_the_old_answer_stays_paler(show: Show) -> None:
    page = show(FakeDesk())
    held = Held(page, ASKED)
    page.fill("#text", "ab")
    expect(page.locator("#answer .waiting")).to_contain_text("Waiting for the model")
    expect(page.locator("#answer")).to_have_attribute("aria-busy", "true")
    held.release()
    expect(verdict(page)).to_have_text(label_of("ab"))
    expect(page.locator("#answer")).not_to_have_attribute("aria-busy", "true")
    page.fill("#text", "abc")
    held.until(2)
    expect(page.locator("#answer")).to_have_attribute("aria-busy", "true")
    expect(verdict(page)).to_have_text(label_of("ab"))
    expect(page.locator("#answer .verdict")).to_have_css("opacity", "0.6")
    held.release()
    expect(verdict(page)).to_have_text(label_of("abc"))
    expect(page.locator("#answer .verdict")).to_have_css("opacity", "1")


def test_only_the_last_of_quick_changes_is_shown(show: Show) -> None:
    page = show(FakeDesk())
    given_up: list[str] = []

    def failed(request: Any) -> None:
        given_up.append(request.post_data_json["text"])

    page.on("requestfailed", failed)
    held = Held(page, ASKED)
    for count, text in enumerate(("a", "ab", "abc"), start=1):
        page.fill("#text", text)
        held.until(count)
    held.release()
    expect(verdict(page)).to_have_text(label_of("abc"))
    page.remove_listener("requestfailed", failed)  # the tab is shared
    assert given_up == ["a", "ab"]
    assert page.desk.passes == [[1]]


def test_clearing_while_the_model_works_stays_cleared(show: Show) -> None:
    page = show(FakeDesk())
    Held(page, ASKED)
    page.fill("#text", "ab")
    expect(page.locator("#answer .waiting")).to_be_visible()
    with page.expect_event("requestfailed"):
        page.click("#clear")
    expect(page.locator("#answer .empty")).to_be_visible()
    expect(page.locator("#answer")).not_to_have_attribute("aria-busy", "true")
    page.wait_for_timeout(300)  # as long as the page takes to say that it waits
    expect(page.locator("#answer .empty")).to_be_visible()


def test_a_refusal_has_a_reason_and_can_be_tried_again(show: Show) -> None:
    page = show(FakeDesk())
    page.fill("#text", "fail")
    alert = page.locator("#answer [role=alert]")
    expect(alert).to_contain_text("The server failed on this request. Its terminal says why.")
    expect(page.locator("#map .you")).to_have_attribute("visibility", "hidden")
    with page.expect_response(ASKED):
        alert.get_by_role("button", name="Try again").click()
    expect(alert).to_be_visible()
    answered(page, "it works")
    expect(alert).to_have_count(0)
    page.watch.forgive("500")


def test_a_silent_server_is_said_and_asked_again(show: Show) -> None:
    page = show(FakeDesk())
    answered(page, "before")
    page.route(ASKED, lambda route: route.abort())
    page.fill("#text", "where is it")
    alert = page.locator("#answer [role=alert]")
    expect(alert).to_contain_text("The server does not answer.")
    page.unroute(ASKED)
    alert.get_by_role("button", name="Try again").click()
    expect(verdict(page)).to_have_text(label_of("where is it"))
    assert focused(page) == "answer"
    page.watch.forgive("ERR_FAILED")


def test_a_page_whose_server_sleeps_can_be_begun_again(show: Show) -> None:
    page = show(FakeDesk())
    page.route("**/api/health", lambda route: route.abort())
    page.reload()
    expect(page.locator("h1")).to_have_text("No model")
    page.fill("#text", "typed too early")
    page.unroute("**/api/health")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("h1")).to_have_text("fake")
    expect(verdict(page)).to_have_text(label_of("typed too early"))
    page.watch.forgive("ERR_FAILED")


def test_very_long_texts_are_read_in_part_or_not_sent(show: Show) -> None:
    page = show(FakeDesk())
    answered(page, "🙂" * SMALL.text_chars)
    expect(page.locator("#answer .notice")).to_contain_text("Only its first 128 tokens were read")
    expect(page.locator("#count")).to_have_text("1,000 characters")
    asked = len(page.desk.passes)
    page.fill("#text", "x" * (SMALL.text_chars + 1))
    expect(page.locator("#answer .notice.warn")).to_contain_text("At most 1,000 characters")
    assert len(page.desk.passes) == asked


def test_a_novel_text_is_marked(show: Show) -> None:
    page = show(FakeDesk())
    answered(page, "plain")
    meter = page.get_by_role("meter", name="Novelty")
    expect(meter).to_have_attribute("aria-valuetext", "familiar, 40 of 100")
    expect(page.locator("#answer .notice")).to_have_count(0)
    answered(page, "something strange")
    expect(page.locator("#answer .notice.warn")).to_contain_text("Unlike the training texts")
    expect(meter).to_have_attribute("aria-valuetext", "novel, 99 of 100")


def test_evidence_adds_up_and_opens(show: Show) -> None:
    page = show(FakeDesk())
    answered(page, "ab")
    rows = page.locator("section[aria-labelledby=evidence-title] ol.evidence > li")
    expect(rows.locator("summary .figure")).to_have_text(["26.7 %"] * 3)
    expect(page.locator(".step.total .figure")).to_have_text("80.0 %")
    second = rows.nth(1)
    expect(second.locator(".texts")).to_be_hidden()
    second.locator("summary").click()
    expect(second.locator(".said")).to_contain_text("Importance 33.3 %")
    expect(second.locator(".said")).to_contain_text(f"Without it: {label_of('ab')} 80.0 %")
    expect(second.locator(".texts li")).to_contain_text(["an invoice", "a bill"])
    expect(second).not_to_contain_text("Decoded")
    expect(rows.nth(0)).to_contain_text("Decoded: an invoice twice")
    second.get_by_role("button", name="Show this prototype").click()
    expect(page.locator("#card-1 details")).to_have_attribute("open", "")
    expect(page.locator("#map .mark[aria-pressed=true]")).to_have_attribute(
        "aria-label", "Prototype delivery 1 (delivery)"
    )
    assert focused(page).startswith("delivery 1")
    expect(page.locator("section[aria-labelledby=counter-title]")).to_contain_text("“delivery”")


def test_markup_in_a_text_stays_a_text(show: Show) -> None:
    desk = FakeDesk(classes=[*CLASSES, "<b>bold</b>"])
    page = show(desk)
    text = "<img src=x onerror=\"document.title='broken'\">"
    answered(page, text)
    page.click("#tab-several")
    page.fill("#texts", text)
    expect(page.locator("#table td >> nth=0")).to_have_text(text)
    expect(page.locator("#legend")).to_contain_text("<b>bold</b>")
    assert page.locator("main img, main b:text('bold')").count() == 0
    expect(page).to_have_title("fake · ProtoFit")
