"""Fixtures of the harness: small sets, a tiny encoder under a weights folder, a workbench."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.bench import write_sets
from protofit.bench.workbench import Places, Workbench


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of three small sets; nobody may change it."""
    return write_sets(tmp_path_factory.mktemp("sets") / "data")


@pytest.fixture(scope="session")
def places(sets: Path, tiny_bert: Path) -> Places:
    """The sets, the tiny encoder (`bert`), the processor."""
    return Places(data_dir=sets, weights_dir=tiny_bert.parent, device="cpu")


@pytest.fixture(scope="session")
def workbench(places: Places) -> Workbench:
    """Shared by all tests of a process: it only ever learns."""
    return Workbench(places)
