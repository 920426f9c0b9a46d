"""What these measurements share: labelled sets, models that are trained once, records that grow.

A trained model is kept in the folder `--shelf` under a name made of everything that determines
it, so that several measurements use one training. A record holds a cell for each measurement and
is written after every cell: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from protofit import PFitClassifier, __version__
from protofit.bench.data import LabelledSet, load_set
from protofit.bench.version import code_version
from protofit.storage.atomic import write_file

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "benchmarks" / "records" / "interpretability"
NAMES = {
    "sst2": ("negative", "positive"),
    "ag_news": ("World", "Sports", "Business", "Sci/Tech"),
}


@dataclass(frozen=True)
class Texts:
    """Texts with the names of their classes."""

    texts: list[str]
    labels: np.ndarray  # (n,) str

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Sequence[int] | np.ndarray) -> Texts:
        return Texts([self.texts[i] for i in rows], self.labels[np.asarray(rows, dtype=int)])

    def named(self, labels: Sequence[str]) -> Texts:
        """The same texts under other labels."""
        return Texts(self.texts, np.asarray(labels))


@dataclass(frozen=True)
class Recipe:
    """What a model is trained with, the texts aside."""

    preset: str
    seed: int
    encoder: str = "embedded"
    settings: dict[str, Any] = field(default_factory=dict)


def recipe_of(
    args: argparse.Namespace,
    preset: str,
    seed: int,
    settings: dict[str, Any] | None = None,
    encoder: str = "embedded",
) -> Recipe:
    """A recipe; the encoder is `embedded` or a folder of the shared weights."""
    more = {"train.max_steps": args.steps} if args.steps else {}
    if encoder != "embedded":
        encoder = str(args.shared / "weights" / encoder)
    return Recipe(preset, seed, encoder, {**(settings or {}), **more})


@functools.cache
def labelled_set(name: str, shared: Path) -> LabelledSet:
    return load_set(name, ROOT / "examples" if name == "tickets" else shared / "data")


def read_set(name: str, shared: Path, names: Sequence[str] = ()) -> tuple[Texts, Texts]:
    """Training texts and those to report on: validation, or test where there is none."""
    found = labelled_set(name, shared)
    known = list(names or NAMES.get(name, ())) or [str(c) for c in found.classes.classes]
    parts = (found.train, next(iter(found.dev.values())))
    train, held = (
        Texts(list(part.inputs), np.asarray([known[i] for i in part.labels])) for part in parts
    )
    return train, held


def stratified(name: str, shared: Path, size: int, seed: int) -> np.ndarray:
    """Rows of a subset in which classes are as frequent as in the set; small in large."""
    return labelled_set(name, shared).subset(size, seed)


def rows_per_class(labels: np.ndarray, count: int, seed: int) -> dict[str, np.ndarray]:
    """At most `count` rows of each class in a random order, drawn once for a seed."""
    draw = np.random.default_rng(seed)
    return {c: draw.permutation(np.flatnonzero(labels == c))[:count] for c in np.unique(labels)}


def fitted(recipe: Recipe, train: Texts, shelf: Path) -> PFitClassifier:
    """A model with its index and texts, from the shelf or trained now."""
    facts = [vars(recipe), code_version(), train.texts, train.labels.tolist()]
    name = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    folder = shelf / name
    if not folder.is_dir():
        if time.perf_counter() > Record.stop_at:
            raise SystemExit("stopped before a training; call again to go on")
        model = PFitClassifier(
            recipe.encoder,
            preset=recipe.preset,
            settings=recipe.settings or None,
            random_state=recipe.seed,
            keep_texts=True,
        )
        shelf.mkdir(parents=True, exist_ok=True)
        model.fit(train.texts, train.labels.tolist()).save(folder)
    return PFitClassifier.load(folder)


def trained(model: PFitClassifier) -> dict[str, Any]:
    """Facts of a training for a record."""
    record = model.bundle_.record
    return {name: record[name] for name in ("examples", "held_back", "steps", "seconds")}


def arguments(what: str, record: str) -> argparse.ArgumentParser:
    """Options that every script has."""
    parser = argparse.ArgumentParser(
        description=what, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--shelf", type=Path, default=ROOT / "build" / "shelf")
    parser.add_argument("--steps", type=int, help="most optimiser steps, for a trial")
    parser.add_argument("--minutes", type=float, default=1e9, help="start nothing after this")
    parser.add_argument("--out", type=Path, default=RECORDS / f"{record}.json")
    return parser


class Record:
    """A JSON file of cells, written after each."""

    stop_at = float("inf")  # no cell and no training starts after this

    def __init__(self, path: Path, what: str, minutes: float = 1e9) -> None:
        self.path, self.what = path, what
        self.began = time.perf_counter()
        Record.stop_at = self.began + 60 * minutes
        self.content: dict[str, Any] = {"what": what, "cells": {}}
        if path.is_file():
            self.content = json.loads(path.read_text(encoding="utf-8"))
            self.content["what"] = what

    @property
    def cells(self) -> dict[str, Any]:
        return self.content["cells"]

    def todo(self, keys: Sequence[str]) -> Iterator[str]:
        """The cells that are not there yet, until the minutes are over."""
        for key in keys:
            if key in self.cells:
                continue
            if time.perf_counter() > Record.stop_at:
                raise SystemExit("stopped before a cell; call again to go on")
            yield key

    def add(self, key: str, cell: dict[str, Any]) -> None:
        self.cells[key] = {**cell, "code": code_version()}
        self.content["protofit"], self.content["torch"] = __version__, torch.__version__
        self.content["cores"] = os.cpu_count()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_file(self.path, json.dumps(self.content, indent=1) + "\n")
        print(f"{time.perf_counter() - self.began:6.0f} s  {key}  {cell}", flush=True)


def rounded(value: float) -> float:
    return round(float(value), 4)
