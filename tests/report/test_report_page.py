"""The page as a whole: one safe file within its size, and no text without consent."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from helpers.glances import make_glance, make_values
from protofit.report.page import LIMIT, SECTIONS, in_script, report_page

HOSTILE = (
    "</script><script>alert(1)</script>", "<!-- <script>", "]]>", "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)', "' + alert(1) + '", "&lt;b&gt; & &amp;", "\u2028\u2029",
    "{{ 7 * 7 }} {% raw %}", "\udcff half a character", "\x00\x08", "--\x3e",
)  # fmt: skip
TEXTS = [f"text {i}" for i in range(12)]


class Elements(HTMLParser):
    """Elements, attributes and texts as a browser finds them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self._in = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "script":
            self.scripts[-1] += data
        else:
            self.words.append(data)


@pytest.fixture(scope="module")
def plain() -> str:
    return report_page(make_glance(TEXTS), "tickets", source="test.csv")


def data_of(page: str) -> Any:
    """What the page's script reads."""
    return json.loads(Elements(page).scripts[0])


def test_every_section_is_there_and_reached(plain: str) -> None:
    ids = [attributes.get("id") for _, attributes in Elements(plain).tags]
    links = [attributes.get("href") for tag, attributes in Elements(plain).tags if tag == "a"]
    for name, heading in SECTIONS:
        assert name in ids
        assert f"#{name}" in links
        assert heading in plain
    assert len(ids) - ids.count(None) == len({each for each in ids if each})  # no id twice
    targets = {link[1:] for link in links if link and link.startswith("#")}
    assert targets <= set(ids)


def test_hostile_texts_stay_texts() -> None:
    """Wherever a text stands: title, class, name, card, map, table, source."""
    glance = make_glance([*HOSTILE, *TEXTS], classes=HOSTILE[:3])
    cards = [replace(card, name=HOSTILE[i], decoded=HOSTILE[-1 - i])
             for i, card in enumerate(glance.cards)]  # fmt: skip
    errors = [replace(glance.label_errors[0], text=text) for text in HOSTILE]
    hostile = report_page(replace(glance, cards=cards, label_errors=errors), HOSTILE[0], HOSTILE[3])
    safe = report_page(make_glance(["a"] * 24), "a", source="a")
    found, known = Elements(hostile), Elements(safe)
    assert len(found.scripts) == len(known.scripts)
    assert found.scripts[1:] == known.scripts[1:]  # the same programs, byte for byte
    assert "img" not in {tag for tag, _ in found.tags}
    for _, attributes in found.tags:
        assert not [name for name in attributes if name.startswith("on")]
    data = data_of(hostile)
    assert data["texts"]["text"][:4] == list(HOSTILE[:4])
    assert data["prototypes"][0]["name"] == HOSTILE[0]
    words = "".join(found.words)
    for text in HOSTILE[:9]:
        assert text in words
    hostile.encode()  # half characters were replaced
    assert "�" in html.unescape(hostile) or "?" in words


def test_json_in_a_script_cannot_end_it() -> None:
    text = in_script(list(HOSTILE))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text)[:9] == list(HOSTILE[:9])


def test_only_its_own_scripts_may_run_and_nothing_is_loaded(plain: str) -> None:
    found = Elements(plain)
    policy = next(
        attributes["content"] for tag, attributes in found.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )  # fmt: skip
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    sums = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in found.scripts[1:]
    ]
    assert re.findall(r"'sha256-[^']+'", policy) == sums
    for tag, attributes in found.tags:
        assert "src" not in attributes, tag
        href = attributes.get("href")
        assert href is None or href.startswith("#")
    assert "@import" not in plain.split("<script", 1)[0]
    assert "url(" not in plain.split("<script", 1)[0]


@pytest.mark.parametrize("letters", ["word ", "длинное слово ", "𝄞"])
def test_five_thousand_long_texts_fit(letters: str) -> None:
    texts = [f"{i} " + letters * 200 for i in range(5_000)]
    glance = make_glance(texts, classes=tuple(f"class {i}" for i in range(20)), prototypes=120)
    page = report_page(glance, "many")
    assert len(page.encode()) < LIMIT
    columns = data_of(page)["texts"]
    assert len(columns["text"]) == len(columns["x"]) == 5_000
    assert columns["text"][4_999].startswith("4999 ")


def test_five_thousand_texts_of_three_hundred_classes_fit() -> None:
    names = tuple(f"class_{i}_of_a_long_name" for i in range(300))
    confusion = [[15 if i == j else int(i == j + 1) for j in range(300)] for i in range(300)]
    texts = [f"{i} " + "word " * 60 for i in range(5_000)]
    glance = make_glance(texts, classes=names, prototypes=300, confusion=confusion)
    page = report_page(glance, "many classes")
    assert len(page.encode()) < LIMIT
    assert data_of(page)["texts"]["text"][4_999].startswith("4999 ")


def test_what_was_not_kept_is_not_there() -> None:
    """Points, cards and tables of a folder without texts name rows instead."""
    glance = make_glance(TEXTS)
    points = [replace(p, text=None, source="training") for p in glance.map.points]
    cards = [
        replace(card, decoded=None, confused=[],
                nearest=[replace(near, text=None) for near in card.nearest])
        for card in glance.cards
    ]  # fmt: skip
    bare = replace(
        glance, has_texts=False, cards=cards, map=replace(glance.map, points=points),
        label_errors=[replace(each, text=None) for each in glance.label_errors],
        novel=[replace(each, text=None) for each in glance.novel],
    )  # fmt: skip
    page = report_page(bare, "bare")
    words = "".join(Elements(page).words)
    assert "Row 0 of the training data" in words
    assert "The model folder holds no training texts." in words
    assert data_of(page)["texts"]["text"] == [None] * len(TEXTS)


def test_a_method_without_prototypes_and_a_regression_have_their_page() -> None:
    glance = make_glance(TEXTS)
    none = replace(glance, cards=[], overlaps=[], trace=[], has_index=False, novel=[],
                   label_errors=[], map=replace(glance.map, points=[], shown=0))  # fmt: skip
    words = "".join(Elements(report_page(none, "none")).words)
    assert "This method has no prototypes." in words
    assert "There are neither prototypes nor texts to draw." in words
    values = "".join(Elements(report_page(make_values(TEXTS), "values")).words)
    assert "Predicted and true values" in values
    assert "Most often taken for" not in values
    assert "low to high values" in values
    assert "low to high values" not in words


def test_what_an_edit_added_has_no_row() -> None:
    glance = make_glance(TEXTS)
    near = [replace(glance.cards[0].nearest[0], row=-1, text=None)]
    added = replace(
        glance, cards=[replace(glance.cards[0], nearest=near), *glance.cards[1:]],
        novel=[replace(glance.novel[0], row=-1)],
    )  # fmt: skip
    words = "".join(Elements(report_page(added, "edited")).words)
    assert "Added by an edit" in words
    assert "added by an edit" in words
    assert "row -1" not in words.lower()


def test_the_same_glance_gives_the_same_bytes(plain: str) -> None:
    assert report_page(make_glance(TEXTS), "tickets", source="test.csv") == plain
