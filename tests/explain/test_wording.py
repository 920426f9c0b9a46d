"""An explanation in words: every number in it is one of the explanation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explain.conftest import Opened
from helpers.opened import OTHERS
from protofit.explain.results import Explanation, Neighbour
from protofit.explain.wording import headline, label_of, safe, says, shortened, told


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


def test_a_renamed_prototype_still_tells_its_class(opened: Opened) -> None:
    model = opened()
    row = model.explain("a parcel").evidence[0].row
    model.prototypes.rename(row, "a name of mine")
    found = model.explain("a parcel")
    first = found.evidence[0]
    best = max(range(len(found.classes)), key=lambda i: first.outputs[i])
    said = says(first, found.classes)
    assert said.startswith(f"says {found.classes[best]} {first.outputs[best]:.0%}")
    (line,) = [line for line in str(found).splitlines() if "a name of mine (" in line]
    assert said in line
    tie = replace(first, outputs=[0.6, 0.4, 0.0])
    assert says(tie, ["a", "b", "c"]) == "says a 60%, b 40%"
    assert says(replace(first, outputs=[2.0]), []) == "says 2"


def test_targets_of_neighbours_have_four_digits(opened: Opened) -> None:
    near = opened("pfit", "numbers").explain("a parcel").nearest[0]
    assert label_of(replace(near, label=0.33333334)) == "0.3333"
    assert "added by an edit" in told(opened_with(opened, replace(near, row=-1, text=None)))


def opened_with(opened: Opened, near: Neighbour) -> Explanation:
    """An explanation whose first prototype has one neighbour."""
    found = opened().explain("a parcel", top=1)
    return replace(found, evidence=[replace(found.evidence[0], nearest=[near])])


def test_nothing_that_steers_a_terminal_is_printed(opened: Opened) -> None:
    hostile = "a\x1b[2Jb\x07 \u202ec\x9b31m"
    assert safe(hostile) == "a�[2Jb� �c�31m"
    assert safe("naïve 日本 👩‍👩‍👧 עברית") == "naïve 日本 👩‍👩‍👧 עברית"
    model = opened()
    row = model.explain(hostile).evidence[0].row
    model.prototypes.rename(row, hostile)
    model.prototypes.add_class(hostile, [hostile])
    said = str(model.explain(hostile))
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(said)
