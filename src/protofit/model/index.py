"""The index of a model: features of its training texts, and with consent the texts themselves.

Without `keep_texts` the index holds numbers only: features, labels, row numbers and weights.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from protofit.data.tokens import Tokens
from protofit.errors import ModelFolderError
from protofit.model.inference import frozen_features
from protofit.storage.atomic import write_file
from protofit.storage.tensors import load_tensors, save_tensors

INDEX_FILE = "index.safetensors"
TEXTS_FILE = "texts.json"
BLOCK = 16_384  # texts encoded before their features are halved
LARGEST_HALF = 60_000.0  # features up to here are stored as float16
Keep = Literal["nothing", "index", "texts"]  # what a model folder keeps of the training data
Text = str | tuple[str, str]


@dataclass(frozen=True)
class TrainingIndex:
    """N training texts as the model sees them."""

    features: np.ndarray  # (N, D) float16 or float32
    labels: np.ndarray  # (N,) class indices, or targets
    rows: np.ndarray  # (N,) row of the source table, from 0; −1 for what an edit added
    weights: np.ndarray | None = None  # (N,) float32
    texts: tuple[Text, ...] | None = None  # (N,) only with consent

    def __len__(self) -> int:
        return len(self.rows)

    def text(self, position: int) -> Text | None:
        """The text at a position, where texts are kept."""
        return None if self.texts is None else self.texts[position]

    def extended(
        self, features: np.ndarray, labels: np.ndarray, texts: Sequence[Text]
    ) -> TrainingIndex:
        """With the texts of an edit at the end; the texts only where texts are kept."""
        added = len(features)
        weights = self.weights
        if weights is not None:
            weights = np.concatenate([weights, np.ones(added, weights.dtype)])
        return TrainingIndex(
            np.concatenate([self.features, features.astype(self.features.dtype)]),
            np.concatenate([self.labels, labels.astype(self.labels.dtype)]),
            np.concatenate([self.rows, np.full(added, -1, self.rows.dtype)]),
            weights,
            None if self.texts is None else (*self.texts, *texts),
        )

    def first(self, count: int) -> TrainingIndex:
        """The index of the first `count` texts alone."""
        if count == len(self):
            return self
        weights = None if self.weights is None else self.weights[:count]
        texts = None if self.texts is None else self.texts[:count]
        return TrainingIndex(
            self.features[:count], self.labels[:count], self.rows[:count], weights, texts
        )

    def save(self, folder: Path) -> None:
        """Write `index.safetensors`, and `texts.json` where texts are kept."""
        tensors = {
            "features": torch.from_numpy(self.features),
            "labels": torch.from_numpy(self.labels),
            "rows": torch.from_numpy(self.rows.copy()),  # labels may be the very same array
        }
        if self.weights is not None:
            tensors["weights"] = torch.from_numpy(self.weights)
        save_tensors(folder / INDEX_FILE, tensors)
        if self.texts is not None:
            text = json.dumps(self.texts, ensure_ascii=True)
            write_file(folder / TEXTS_FILE, text + "\n")

    @classmethod
    def load(cls, folder: Path) -> TrainingIndex | None:
        """The index of a folder, if there is one."""
        if not (folder / INDEX_FILE).is_file():
            return None
        tensors = load_tensors(folder / INDEX_FILE)
        texts = _read_texts(folder / TEXTS_FILE)
        count = len(tensors["rows"])
        if texts is not None and len(texts) != count:
            raise ModelFolderError(
                f"there are {len(texts)} texts for {count} rows of the index",
                where=str(folder / TEXTS_FILE),
                fix="Index the model again.",
            )
        weights = tensors.get("weights")
        return cls(
            tensors["features"].numpy(),
            tensors["labels"].numpy(),
            tensors["rows"].numpy(),
            None if weights is None else weights.numpy(),
            texts,
        )


def make_index(
    model: Any,
    tokens: Tokens,
    labels: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    texts: Sequence[Text] | None = None,
) -> TrainingIndex:
    """Encode all texts, block by block; `texts` only with consent."""
    count = len(tokens)
    blocks = []
    for start in range(0, count, BLOCK):
        block = np.arange(start, min(start + BLOCK, count))
        features = frozen_features(model, tokens, block).cpu().numpy()
        small = float(np.abs(features).max(initial=0)) <= LARGEST_HALF
        blocks.append(features.astype(np.float16) if small else features)
    return TrainingIndex(
        np.concatenate(blocks),
        np.asarray(labels, dtype=np.float32 if labels.dtype.kind == "f" else np.int64),
        np.arange(count) if rows is None else np.asarray(rows, dtype=np.int64),
        None if weights is None else np.asarray(weights, dtype=np.float32),
        None if texts is None else tuple(texts),
    )


def _read_texts(path: Path) -> tuple[Text, ...] | None:
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    return tuple(item if isinstance(item, str) else (item[0], item[1]) for item in found)
