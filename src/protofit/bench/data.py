"""Labelled sets, and the nested, stratified subsets that every method trains on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from protofit.data.columns import class_labels, targets, text_inputs
from protofit.data.hub import parse_id
from protofit.data.labels import ClassOrder
from protofit.data.readers import FORMAT_OF_SUFFIX
from protofit.data.table import Table, read_table
from protofit.errors import InputError
from protofit.randomness import generator

POOL_SOURCES = {  # where a train file mixes sources: those whose texts are verbatim
    "mnli": ("kshot_glue_index", "glue_pretrain_10k", "o_lora_3k"),
}
FIRST = ("sentence1", "text", "premise", "question", "sentence")  # columns of the texts
SECOND = {"sentence1": "sentence2", "text": "text_pair", "premise": "hypothesis",
          "question": "sentence"}  # fmt: skip

Inputs = list[str] | list[tuple[str, str]]


@dataclass(frozen=True)
class Part:
    """Texts or pairs with their labels."""

    inputs: Inputs
    labels: np.ndarray  # class indices, or targets
    ids: list[str]  # of the rows, as the set numbers them

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True)
class LabelledSet:
    """A pool to draw training subsets from, and the splits to report on."""

    name: str
    classes: ClassOrder | None  # None: regression
    train: Part
    dev: dict[str, Part]  # split → examples

    @property
    def paired(self) -> bool:
        """Whether it holds pairs of texts."""
        return not isinstance(self.train.inputs[0], str)

    def subset(self, size: int, seed: int) -> np.ndarray:
        """Rows of the pool; the smaller subsets of a seed are its beginnings."""
        if size > len(self.train):
            raise InputError(
                f"the set has {len(self.train)} training examples, not {size}",
                where=self.name,
                fix="Leave out this size.",
            )
        return nested_subset(None if self.classes is None else self.train.labels, size, seed,
                             pool=len(self.train))  # fmt: skip

    def subset_hash(self, rows: np.ndarray) -> str:
        """16 hex digits over ids and labels, in order."""
        labels = self.train.labels[rows].tolist()
        facts = [[self.train.ids[row], label] for row, label in zip(rows, labels, strict=True)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def nested_subset(
    labels: np.ndarray | None, size: int, seed: int, pool: int | None = None
) -> np.ndarray:
    """`size` rows in an order whose every beginning is stratified to within one example.

    The j-th example of class c (of N_c among N) may come once n N_c > (j − 1) N and must have
    come when n N_c ≥ j N; of those that may, the one that must come first is taken. That always
    succeeds, and |count_c(n) − n N_c / N| < 1 for every beginning n. Without labels: any order.
    """
    draw = generator(seed, "subset")
    count = len(labels) if labels is not None else int(pool or 0)
    shuffled = draw.permutation(count)
    if labels is None:
        return shuffled[:size]
    kinds, sizes = np.unique(labels, return_counts=True)
    queues = [shuffled[labels[shuffled] == kind] for kind in kinds]
    ties = draw.permutation(len(kinds))
    taken = np.zeros(len(kinds), dtype=np.int64)
    rows = np.empty(size, dtype=np.int64)
    for place in range(size):
        ready = (place + 1) * sizes > taken * count
        deadline = np.where(ready, -(-(taken + 1) * count // sizes), np.iinfo(np.int64).max)
        chosen = int(np.lexsort((ties, deadline))[0])
        rows[place] = queues[chosen][taken[chosen]]
        taken[chosen] += 1
    return rows


def load_set(name: str, data_dir: Path | None, *, apart: bool = False) -> LabelledSet:
    """The set in the folder `name` of `data_dir`, or of the datasets id `name`.

    `apart`: without the training rows whose texts are in a split to report on.
    """
    folder = None if data_dir is None else data_dir / name
    if folder is not None and folder.is_dir():
        train_file, dev_files = _files(folder)
        train, dev = (
            read_table(str(train_file)),
            {stem: read_table(str(file)) for stem, file in dev_files.items()},
        )
    elif folder is not None and "/" not in name:
        near = ", ".join(sorted(path.name for path in folder.parent.glob("*/")))
        raise InputError(
            f"there is no set '{name}'", where=str(data_dir), fix=f"Found here: {near or 'none'}."
        )
    else:
        train, dev = _hub_tables(name)
    pool = _without_repeats(_verbatim(train, name))
    return _labelled(name, _without_texts_of(dev, pool) if apart else pool, dev)


def _files(folder: Path) -> tuple[Path, dict[str, Path]]:
    tables = sorted(file for file in folder.iterdir() if file.suffix in FORMAT_OF_SUFFIX)
    named = {file.stem: file for file in reversed(tables)}
    dev = {stem: named[stem] for stem in sorted(named) if stem.startswith("validation")}
    if not dev and "test" in named:
        dev = {"test": named["test"]}
    if "train" not in named or not dev:
        raise InputError(
            "the folder lacks train or validation (or test) as parquet, csv, tsv or jsonl",
            where=str(folder),
            fix="Add the file.",
        )
    return named["train"], dev


def _hub_tables(name: str) -> tuple[Table, dict[str, Table]]:
    if parse_id(name) is None:
        raise InputError(
            "this is no set", where=name, fix="Name a folder under --data-dir, or a datasets id."
        )
    splits = ["validation"]
    if name.rpartition("/")[2] == "mnli":
        splits = ["validation_matched", "validation_mismatched"]
    try:
        train = read_table(f"{name}:train")
        return train, {split: read_table(f"{name}:{split}") for split in splits}
    except InputError as error:
        raise InputError(
            error.found, where=error.where, fix="Say with --data-dir where the sets' folders are."
        ) from error


def _verbatim(table: Table, name: str) -> Table:
    """The rows of the sources to use, where the set mixes sources."""
    wanted = POOL_SOURCES.get(name)
    if wanted is None or "source" not in table.columns:
        return table
    return table.take([i for i, source in enumerate(table.columns["source"]) if source in wanted])


def _text_columns(table: Table) -> tuple[str, str | None]:
    first = next((name for name in FIRST if name in table.columns), FIRST[0])
    second = SECOND.get(first)
    cells = table.columns.get(second or "", [])
    return first, second if any(cell is not None for cell in cells) else None


def _without_repeats(table: Table) -> Table:
    """Of rows with the same texts and label, the first."""
    names = [name for name in (*_text_columns(table), "label") if name in table.columns]
    seen: dict[tuple[object, ...], int] = {}
    for i, row in enumerate(zip(*(table.columns[name] for name in names), strict=True)):
        seen.setdefault(row, i)
    return table.take(list(seen.values()))


def _without_texts_of(dev: dict[str, Table], train: Table) -> Table:
    """The rows whose texts no other split holds: a method must not be measured on what it saw."""
    columns = _text_columns(train)
    seen = {texts for table in dev.values() for texts in _texts(table, columns)}
    kept = [i for i, texts in enumerate(_texts(train, columns)) if texts not in seen]
    return train if len(kept) == len(train) else train.take(kept)


def _texts(table: Table, columns: tuple[str, str | None]) -> list[tuple[str, ...]]:
    """The texts of every row as they compare: without case and outer spaces."""
    named = [table.columns[name] for name in columns if name is not None and name in table.columns]
    return [tuple(str(cell).strip().lower() for cell in row) for row in zip(*named, strict=True)]


def _labelled(name: str, train: Table, dev: dict[str, Table]) -> LabelledSet:
    columns = _text_columns(train)
    classes = None
    if not any(isinstance(label, float) for label in train.columns.get("label", ())):
        classes = ClassOrder.of(class_labels(train, "label"), lambda i: train.where(i, "label"))
    parts = {split: _part(table, columns, classes) for split, table in dev.items()}
    return LabelledSet(name, classes, _part(train, columns, classes), parts)


def _part(table: Table, columns: tuple[str, str | None], classes: ClassOrder | None) -> Part:
    first, second = columns
    inputs = text_inputs(table, first, second, allow_empty=True)
    return Part(inputs, _labels(table, classes), _ids(table))


def _labels(table: Table, classes: ClassOrder | None) -> np.ndarray:
    if classes is None:
        return np.asarray(targets(table, "label"), dtype=np.float32)
    return classes.encode(class_labels(table, "label"), lambda i: table.where(i, "label"))


def _ids(table: Table) -> list[str]:
    """What tells rows apart: their index where every row has its own, else their place."""
    index: Sequence[object] = table.columns.get("idx", ())
    distinct = len(set(index)) == len(table) and None not in index
    return [str(value) for value in (index if distinct else table.rows)]
