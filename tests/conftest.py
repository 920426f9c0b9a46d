"""Shared fixtures: quiet threads, tiny encoders, clear skips for what is absent."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).parent))

import pytest
from hypothesis import settings

from helpers.places import SHARED

if "CI" not in os.environ:  # there hypothesis has a profile of its own, without a deadline too
    settings.register_profile("patient", deadline=None)  # a busy machine is no failure
    settings.load_profile("patient")


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """Path of a file of the shared collection, or a skip that says which one is missing."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"needs ../shared/{name}, which is not here")
        return path

    return find


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random two-layer BERT with its tokenizer, as a Hugging Face folder."""
    from helpers.tiny import make_encoder

    return make_encoder("bert", tmp_path_factory.mktemp("encoders") / "bert")


@pytest.fixture(scope="session")
def tickets() -> tuple[list[str], list[str]]:
    """Texts and labels of the bundled example's training file."""
    from helpers.tickets import read_tickets

    return read_tickets("train")
