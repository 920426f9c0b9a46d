"""The figures the paper prints (Jin et al., AAAI-23), as data: means and deviations in percent.

Encoder BERT-base, five seeds, development sets of GLUE. PRINTED_GAIN is the improvement of PFit
over the best baseline as printed: relative, in percent.
"""

from __future__ import annotations

from dataclasses import dataclass

SIZES = (100, 200, 500, 1000, 2000, 5000)
ARMS = ("dpmeans", "protonet", "prosenet", "imp", "bss", "vibert", "raw", "pfit-paper")
PFIT = "pfit-paper"  # the arm that stands for the paper's PFit

Row = tuple[float, ...]


@dataclass(frozen=True)
class Printed:
    """One printed cell."""

    mean: float  # accuracy in percent
    sd: float  # over five seeds


# a row per size, a column per arm
# fmt: off
MEANS: dict[str, tuple[Row, ...]] = {
    "MNLI-m": (
        (38.6, 35.5, 36.3, 36.7, 36.5, 39.3, 33.4, 40.6),
        (39.1, 37.5, 38.6, 41.2, 40.0, 40.1, 35.3, 42.4),
        (41.4, 43.2, 44.7, 47.5, 50.1, 49.2, 38.5, 52.9),
        (53.0, 50.5, 52.2, 55.3, 57.4, 57.1, 49.0, 58.5),
        (62.5, 59.4, 59.0, 66.0, 65.6, 60.6, 59.6, 67.0),
        (67.8, 67.4, 66.9, 71.1, 72.0, 71.4, 66.3, 72.3),
    ),
    "MNLI-mm": (
        (38.8, 36.4, 36.8, 37.2, 35.2, 36.8, 34.1, 39.6),
        (39.5, 39.4, 38.6, 41.0, 41.5, 39.3, 35.7, 43.2),
        (46.4, 47.6, 40.7, 49.0, 49.5, 46.4, 45.9, 54.9),
        (53.6, 55.4, 52.2, 54.8, 56.1, 48.6, 50.1, 61.5),
        (64.3, 62.4, 61.0, 67.1, 64.5, 60.9, 58.6, 67.8),
        (69.8, 70.0, 68.9, 71.5, 71.7, 68.3, 69.2, 71.9),
    ),
    "SST-2": (
        (69.0, 74.9, 72.8, 74.7, 66.4, 67.5, 64.7, 78.7),
        (69.6, 72.9, 75.5, 80.0, 68.6, 68.7, 67.1, 81.9),
        (73.9, 80.7, 80.6, 82.3, 69.8, 74.4, 77.7, 84.6),
        (84.6, 84.8, 85.2, 84.8, 84.3, 85.6, 86.0, 86.4),
        (87.2, 85.2, 86.8, 87.5, 87.9, 87.4, 87.9, 88.5),
        (88.3, 87.0, 88.2, 89.6, 89.4, 89.1, 89.6, 90.7),
    ),
    "QNLI": (
        (56.0, 64.8, 63.2, 61.2, 59.0, 60.3, 56.4, 67.0),
        (67.2, 67.4, 69.0, 71.0, 69.2, 69.2, 62.1, 73.7),
        (71.1, 76.6, 77.0, 77.0, 75.8, 72.7, 68.4, 78.1),
        (78.6, 80.2, 78.3, 78.0, 77.6, 75.9, 73.3, 81.3),
        (81.6, 80.7, 81.4, 81.3, 82.1, 80.9, 77.6, 82.6),
        (82.7, 82.9, 84.3, 84.3, 84.5, 84.4, 82.5, 84.9),
    ),
}
SDS: dict[str, tuple[Row, ...]] = {
    "MNLI-m": (
        (2.1, 0.6, 1.2, 0.7, 0.9, 1.1, 0.8, 2.2),
        (1.3, 1.6, 0.4, 1.3, 0.7, 0.4, 0.9, 1.9),
        (1.5, 0.5, 0.8, 0.8, 0.5, 0.7, 0.8, 1.8),
        (1.0, 0.3, 0.4, 0.4, 0.4, 0.3, 0.7, 1.0),
        (0.7, 0.7, 0.2, 0.3, 0.5, 0.3, 0.3, 0.7),
        (0.5, 0.4, 0.1, 0.2, 0.1, 0.3, 0.1, 0.6),
    ),
    "MNLI-mm": (
        (0.7, 0.4, 1.2, 1.1, 0.7, 1.8, 0.7, 2.1),
        (0.5, 1.2, 1.2, 0.2, 0.7, 0.8, 0.2, 1.8),
        (0.4, 1.1, 1.3, 2.2, 2.0, 1.4, 2.1, 1.0),
        (0.6, 0.3, 0.4, 0.3, 0.2, 0.4, 0.3, 0.6),
        (0.8, 0.3, 0.3, 0.2, 0.5, 0.3, 0.2, 0.2),
        (0.3, 0.1, 0.2, 0.4, 0.3, 0.2, 0.3, 0.1),
    ),
    "SST-2": (
        (0.7, 1.2, 0.9, 0.5, 0.7, 1.1, 0.9, 2.2),
        (2.5, 0.6, 1.2, 1.3, 0.4, 0.6, 1.2, 1.1),
        (0.6, 0.9, 0.6, 0.6, 0.7, 0.1, 0.6, 0.9),
        (0.6, 0.4, 0.6, 0.7, 0.6, 0.3, 0.3, 0.6),
        (0.3, 0.4, 0.5, 0.4, 0.4, 0.1, 0.6, 0.2),
        (0.5, 0.3, 0.1, 0.2, 0.1, 0.3, 0.2, 0.2),
    ),
    "QNLI": (
        (2.7, 0.4, 1.7, 2.0, 1.3, 1.2, 1.4, 2.4),
        (0.4, 1.3, 1.5, 1.2, 0.5, 1.3, 1.6, 1.0),
        (0.2, 0.5, 1.1, 0.6, 0.5, 0.1, 0.2, 0.3),
        (0.1, 0.4, 0.5, 0.2, 0.3, 0.2, 0.3, 0.2),
        (0.2, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1, 0.3),
        (0.1, 0.2, 0.1, 0.3, 0.1, 0.2, 0.1, 0.3),
    ),
}
PRINTED_GAIN: dict[str, Row] = {
    "MNLI-m": (3.2, 2.8, 5.6, 1.9, 1.5, 0.5),
    "MNLI-mm": (1.8, 4.0, 11.1, 9.6, 1.1, 0.4),
    "SST-2": (5.1, 2.4, 2.8, 1.0, 0.6, 1.2),
    "QNLI": (3.4, 3.7, 1.3, 3.8, 0.6, 0.4),
}
# fmt: on

