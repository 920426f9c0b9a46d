"""Tables, plots and the results page, from specs and their records alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from protofit.bench.boards import Boards, gather, load_experiment
from protofit.bench.figures import ALT, draw_all, embedded, figure_data
from protofit.bench.markdown import NOT_YET
from protofit.bench.provenance import versions_mixed
from protofit.bench.sections import sections
from protofit.bench.version import code_version
from protofit.errors import InputError

LEFT_OUT = ("demo",)  # specs that are no part of the experiment
IMAGES = "images/results"  # beside the page
TITLES = {
    "state": "State of the runs",
    "headline": "Where PFit stands",
    "coverage": "What has been run",
    "table1_fair": "Table 1, fair protocol",
    "table2_fair": "Table 2, fair protocol",
    "table1_paper": "Table 1, paper protocol",
    "table2_paper": "Table 2, paper protocol",
    "outcomes": "Wins / ties / losses against the best baseline of each cell",
    "each": "PFit minus each other method, fair protocol",
    "ranks": "Average ranks, fair protocol",
    "steps": "Fair minus paper protocol",
    "controls": "Controls",
    "ablations": "Ablations",
    "external": "External programs",
    "optimism": "Optimism of choosing on dev, in points",
    "timing": "Table 3: time per epoch",
    "speed": "How fast the grid runs",
    "overhead": "Step time over that of the linear head",
    "growth": "How many prototypes",
    "regression": "STS-B",
    "encoders": "Other encoders",
    "provenance": "Provenance",
}
_PLACEHOLDER = re.compile(r"\{\{ *([a-z0-9_]+) *\}\}")


def load(
    specs: Sequence[Path], records_dir: Path, *, code: str | None = None, mix: bool = False
) -> Boards:
    """Boards of the specs' records."""
    return gather([load_experiment(path, records_dir) for path in specs], code=code, mix=mix)


def write_tables(
    specs: Sequence[Path], records_dir: Path, *, code: str | None = None, mix: bool = False
) -> str:
    """All tables in Markdown; parts without planned runs are left out."""
    boards = load(specs, records_dir, code=code, mix=mix)
    made = sections(records_dir)
    texts = {name: made[name](boards).strip() for name in TITLES}
    here = f"The sources here are version `{code_version()}`."
    texts["state"] = f"{texts['state']} {versions_mixed(boards)} {here}"
    parts = [f"## {TITLES[name]}\n\n{text}" for name, text in texts.items() if text != NOT_YET]
    return "\n\n".join(parts) + "\n"


def write_plots(
    specs: Sequence[Path], records_dir: Path, out: Path, *, code: str | None = None,
    mix: bool = False,
) -> list[Path]:  # fmt: skip
    """Draw all figures into the folder `out`; returns the files."""
    return draw_all(load(specs, records_dir, code=code, mix=mix), out)


def results_of(root: Path) -> tuple[str, Boards]:
    """The results page of a checkout, and the boards its figures are drawn from."""
    template = (root / "docs" / "results.template.md").read_text(encoding="utf-8")
    bench = root / "benchmarks"
    specs = [path for path in sorted((bench / "specs").glob("*.toml")) if path.stem not in LEFT_OUT]
    records_dir = bench / "records" / "bench"
    boards = load(specs, records_dir, mix=bool(re.search(r"\{\{ *versions_mixed *\}\}", template)))
    return results_page(template, boards, records_dir), boards


def results_page(template: str, boards: Boards, records_dir: Path) -> str:
    """The template with every placeholder filled from the records."""
    made = sections(records_dir)
    drawn = figure_data(boards)

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        figure = name.removeprefix("figure_")
        if name in made:
            return made[name](boards).strip()
        if figure != name and figure in ALT:
            return embedded(figure, IMAGES) if figure in drawn else ""
        known = ", ".join([*made, *(f"figure_{figure}" for figure in ALT)])
        raise InputError(
            f"there is no placeholder '{name}'", where="results template", fix=f"Known: {known}."
        )

    return re.sub(r"\n{3,}", "\n\n", _PLACEHOLDER.sub(fill, template))
