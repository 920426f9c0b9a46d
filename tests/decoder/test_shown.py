"""How a report speaks of a decoder, and that it is silent without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.glances import make_glance

GLANCE = make_glance([f"text {i}" for i in range(12)])
DECODER = {"verdict": "The decoder is weak here: it says nothing."}


def test_the_verdict_stands_where_the_decoded_texts_stand() -> None:
    from protofit.report.view import cards

    assert "decoder" not in cards(GLANCE)["cards_lead"].lower()
    lead = cards(replace(GLANCE, decoder=DECODER))["cards_lead"]
    assert lead.endswith("no one wrote them. " + DECODER["verdict"])


def test_a_folder_without_texts_may_hold_them_in_its_decoder() -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("vl_convert")
    from protofit.report.page import _notes

    bare = replace(GLANCE, has_texts=False)
    assert _notes(bare, None)[-1] == "The model folder holds no training texts."
    assert "decoder that can repeat" in _notes(replace(bare, decoder=DECODER), None)[-1]