# Table 3: minutes per epoch on the full training sets, batch size 16
MINUTES: dict[str, dict[str, int]] = {
    "imp": {"SST-2": 523, "QNLI": 816, "MNLI": 3139},
    "raw": {"SST-2": 18, "QNLI": 28, "MNLI": 105},
    PFIT: {"SST-2": 18, "QNLI": 29, "MNLI": 109},
}


def printed(task: str, size: int, arm: str) -> Printed | None:
    """The paper's cell, or None where it prints none; `pfit` is read as the paper's PFit."""
    arm = PFIT if arm == "pfit" else arm
    if task not in MEANS or size not in SIZES or arm not in ARMS:
        return None
    row, column = SIZES.index(size), ARMS.index(arm)
    return Printed(MEANS[task][row][column], SDS[task][row][column])


def best_baseline(task: str, size: int) -> tuple[str, float]:
    """The best of the seven printed baselines of a cell, recomputed from the printed means."""
    row = MEANS[task][SIZES.index(size)][:-1]
    best = max(range(len(row)), key=row.__getitem__)
    return ARMS[best], row[best]


def gain(task: str, size: int) -> float:
    """PFit minus the best printed baseline, in points (the printed column is relative)."""
    return round(MEANS[task][SIZES.index(size)][-1] - best_baseline(task, size)[1], 1)
