"""The report in a real browser: every control used, nothing complained about, nobody called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from helpers.browser import NARROW, PATIENCE, THEMES, WIDE, findings, opened, scrolls_sideways
from helpers.glances import make_glance, make_values
from protofit.explain.results import Glance
from protofit.report.page import report_page

CLASSES = ("billing", "returns", "account")
TEXTS = [f"text {i} about an {'invoice' if i % 4 else 'odd'} order" for i in range(60)]
GLANCE = make_glance(TEXTS, CLASSES)
DOT, DIAMOND = ".layer_0_marks path", ".layer_1_marks path"
Open = Callable[..., AbstractContextManager[Any]]

FREE = """kind => {
  for (const mark of document.querySelectorAll('#map ' + kind)) {
    const box = mark.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
    if (document.elementFromPoint(x, y) === mark) return {...mark.__data__.datum, px: x, py: y};
  }
}"""  # a mark that no other covers, and where it is
DRAWN = """() => [...document.querySelectorAll('#map .layer_0_marks path')]
  .map(mark => mark.__data__.datum).filter(datum => datum.on === 1).map(datum => datum.i)
  .sort((a, b) => a - b)"""

CHOSEN = "document.getElementById('f-proto').value"
TIP_HAS = "said => document.getElementById('tip').innerText.includes(said)"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    kinds: dict[str, Glance] = {
        "classes": GLANCE,
        "values": make_values(TEXTS),
        "many": make_glance(TEXTS * 10, tuple(f"class {i}" for i in range(30)), prototypes=90),
        "hostile": make_glance(["</script><script>alert(1)</script>", *TEXTS]),
    }
    for name, glance in kinds.items():
        page = report_page(glance, f"{name} model", source="test.csv")
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture
def report(browser: Any, home: Path) -> Open:
    """`report(name, width=…, theme=…)`: the page with its charts drawn."""
    from contextlib import contextmanager

    @contextmanager
    def look(name: str = "classes", **more: Any) -> Iterator[Any]:
        uri = (home / f"{name}.html").as_uri()
        with opened(browser, uri, uri, **more) as page:
            page.wait_for_selector("html[data-drawn]")
            yield page

    return look


def until(page: Any, script: str, wanted: Any, argument: Any = None) -> None:
    """Wait for a value; the page's policy forbids what Playwright's own wait evaluates."""
    found = page.evaluate(script, argument)
    for _ in range(PATIENCE // 25):
        if found == wanted:
            return
        page.wait_for_timeout(25)
        found = page.evaluate(script, argument)
    raise AssertionError(f"{found!r}, not {wanted!r}")


def members(row: int) -> list[int]:
    """Texts of a prototype, by the glance."""
    return [i for i, point in enumerate(GLANCE.map.points) if point.prototype == row]


def listed(page: Any) -> list[str]:
    """The first line of every text beside the map."""
    return [words.split("\n")[0] for words in page.locator("#detail ol li").all_inner_texts()]


def to_map(page: Any) -> None:
    """Bring the map into the window."""
    page.locator("#map .chart").evaluate("each => each.scrollIntoView({block: 'center'})")


def test_hovering_the_map_shows_the_text_and_its_label(report: Open) -> None:
    with report() as page:
        to_map(page)
        assert page.locator("#tip").is_hidden()
        dot = page.evaluate(FREE, DOT)
        page.mouse.move(dot["px"], dot["py"])
        page.wait_for_selector("#tip:not([hidden])")
        assert TEXTS[dot["i"]] in page.locator("#tip").inner_text()
        assert GLANCE.map.points[dot["i"]].label in page.locator("#tip").inner_text()
        diamond = page.evaluate(FREE, DIAMOND)
        page.mouse.move(diamond["px"], diamond["py"])
        until(page, TIP_HAS, True, "Click")
        assert GLANCE.cards[diamond["row"]].name in page.locator("#tip").inner_text()


def test_a_click_on_a_prototype_filters_its_neighbourhood(report: Open) -> None:
    with report() as page:
        to_map(page)
        assert len(page.evaluate(DRAWN)) == len(TEXTS)
        diamond = page.evaluate(FREE, DIAMOND)
        row = diamond["row"]
        page.mouse.click(diamond["px"], diamond["py"])
        until(page, DRAWN, members(row))
        assert page.locator("#f-proto").input_value() == str(row)
        assert page.locator("#detail h3").inner_text() == GLANCE.cards[row].name
        assert sorted(listed(page)) == sorted(TEXTS[i] for i in members(row))
        page.locator("#detail a", has_text="Open its card").click()
        assert page.evaluate("location.hash") == f"#p{row}"
        to_map(page)
        diamond = page.evaluate(FREE, DIAMOND)
        assert diamond["row"] == row or page.evaluate(DRAWN) == members(row)
        page.locator("#f-clear").click()
        until(page, DRAWN, [*range(len(TEXTS))])
        assert page.locator("#f-clear").is_disabled()
        assert page.evaluate("document.activeElement.id") == "f-proto"


def test_a_second_click_and_a_click_beside_it_let_go(report: Open) -> None:
    with report() as page:
        to_map(page)
        for again in (True, False):
            diamond = page.evaluate(FREE, DIAMOND)
            page.mouse.click(diamond["px"], diamond["py"])
            until(page, CHOSEN, str(diamond["row"]))
            box = page.locator("#map .chart svg").bounding_box()
            away = (diamond["px"], diamond["py"]) if again else (box["x"] + 40, box["y"] + 12)
            page.mouse.click(*away)
            until(page, CHOSEN, "")


def test_filters_of_the_map_work_together(report: Open) -> None:
    with report() as page:
        page.locator("#f-class").select_option(label="returns")
        wanted = {i for i, point in enumerate(GLANCE.map.points) if point.label == "returns"}
        until(page, DRAWN, sorted(wanted))
        assert f"{len(wanted)} of {len(TEXTS)} texts" in page.locator("#detail").inner_text()
        page.locator("#f-words").fill("ODD")
        both = {i for i in wanted if "odd" in TEXTS[i]}
        until(page, DRAWN, sorted(both))
        first = "x => document.querySelector('#map .layer_0_marks path').__data__.x !== x"
        before = page.evaluate("document.querySelector('#map .layer_0_marks path').__data__.x")
        page.locator("#f-zoom").check()
        until(page, first, True, before)
        page.locator("#f-words").fill("nobody says this")
        until(page, DRAWN, [])
        assert listed(page) == []
        assert "0 of 60 texts" in page.locator("#detail").inner_text()
        page.locator("#f-words").press("Enter")  # sends no form
        assert "?" not in page.url


def test_the_keyboard_reaches_what_the_pointer_reaches(report: Open) -> None:
    with report() as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#overview"
        page.locator("#f-proto").focus()
        page.keyboard.press("ArrowDown")
        page.wait_for_selector("#detail ol li")
        row = int(page.locator("#f-proto").input_value())
        assert sorted(listed(page)) == sorted(TEXTS[i] for i in members(row))
        page.locator("#detail ol").focus()
        page.keyboard.press("PageDown")
        page.locator("#f-clear").focus()
        page.keyboard.press("Enter")
        page.locator("#detail .shortcuts button").nth(2).focus()
        page.keyboard.press("Enter")
        assert page.locator("#detail h3").inner_text() == GLANCE.cards[2].name
        page.locator("[data-show='1']").focus()
        page.keyboard.press("Enter")
        assert page.locator("#detail h3").inner_text() == GLANCE.cards[1].name
        page.locator("#p0 details summary").focus()
        page.keyboard.press("Enter")
        assert page.locator("#p0 details").get_attribute("open") is not None


def test_cards_are_ordered_and_filtered(report: Open) -> None:
    with report() as page:
        rows = "() => [...document.querySelectorAll('#cards > :not([hidden])')].map(c => c.id)"
        page.locator("#s-order").select_option("support")
        assert page.evaluate(rows) == ["p5", "p4", "p3", "p2", "p1", "p0"]
        page.locator("#s-order").select_option("age")
        assert page.evaluate(rows) == ["p0", "p1", "p2", "p3", "p4", "p5"]
        page.locator("#s-order").select_option("name")
        assert page.evaluate(rows) == ["p2", "p5", "p0", "p3", "p1", "p4"]
        page.locator("#s-class").select_option("returns")
        assert page.evaluate(rows) == ["p1", "p4"]
        page.locator("#s-words").fill("WORD4")
        assert page.evaluate(rows) == ["p4"]
        assert page.locator("#s-count").inner_text() == "1 of 6 prototypes"
        page.locator("#s-order").select_option("polarity")
        assert page.evaluate(rows) == ["p4"]
        page.locator("#overlaps a").first.click()  # to a card that the filter hides
        until(page, rows, ["p3", "p0", "p4", "p1", "p5", "p2"])  # by class again
        assert page.locator("#p0").is_visible()


def test_the_navigation_says_where_the_reader_is(report: Open) -> None:
    with report() as page:
        page.locator("nav.toc a", has_text="Growth").click()
        until(page, "document.querySelector('nav.toc a[aria-current]')?.hash", "#growth")
        page.locator("#quality summary").first.click()
        assert page.locator("#quality table").first.is_visible()


def test_charts_answer_the_pointer(report: Open) -> None:
    with report() as page:
        for name, mark, words in (
            ("confusion", ".mark-rect path", "true: billing"),
            ("calibration", ".mark-symbol path", "confidence: 0.30"),
            ("births", ".layer_0_marks path", "what: born"),
        ):
            page.locator(f"[data-chart={name}] svg {mark}").first.hover(force=True)
            until(page, TIP_HAS, True, words)


@pytest.mark.parametrize(
    ("width", "theme"),
    [(NARROW, "light"), (WIDE, "dark"), pytest.param(NARROW, "dark", marks=pytest.mark.slow),
     pytest.param(WIDE, "light", marks=pytest.mark.slow)],
)  # fmt: skip
def test_it_is_accessible_and_fits(report: Open, width: int, theme: str) -> None:
    with report(width=width, theme=theme) as page:
        assert findings(page) == []
        assert not scrolls_sideways(page)
        charts = page.locator("[data-chart]").all()
        assert all(each.get_attribute("role") == "img" for each in charts)
        assert len({each.get_attribute("aria-label") for each in charts}) == len(charts)
        ends = page.evaluate(
            "[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().right)"
        )
        assert len(ends) == 6 + len(GLANCE.cards)
        assert max(ends) <= width


def test_dark_is_dark_and_charts_follow(report: Open) -> None:
    light = "rgb(251, 250, 247)"
    with report(theme="light") as page:
        paper = "getComputedStyle(document.body).backgroundColor"
        line = (
            "getComputedStyle(document.querySelector('[data-chart=growth] .mark-line path')).stroke"
        )
        before = page.evaluate(line)
        assert page.evaluate(paper) == light
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(paper) != light
        assert page.evaluate(line) != before


def test_a_narrow_window_has_a_lower_map(report: Open) -> None:
    with report() as page:
        height = "document.querySelector('#map svg').getBoundingClientRect().height"
        tall = page.evaluate(height)
        page.set_viewport_size({"width": NARROW, "height": 800})
        page.wait_for_selector("html[data-drawn='2']")
        assert page.evaluate(height) < tall
        names = "#map .layer_2_marks text"
        assert page.locator(names).count() == 0  # no room for all of them
        page.locator("#f-proto").select_option("1")
        page.wait_for_selector(names, state="attached")
        assert page.locator(names).all_text_contents() == [GLANCE.cards[1].name]


def test_in_print_everything_is_open_and_no_control_is_left(report: Open) -> None:
    with report(theme="dark") as page:
        page.locator("#s-class").select_option("returns")
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        for hidden in ("nav.toc", "#filters", "#sorting", "#detail", ".card-foot"):
            assert page.locator(hidden).first.is_hidden(), hidden
        assert page.locator("article.proto").count() == page.locator(
            "article.proto:visible"
        ).count()  # fmt: skip
        for details in page.locator("details").all():
            assert details.locator("> :not(summary)").first.is_visible()


def test_on_paper_charts_are_as_wide_as_paper_and_then_as_before(report: Open) -> None:
    widths = "[...document.querySelectorAll('.chart svg')].map(s => s.viewBox.baseVal.width)"
    with report() as page:
        before = page.evaluate(widths)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert max(before) > 1000 > 700 > max(page.evaluate(widths))
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        until(page, widths, before)
        assert page.pdf().startswith(b"%PDF")


def test_a_card_shows_its_importance(report: Open) -> None:
    with report() as page:
        line = page.locator("#p1 .spark svg .mark-line path")
        assert len(line.get_attribute("d").split("L")) == len(GLANCE.cards[1].history)
        said = f"Importance of {GLANCE.cards[1].name} over training"
        assert page.locator("#p1 .spark").get_attribute("aria-label") == said


def test_without_scripts_the_tables_and_cards_are_read(browser: Any, home: Path) -> None:
    uri = (home / "classes.html").as_uri()
    with opened(browser, uri, uri, java_script_enabled=False) as page:
        assert page.locator("noscript").first.is_visible()
        assert page.locator("article.proto:visible").count() == 6


def test_hostile_texts_run_nothing(report: Open) -> None:
    with report("hostile") as page:
        page.locator("#f-proto").select_option("0")
        assert listed(page).count("</script><script>alert(1)</script>") == 1


@pytest.mark.parametrize("name", ["values", "many"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.slow
def test_other_kinds_of_reports(report: Open, name: str, width: int) -> None:
    for theme in THEMES:
        with report(name, width=width, theme=theme) as page:
            assert findings(page) == []
            assert not scrolls_sideways(page)
            page.locator("#f-proto").select_option("1")
            assert re.match(r"\d+ of \d+ texts in its", page.locator("#detail .note").inner_text())
            page.locator("[data-show='0']").click()
            to_map(page)
            dot = page.evaluate(FREE, DOT)
            page.mouse.move(dot["px"], dot["py"])
            page.wait_for_selector("#tip:not([hidden])")
