"""Reports of trained models: every method with prototypes, single texts, pairs and numbers."""

from __future__ import annotations

import copy
import html
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from helpers.opened import CLASSES, METHODS, OTHERS, data_of
from protofit.report import panels
from protofit.report.library import compiled
from protofit.report.page import report_page
from protofit.report.wording import said
from report.conftest import Fitted

HELD = OTHERS[0][18:], OTHERS[1][18:]
CASES = [*((method, "texts") for method in METHODS), ("pfit", "pairs"), ("pfit", "numbers"),
         ("dpmeans", "pairs"), ("protonet", "numbers")]  # fmt: skip


def held_out(kind: str) -> tuple[list[Any], list[Any]]:
    """Texts that the model was not trained on, with labels."""
    texts, labels = HELD
    if kind == "pairs":
        return list(zip(texts, reversed(texts), strict=True)), labels
    return texts, labels if kind == "texts" else [float(i % 3) for i in range(len(texts))]


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_the_page_of_a_model(trained: Fitted, method: str, kind: str) -> None:
    glance = trained(method, kind).glance(*held_out(kind))
    page = report_page(glance, f"{method} {kind}", source="held.csv")
    words = html.unescape(page)
    for card in glance.cards:
        assert f'id="p{card.row}"' in page
        assert f">{card.name}</h3>" in words
    for text in held_out(kind)[0]:
        assert json.dumps(said(text), ensure_ascii=False)[:60] in words
    plot = panels.prototype_map(glance)
    assert plot is not None
    drawn = [*panels.quality(glance), *panels.growth(glance), plot]
    assert {"map", "scatter" if kind == "numbers" else "confusion"} <= {each.id for each in drawn}
    for each in drawn:
        assert compiled(each.spec)["marks"]
    for name in CLASSES:
        assert (f"</span>{name}</span>" in page) == (kind != "numbers")


@pytest.mark.parametrize("method", METHODS)
def test_growth_ends_at_the_number_there_is_or_says_why_not(trained: Fitted, method: str) -> None:
    """Methods that cluster once more after the last step have another number than at that step."""
    glance = trained(method).glance()
    growth = next((each for each in panels.growth(glance) if each.id == "growth"), None)
    assert (growth is None) == (not glance.trace)
    if growth is not None:
        last = growth.spec["data"]["values"][-1]["K"]
        assert (f"Now {len(glance.cards)}" in growth.note) == (last != len(glance.cards))


def test_without_consent_the_page_of_a_model_holds_no_training_text(trained: Fitted) -> None:
    """Neither of the index nor, where other texts are given, anything but those."""
    model = copy.deepcopy(trained())
    bundle = model.bundle_
    bundle.index = replace(bundle.index, texts=None)
    texts, _ = data_of("texts")
    whole = {word for text in texts for word in _words(text)}
    other = {word for text in HELD[0] for word in _words(text)}
    for page in (report_page(model.glance(), "a"), report_page(model.glance(*HELD), "b")):
        said_there = _words(
            re.sub(r"<script>.*?</script>|<style>.*?</style>", "", page, flags=re.S)
        )
        for text in texts:
            assert text not in html.unescape(page)
        alone = whole - other - _words(report_words())
        assert len(alone) > 20
        assert not alone & said_there
    assert texts[0] in html.unescape(report_page(trained().glance(), "a"))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", text.lower()))


def report_words() -> str:
    """All that a report says whatever the texts are."""
    from helpers.glances import make_glance

    page = report_page(make_glance(["a"] * 12, CLASSES), "a")
    return re.sub(r"<script>.*?</script>|<style>.*?</style>", "", page, flags=re.S)
