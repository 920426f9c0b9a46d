"""Write the figures of docs/serve.md from the committed record.

python benchmarks/server_load_page.py

They stand between `<!-- load -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from protofit.storage.atomic import write_file

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benchmarks" / "records" / "server_load.json"
PAGE = ROOT / "docs" / "serve.md"
SPOT = re.compile(r"(<!-- load -->\n).*?(<!-- end -->)", re.DOTALL)
ROWS = {  # what the page calls it: (figure of an arm, ratio)
    "requests per second": ("requests_per_second", "throughput"),
    "processor time of a request, ms": ("processor_ms_per_request", "processor time"),
    "half are answered within, ms": ("p50_ms", "p50"),
    "99 of 100 are answered within, ms": ("p99_ms", "p99"),
}


def filled(page: str, record: dict[str, Any] | None = None) -> str:
    """The page with the figures of the record."""
    found = record or json.loads(RECORD.read_text(encoding="utf-8"))
    return SPOT.sub(lambda spot: f"{spot[1]}{told(found)}\n{spot[2]}", page)


def told(record: dict[str, Any]) -> str:
    """A table, and how many answers were compared."""
    size = f"{record['clients']} clients, {record['requests_per_round']} requests in each of"
    lines = [
        f"{size} {record['rounds']} rounds; ratios with 95 % intervals over the rounds.",
        "",
        "| | shared passes | one by one | ratio |",
        "|---|---|---|---|",
    ]
    for endpoint, found in record["endpoints"].items():
        lines += [row(f"{endpoint}: {name}", found, *keys) for name, keys in ROWS.items()]
    compared = sum(found["answers_compared"] for found in record["endpoints"].values())
    different = sum(found["different"] for found in record["endpoints"].values())
    gap = max(found["largest_gap"] for found in record["endpoints"].values())
    return "\n".join(lines) + (
        f"\n\nOf {compared:,} answers under load, {different} differed from the answer to the same "
        f"text asked alone; the largest difference of a probability was {gap:.0e}."
    )


def row(name: str, found: dict[str, Any], figure: str, compared: str) -> str:
    """One line of the table."""
    arms = [f"{arm[figure]:,.1f}" for arm in found["arms"].values()]
    ratio = found["ratios"][compared]
    low, high = ratio["interval95"]
    return f"| {name} | {arms[0]} | {arms[1]} | {ratio['ratio']:.2f} [{low:.2f}, {high:.2f}] |"


def main() -> None:
    """Rewrite the page."""
    write_file(PAGE, filled(PAGE.read_text(encoding="utf-8")).encode())


if __name__ == "__main__":
    main()
