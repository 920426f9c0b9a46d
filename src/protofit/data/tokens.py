"""Texts tokenised once, held flat: memory grows with the tokens, not with the longest text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

CHUNK = 1024  # texts given to the tokenizer at once


@dataclass(frozen=True)
class Tokens:
    """Token ids of N texts, one after the other."""

    ids: np.ndarray  # (total,) int32
    types: np.ndarray | None  # (total,) uint8 segment of each token, where the encoder wants it
    offsets: np.ndarray  # (N + 1,) int64
    pad_id: int
    truncated: int  # texts that were longer than the limit

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text (N,)."""
        return np.diff(self.offsets)

    def batch(self, rows: Sequence[int] | np.ndarray, device: torch.device) -> dict[str, Tensor]:
        """Padded tensors of these rows, as wide as the longest of them."""
        rows = np.asarray(rows)
        lengths = self.lengths[rows]
        shape = (len(rows), int(lengths.max()))
        ids = np.full(shape, self.pad_id, dtype=np.int64)
        mask = np.arange(shape[1]) < lengths[:, None]
        spans = [slice(self.offsets[row], self.offsets[row + 1]) for row in rows]
        ids[mask] = np.concatenate([self.ids[span] for span in spans])
        batch = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        if self.types is not None:
            types = np.zeros(shape, dtype=np.int64)
            types[mask] = np.concatenate([self.types[span] for span in spans])
            batch["token_type_ids"] = types
        return {name: torch.from_numpy(value).to(device) for name, value in batch.items()}


def tokenise(
    inputs: Sequence[str] | Sequence[tuple[str, str]],
    tokenizer: Any,
    max_length: int,
    prefix: str = "",
) -> Tokens:
    """Tokenise single texts or pairs, cut at `max_length` (pairs: the longer side first).

    A text without any token, where the tokenizer frames none, stands as one padding token.
    """
    pad_id = tokenizer.pad_token_id or 0
    ids: list[np.ndarray] = []
    types: list[np.ndarray] = []
    truncated = 0
    typed = "token_type_ids" in tokenizer.model_input_names
    for start in range(0, len(inputs), CHUNK):
        first, second = _sides(inputs[start : start + CHUNK], prefix)
        encoded = tokenizer(
            first,
            second,
            truncation=True,
            max_length=max_length,
            return_attention_mask=False,
            return_token_type_ids=typed,
        )
        ids += [np.asarray(row or [pad_id], dtype=np.int32) for row in encoded["input_ids"]]
        if typed:
            types += [np.asarray(row or [0], dtype=np.uint8) for row in encoded["token_type_ids"]]
        truncated += _count_cut(encoded["input_ids"], first, second, tokenizer, max_length)
    lengths = [len(row) for row in ids]
    return Tokens(
        ids=np.concatenate(ids) if ids else np.zeros(0, np.int32),
        types=np.concatenate(types) if types else None,
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        pad_id=pad_id,
        truncated=truncated,
    )


def _sides(chunk: Sequence[Any], prefix: str) -> tuple[list[str], list[str] | None]:
    if chunk and isinstance(chunk[0], str):
        return [prefix + text for text in chunk], None
    return [prefix + first for first, _ in chunk], [second for _, second in chunk]


def _count_cut(
    rows: list[list[int]], first: list[str], second: list[str] | None, tokenizer: Any, limit: int
) -> int:
    """How many of the rows at the limit were longer before the cut."""
    full = [i for i, row in enumerate(rows) if len(row) >= limit]
    cut = 0
    for i in full:
        pair = None if second is None else second[i]
        whole = tokenizer(first[i], pair, truncation=False, verbose=False)["input_ids"]
        cut += len(whole) > limit
    return cut
