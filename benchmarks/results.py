"""Write docs/results.md and its figures from the committed records.

python benchmarks/results.py [--root DIR]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from protofit.bench.figures import draw_all
from protofit.bench.report import IMAGES, results_of
from protofit.storage.atomic import write_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    page, boards = results_of(root)
    write_file(root / "docs" / "results.md", page)
    print(root / "docs" / "results.md")
    for path in draw_all(boards, root / "docs" / IMAGES):
        print(path)


if __name__ == "__main__":
    main()
