"""Write docs/interpretability.md from its template and the committed records.

    python benchmarks/interpretability_page.py

tests/test_interpretability_page.py fails when the committed page is not what this script gives.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "records" / "interpretability"
TEMPLATE = ROOT / "docs" / "interpretability.template.md"
PAGE = ROOT / "docs" / "interpretability.md"
MISSING = "—"
PAPER = {"positive": 91, "negative": 87}
Cells = dict[str, Any]


def read(name: str, folder: Path = RECORDS) -> Cells:
    """Cells of a record; none where it is not there."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["cells"] if path.is_file() else {}


def grouped(cells: Cells) -> dict[tuple[str, ...], list[Any]]:
    """Cells of the same key but for its last part, the seed."""
    groups: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for key, cell in cells.items():
        groups[tuple(key.split("|")[:-1])].append(cell)
    return dict(groups)


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    marks = [":--" if i < left else "--:" for i in range(len(header))]
    lines = [header, marks, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(values: Iterable[float | None], digits: int = 1) -> str:
    """Mean ± standard deviation over seeds, in percent."""
    known = [100 * value for value in values if value is not None]
    if not known:
        return MISSING
    spread = f" ± {np.std(known, ddof=1):.{digits}f}" if len(known) > 1 else ""
    return f"{np.mean(known):.{digits}f}{spread}".replace("-", "−")


def spread(values: Sequence[float]) -> str:
    """`7`, or `5–9` over seeds."""
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


def at(cells: list[Any], *path: str) -> list[Any]:
    """The values under a path in every cell."""
    found = cells
    for name in path:
        found = [cell[name] for cell in found]
    return found


def inter_class(cells: Cells) -> str:
    header = ["setting", "seeds", "K (+ / −)", "positive, training", "negative, training",
              "positive, held out", "negative, held out", "accuracy"]  # fmt: skip
    rows = [["the paper (BERT-base)", MISSING, MISSING, "91", "87", *[MISSING] * 3]]
    for (encoder, arm, size), group in grouped(cells).items():
        title = f"{encoder_name(encoder)}, {int(size):,} examples, {quoted(arm)}"
        rows.append([title, str(len(group)), *class_shares(group)])
        replaced = at(group, "replaced")
        rows.append(["… each put onto a text of its class", "", *class_shares(replaced)])
    return grid(header, rows)


def class_shares(group: list[Any]) -> list[str]:
    """K, shares by split and class, accuracy."""
    counts = [spread(at(group, c, "prototypes")) for c in ("positive", "negative")]
    found = [percent(at(group, c, part)) for part in ("train", "held")
             for c in ("positive", "negative")]  # fmt: skip
    return [" / ".join(counts), *found, percent(at(group, "accuracy"))]


def quoted(arm: str) -> str:
    """A preset as code; a setting on top of one behind it."""
    preset, comma, more = arm.partition(",")
    return f"`{preset}`{comma}{more}"


def encoder_name(name: str) -> str:
    return "MiniLM-L6" if name == "embedded" else name


def intra_class(cells: Cells, data: str, split: str) -> str:
    header = ["setting", "seeds", "K", "coarse accuracy", "prototypes", "own class",
              "k-means, frozen", "k-means, tuned", "classes alone", "most"]  # fmt: skip
    rows = []
    for (name, arm), group in grouped(cells).items():
        if name != data:
            continue
        both = []
        for arm_name in ("prototypes", "own_class", "kmeans_frozen", "kmeans_tuned", "classes"):
            figures = [np.mean(at(group, split, arm_name, m)) for m in ("purity", "nmi", "ami")]
            both.append(" / ".join(f"{100 * value:.0f}" for value in figures))
        rows.append([
            quoted(arm),
            str(len(group)),
            spread(at(group, "K")),
            percent(at(group, "coarse_accuracy")),
            *both,
            f"{100 * np.mean(at(group, split, 'most')):.0f}",
        ])  # fmt: skip
    return grid(header, rows) if rows else "Not yet run."


def faithfulness(cells: Cells, part: str) -> str:
    kinds = ("top", "other") if part == "all" else ("top", "kin", "other")
    names = {"top": "the top one", "kin": "another of its class", "other": "any other"}
    whole = part == "all"
    header = ["texts, preset", "seeds", "K / classes", "texts looked at"]
    header += ["accuracy"] if whole else []
    header += [f"{what}: {names[kind]}" for what in ("flipped", "drop") for kind in kinds]
    rows = []
    for (data, preset), group in grouped(cells).items():
        count = at(group, "texts" if whole else "texts_several")
        some = [cell for cell, n in zip(group, count, strict=True) if n]
        if not some:
            continue
        rows.append([
            f"{SETS[data]}, `{preset}`",
            str(len(some)),
            f"{spread(at(some, 'K'))} / {some[0]['classes']}",
            f"{np.mean(count):.0f}",
            *([percent(at(some, "accuracy"))] if whole else []),
            *(percent(at(some, part, f"{kind}_{what}")) for what in ("flip", "drop")
              for kind in kinds),
        ])  # fmt: skip
    return grid(header, rows) if rows else "Not yet run."


SETS = {"sst2": "SST-2 (1,000)", "tickets": "tickets (300)", "banking77": "Banking77 (2,310)",
        "ag_news": "AG News"}  # fmt: skip


def agreement(cells: Cells) -> str:
    header = ["texts, preset", "pairs of seeds", "K", "same prediction", "overlap, same text",
              "another text of the class", "any text"]  # fmt: skip
    rows = []
    for (data, preset), group in grouped(cells).items():
        counts = [k for pair in at(group, "K") for k in pair]
        figures = ("same_prediction", "overlap", "within_class", "chance")
        rows.append([
            f"{SETS[data]}, `{preset}`", str(len(group)), spread(counts),
            *(percent(at(group, name)) for name in figures),
        ])  # fmt: skip
    return grid(header, rows) if rows else "Not yet run."


def new_classes(cells: Cells) -> str:
    group = list(cells.values())
    if not group:
        return "Not yet run."
    header = ["", "10 new classes", "67 old classes", "all 77", "seconds"]
    before = ["trained on 67 classes", MISSING, percent(at(group, "before", "old")), MISSING,
              f"{np.mean(at(group, 'training', 'seconds')):.0f}"]  # fmt: skip
    rows = [before]
    for count in group[0]["added"]:
        some = at(group, "added", count)
        title = f"+ 10 classes added, {count} text{'' if count == '1' else 's'} each"
        rows.append([title, *class_figures(some), f"{np.mean(at(some, 'seconds')):.1f}"])
    for name, title in (
        ("retrained_ten", "trained on 77, 10 texts for the new ones"),
        ("retrained_all", "trained on 77, 30 texts for all"),
    ):
        some = at(group, name)
        rows.append([title, *class_figures(some), f"{np.mean(at(some, 'seconds')):.0f}"])
    return grid(header, rows)


def class_figures(cells: list[Any]) -> list[str]:
    return [percent(at(cells, part)) for part in ("new", "old", "all")]


def scale(cells: Cells) -> str:
    header = ["work", "seconds", "traced, MiB", "resident, MiB", "same answer as blocked"]
    rows = []
    for key, cell in cells.items():
        case, _, count = key.partition("|")
        if case != "explain":
            title = f"{case.replace(' ', ', ')} queries, {int(count):,} texts"
            rows.append([title, *cost(cell), f"{100 * cell['agrees']:.0f} %"])
            continue
        for name, words in EXPLAINED.items():
            rows.append([f"{words}, {int(count):,} texts", *cost(cell[name]), MISSING])
    return grid(header, rows) if rows else "Not yet run."


EXPLAINED = {
    "explain": "first explanation (looks at all texts once), 100 prototypes",
    "explain_next": "next explanation",
    "interpret": "cards of 100 prototypes",
}


def cost(cell: Any) -> list[str]:
    return [f"{cell['seconds']:.1f}", f"{cell['traced_mib']:.0f}", f"{cell['resident_mib']:.0f}"]


def table4(cells: Cells) -> str:
    parts = []
    for key, cell in cells.items():
        preset, size, label = key.split("|")
        parts.append(
            f"**{size} examples** (preset `{preset}`, K = {cell['K']}, of which {cell['of_class']} "
            f"are of the class `{label}`)"
        )
        rows = [
            [letter if i == 0 else "", str(prototype["support"]) if i == 0 else "",
             near["text"].replace("|", "\\|"), near["label"]]
            for prototype in cell["prototypes"]
            for letter in [prototype["name"]]
            for i, near in enumerate(prototype["nearest"])
        ]  # fmt: skip
        parts.append(grid(["prototype", "its texts", "nearest training texts", "label"], rows, 4))
    return "\n\n".join(parts) if parts else "Not yet run."


def gap(cells: Cells) -> str:
    return f"{max((cell['gap'] for cell in cells.values()), default=0):.0e}"


def codes(folder: Path = RECORDS) -> str:
    """Code versions of all cells."""
    found = {cell["code"] for path in folder.glob("*.json") for cell in read(path.stem).values()}
    return ", ".join(f"`{code}`" for code in sorted(found)) or "none"


def page() -> str:
    """The template with its tables and figures filled in."""
    hidden, deleted = read("intra_class"), read("faithfulness")
    parts: dict[str, Callable[[], str]] = {
        "note": lambda: "Generated by benchmarks/interpretability_page.py; edit the template.",
        "inter_class": lambda: inter_class(read("inter_class")),
        "table4": lambda: table4(read("table4")),
        "intra_banking_held": lambda: intra_class(hidden, "banking77", "held"),
        "intra_banking_train": lambda: intra_class(hidden, "banking77", "train"),
        "intra_news_held": lambda: intra_class(hidden, "ag_news", "held"),
        "deleted_all": lambda: faithfulness(deleted, "all"),
        "deleted_several": lambda: faithfulness(deleted, "several"),
        "gap": lambda: gap(deleted),
        "agreement": lambda: agreement(read("seed_agreement")),
        "new_classes": lambda: new_classes(read("new_classes")),
        "scale": lambda: scale(read("scale")),
        "codes": codes,
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"\{\{ (\w+) \}\}", lambda found: parts[found[1]](), text)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
