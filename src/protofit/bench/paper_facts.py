"""What the paper's printed figures add up to, in sentences."""

from __future__ import annotations

from statistics import median

from protofit.bench.markdown import signed
from protofit.bench.paper_tables import MEANS, PRINTED_GAIN, SIZES, best_baseline, gain

ROUNDING = 0.25  # relative per cent: what rounding of the printed accuracies can move


def cells() -> list[tuple[str, int]]:
    """The 24 printed cells."""
    return [(task, size) for task in MEANS for size in SIZES]


def recomputed_gain(task: str, size: int) -> float:
    """Relative gain over the best printed baseline, in percent."""
    return 100 * gain(task, size) / best_baseline(task, size)[1]


def misprints() -> list[tuple[str, int, float, float]]:
    """Cells whose printed relative gain is not what the printed accuracies give."""
    found = []
    for task, size in cells():
        stated, given = PRINTED_GAIN[task][SIZES.index(size)], recomputed_gain(task, size)
        if abs(stated - given) > ROUNDING:
            found.append((task, size, stated, given))
    return found


def paper_says() -> str:
    """The claim, and its size in points."""
    gains = [gain(task, size) for task, size in cells()]
    best = sum(value > 0 for value in gains)
    top = max(cells(), key=lambda cell: gain(*cell))
    return (
        f"PFit on BERT-base is best in {best} of {len(gains)} cells. Over the best baseline of the "
        f"cell it gains {signed(min(gains))} to {signed(max(gains))} points (most on {top[0]} with "
        f"{top[1]} examples), {signed(median(gains))} in the median; "
        f"{sum(value >= 2 for value in gains)} cells gain 2 points or more."
    )
