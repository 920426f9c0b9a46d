"""An explanation in words: every number in it is one of the explanation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explain.conftest import Opened
from helpers.opened import OTHERS
from protofit.explain.wording import headline, shortened, told


def test_a_classification_in_words(opened: Opened) -> None:
    found = opened().explain(OTHERS[0][-1], top=2)
    lines = str(found).splitlines()
    assert lines[0] == f"“{shortened(found.text)}”"
    assert lines[1].startswith(f"→ {found.prediction} ({found.probability:.1%})")
    assert f"than {found.novelty:.0%} of the training texts" in lines[1]
    for item in [*found.evidence, found.counter]:
        (line,) = {
            one for one in lines if f"(row {item.row}," in one and f"{item.share:+.4f}" in one
        }
        assert f"z {item.importance:.3f}" in line
        assert f"without it {item.without:.4f}" in line
    assert f"  {found.rest_share:+.4f}  {found.rest_count} other prototypes" in lines
    assert f"for {found.runner_up} instead:" in lines
    assert any(shortened(found.evidence[0].nearest[0].text) in line for line in lines)


def test_what_belongs_to_no_prototype_is_told(opened: Opened) -> None:
    found = opened("prosenet", "numbers").explain("a parcel")
    assert found.base != 0
    assert f"  {found.base:+.4f}  of no prototype" in str(found)
    assert f"→ {found.prediction:.4g}" in str(found)
    assert "instead:" not in str(found)


def test_texts_that_are_not_kept_are_named_by_their_rows(opened: Opened) -> None:
    from helpers.opened import LABELS, TEXTS

    model = opened().index(TEXTS, LABELS)
    found = model.explain("a parcel")
    assert f"row {found.evidence[0].nearest[0].row}" in told(found)
    assert not any(text in told(found) for text in TEXTS)


def test_a_cut_text_is_said_to_be(opened: Opened) -> None:
    found = opened().explain("a parcel")
    assert "cut" not in headline(found)
    assert "cut: longer than the model reads" in headline(replace(found, truncated=True))
    assert "farther" not in headline(replace(found, novelty=None))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (None, ""),
        ("a  b\n c", "a b c"),
        (("a", "b"), "a ‖ b"),
        ("x" * 20, "x" * 9 + "…"),
        ("x" * 10, "x" * 10),
    ],
)
def test_texts_on_one_line(text: str | None, wanted: str) -> None:
    assert shortened(text, 10) == wanted
