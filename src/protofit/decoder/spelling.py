"""Texts as rows of tokens, and back: the encoder's own tokenizer, restricted to tokens that occur.

A spelling is a list of token ids of the encoder, with `BORDER` between the texts of a pair and
`STOP` at the end of a text that was not cut. A row holds places in the restricted vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

PAD, START, END, NEXT, UNKNOWN, FIRST = range(6)  # places; the tokens themselves from FIRST on
BORDER, STOP = -1, -2
CHUNK = 1024

Text = str | tuple[str, str]


def spell(tokenizer: Any, inputs: Sequence[Text], length: int) -> list[list[int]]:
    """A spelling of each text or pair, of at most `length` tokens."""
    if len(inputs) and not isinstance(inputs[0], str):
        half = length // 2
        sides = [_cut_ids(tokenizer, [pair[i] for pair in inputs], half) for i in (0, 1)]
        return [[*one[:half], BORDER, *_ended(two, half)] for one, two in zip(*sides, strict=True)]
    return [_ended(ids, length) for ids in _cut_ids(tokenizer, list(inputs), length)]


def _cut_ids(tokenizer: Any, texts: list[Any], length: int) -> list[list[int]]:
    """Token ids of each text, at most length + 1 of them: one more than fit tells a cut text."""
    found: list[list[int]] = []
    for start in range(0, len(texts), CHUNK):
        encoded = tokenizer(
            texts[start : start + CHUNK],
            add_special_tokens=False,
            truncation=True,
            max_length=length + 1,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        found += [list(ids) for ids in encoded["input_ids"]]
    return found


def _ended(ids: list[int], length: int) -> list[int]:
    return [*ids, STOP] if len(ids) <= length else ids[:length]


@dataclass(frozen=True)
class Vocabulary:
    """The tokens a decoder can read and write."""

    ids: tuple[int, ...]  # of the encoder's tokenizer, in the order of places from FIRST on

    @classmethod
    def of(cls, spellings: Sequence[list[int]], most: int, unknown: int | None) -> Vocabulary:
        """The most frequent tokens; equally frequent ones by their id."""
        counts = Counter(token for ids in spellings for token in ids if token >= 0)
        counts.pop(-1 if unknown is None else unknown, None)
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        return cls(tuple(sorted(ranked[:most])))

    def __len__(self) -> int:
        return FIRST + len(self.ids)

    @cached_property
    def places(self) -> dict[int, int]:
        """Place of each token id."""
        return {BORDER: NEXT, STOP: END, **{id_: FIRST + i for i, id_ in enumerate(self.ids)}}

    def rows(self, spellings: Sequence[list[int]]) -> list[np.ndarray]:
        """Places of each spelling; UNKNOWN for tokens that are not in the vocabulary."""
        return [
            np.array([self.places.get(token, UNKNOWN) for token in ids], np.int64)
            for ids in spellings
        ]

    def read(self, tokenizer: Any, row: Sequence[int], *, paired: bool) -> Text:
        """The text or pair of a row, up to its END."""
        sides: list[list[int]] = [[]]
        for place in row:
            if place == END:
                break
            if place == NEXT:
                sides.append([])
            elif place >= FIRST:
                sides[-1].append(self.ids[place - FIRST])
        texts = [
            str(tokenizer.decode(ids, skip_special_tokens=True)).strip() if ids else ""
            for ids in sides
        ]
        return (texts[0], " ".join(texts[1:])) if paired else " ".join(texts)


def padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Rows as one array (B, T), PAD behind the shorter ones."""
    wide = max((len(row) for row in rows), default=0)
    table = np.full((len(rows), wide), PAD, np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def shifted(targets: np.ndarray) -> np.ndarray:
    """What the decoder reads while it writes `targets`: START and all but the last."""
    inputs = np.full_like(targets, START)
    inputs[:, 1:] = targets[:, :-1]
    return inputs
