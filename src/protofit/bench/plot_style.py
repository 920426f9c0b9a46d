"""How the plots look and how they are written: the same bytes for the same data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protofit.errors import ProtoFitError

SALT = "protofit"  # of the ids in an SVG, which are random otherwise
DOTS_PER_INCH = 160
COLOURS = {  # told apart with any common colour blindness (Okabe and Ito's palette)
    "pfit": "#d55e00",
    "pfit-paper": "#0072b2",
    "raw": "#009e73",
    "raw-snn": "#cc79a7",
    "raw-init": "#56b4e9",
    "probe": "#e69f00",
    "pf-i": "#56b4e9",
    "pf-s": "#d55e00",
    "pf-d": "#009e73",
    "pf-f": "#cc79a7",
    "pfit-sc": "#0072b2",
}
SPARE = ("#e69f00", "#56b4e9", "#cc79a7", "#009e73")  # for arms without a colour of their own


@dataclass(frozen=True)
class Theme:
    """Colours of everything that is not data."""

    name: str
    page: str  # behind everything
    ink: str  # text and zero lines
    quiet: str  # axes, ticks, captions
    faint: str  # grid and lines that are not highlighted


LIGHT = Theme("light", page="#ffffff", ink="#1f2328", quiet="#59636e", faint="#d1d9e0")
DARK = Theme("dark", page="#0d1117", ink="#f0f6fc", quiet="#9198a1", faint="#3d444d")
THEMES = (LIGHT, DARK)


@contextmanager
def styled(theme: Theme) -> Iterator[Any]:
    """Settings of matplotlib for one figure, gone afterwards; yields its Figure class."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ProtoFitError(
            "plots need matplotlib", fix="Install it with: pip install 'protofit[plots]'"
        ) from error
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_settings(theme))
        yield Figure


def _settings(theme: Theme) -> dict[str, Any]:
    return {
        "svg.hashsalt": SALT,
        "svg.fonttype": "none",  # text stays text: small files, searchable labels
        "font.family": "DejaVu Sans",  # comes with matplotlib
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titleweight": "normal",
        "axes.titlelocation": "left",
        "axes.titlepad": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": theme.quiet,
        "axes.facecolor": theme.page,
        "axes.labelcolor": theme.quiet,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "figure.facecolor": theme.page,
        "savefig.facecolor": theme.page,
        "grid.color": theme.faint,
        "grid.linewidth": 0.6,
        "text.color": theme.ink,
        "xtick.color": theme.quiet,
        "ytick.color": theme.quiet,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "lines.linewidth": 1.8,
        "lines.solid_capstyle": "round",
    }


def save(figure: Any, folder: Path, name: str, theme: Theme, data: object) -> list[Path]:
    """SVG in each theme, PNG in the light one; the SVG names the data it shows by their digest."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = name if theme is LIGHT else f"{name}-{theme.name}"
    written = [folder / f"{stem}.svg"]
    note = {"Date": None, "Creator": None, "Description": f"data {digest(data)}"}
    figure.savefig(written[0], format="svg", metadata=note)
    if theme is LIGHT:
        written.append(folder / f"{name}.png")
        figure.savefig(written[1], format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return written


def digest(data: object) -> str:
    """16 hex digits of what is drawn, independent of the version of matplotlib."""
    return hashlib.sha256(repr(data).encode()).hexdigest()[:16]


def colours(arms: list[str]) -> dict[str, str]:
    """A colour per arm: its own, or a spare one that is not taken."""
    taken = {COLOURS[arm] for arm in arms if arm in COLOURS}
    spare = iter([colour for colour in SPARE if colour not in taken])
    return {arm: COLOURS.get(arm) or next(spare, LIGHT.quiet) for arm in arms}


def spread(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels apart to at least `gap`, in their order, near their places, in [low, high]."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    blocks: list[list[int]] = []
    for index in order:
        blocks.append([index])
        while True:
            _lay_out(blocks[-1], places, moved, gap, (low, high))
            if len(blocks) < 2 or moved[blocks[-1][0]] - moved[blocks[-2][-1]] >= gap - 1e-12:
                break
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return moved


def _lay_out(
    block: list[int], places: list[float], moved: list[float], gap: float,
    bounds: tuple[float, float],
) -> None:  # fmt: skip
    """Evenly around the mean of the places, pushed into the bounds."""
    half = gap * (len(block) - 1) / 2
    middle = sum(places[index] for index in block) / len(block)
    middle = max(min(middle, bounds[1] - half), bounds[0] + half)
    for rank, index in enumerate(block):
        moved[index] = middle - half + gap * rank
