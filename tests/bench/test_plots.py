from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protofit.bench.plot_data import Bar, Line, Panel, RankPlot
from protofit.bench.plot_style import DARK, LIGHT, THEMES, colours, digest, spread
from protofit.bench.plots import draw_bars, draw_curves, draw_prototypes
from protofit.bench.rank_plot import draw_ranks
from protofit.errors import ProtoFitError

mpl = pytest.importorskip("matplotlib")

BARS = [Panel("SST-2", bars=(Bar("pf-i", 100, -1, -2, 0.2), Bar("pf-s", 100, 0.5, 0.1, 0.9)))]
LINES = [
    Panel("QNLI", lines=(
        Line("pfit", "PFit", (100.0, 1000.0), (60.0, 80.0)),
        Line("raw", "Raw", (100.0, 1000.0), (58.0, 79.9)),
        Line("bss", "BSS", (100.0, 1000.0), (50.0, 70.0)),
    ))
]  # fmt: skip
COUNTS = [Panel("MNLI, PFit", lines=(Line("pfit", "2,000", (0.0, 0.5, 1.0), (3.0, 5.0, 4.0)),))]
RANKS = RankPlot(
    ("PFit", "Raw", "IMP"), ("pfit", "raw", "imp"), (1.2, 1.9, 2.9), 0.9, ((0, 1),), 24
)
DRAWN = {
    "bars": lambda out, theme: draw_bars(BARS, out, "bars", theme, title="Bars", unit="points"),
    "curves": lambda out, theme: draw_curves(
        LINES, out, "curves", theme, title="Curves", unit="%", loud=["pfit", "raw"]
    ),
    "counts": lambda out, theme: draw_prototypes(COUNTS, out, "counts", theme, title="K"),
    "ranks": lambda out, theme: draw_ranks(RANKS, out, "ranks", theme, title="Ranks"),
}
LABELS = {
    "bars": ["Bars", "SST-2", "PF-I", "PF-S", "100", "points"],
    "curves": ["Curves", "QNLI", "PFit", "Raw", "1k", "%"],
    "counts": ["K", "MNLI, PFit", "N = 2,000", "50 %"],
    "ranks": ["Ranks", "PFit  1.20", "IMP  2.90", "critical difference 0.90"],
}


@pytest.mark.parametrize("kind", DRAWN)
def test_an_svg_is_the_same_when_drawn_twice_and_holds_its_labels(kind, tmp_path):
    first, second = (DRAWN[kind](tmp_path / run, LIGHT) for run in ("a", "b"))
    text = first[0].read_text()
    assert text == second[0].read_text()
    found = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert [label for label in LABELS[kind] if label not in found] == []
    assert [path.suffix for path in first] == [".svg", ".png"]
    assert first[1].read_bytes() == second[1].read_bytes()
    assert "<dc:date>" not in text


def test_lines_that_are_not_highlighted_have_no_label(tmp_path):
    assert ">BSS<" not in DRAWN["curves"](tmp_path, LIGHT)[0].read_text()


def test_the_dark_theme_is_another_file_with_another_page(tmp_path):
    (light, _), (dark,) = (DRAWN["bars"](tmp_path, theme) for theme in THEMES)
    assert dark.name == "bars-dark.svg"
    assert DARK.page in dark.read_text()
    assert DARK.page not in light.read_text()


def test_the_svg_names_its_data(tmp_path):
    assert f"data {digest(BARS)}" in DRAWN["bars"](tmp_path, LIGHT)[0].read_text()
    assert digest(BARS) != digest(COUNTS)


def test_settings_of_the_process_stay_as_they_were(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # its import would fail
    monkeypatch.setitem(mpl.rcParams, "font.size", 17.0)
    before = {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}
    DRAWN["bars"](tmp_path, LIGHT)
    assert {name: mpl.rcParams[name] for name in before} == before


def test_without_matplotlib_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ProtoFitError, match=r"pip install 'protofit\[plots\]'"):
        DRAWN["bars"](Path(tmp_path), LIGHT)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=6), st.floats(0.1, 1.5))
def test_labels_do_not_touch_keep_their_order_and_stay_inside(places, gap):
    moved = spread(places, gap, 0.0, 10.0)
    order = sorted(range(len(places)), key=places.__getitem__)
    steps = [moved[b] - moved[a] for a, b in pairwise(order)]
    assert all(step >= gap - 1e-9 for step in steps)
    assert min(moved) >= -1e-9
    assert max(moved) <= 10 + 1e-9


def test_labels_with_room_stay_where_they_are():
    assert spread([1.0, 5.0, 3.0], 1.0, 0.0, 10.0) == [1.0, 5.0, 3.0]


def test_every_arm_has_a_colour_and_highlighted_ones_differ():
    loud = ["pfit", "pfit-paper", "raw", "raw-snn", "raw-init", "imp"]
    assert len(set(colours(loud).values())) == len(loud)
