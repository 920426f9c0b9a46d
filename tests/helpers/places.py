"""Where things lie in the repository: one home, whatever folder a test is collected from."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"  # a collection beside the repository, where there is one
EXAMPLE = ROOT / "examples" / "tickets"
BENCHMARKS = ROOT / "benchmarks"
