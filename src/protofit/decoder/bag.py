"""The baseline: a linear map from the features to which words a text holds.

    W = argmin  Σ_i ‖W z_i + b − y_i‖² + α ‖W‖²        y_iw = 1 if text i holds the word w

α is the one with the smallest leave-one-out error on the most frequent words. A text is then the
n words with the largest values, n the mean number of different words of a text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protofit.decoder.spelling import Text

PENALTIES = (1.0, 10.0, 100.0, 1_000.0, 10_000.0)
JUDGED = 500  # most frequent words that the penalty is chosen by

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def words_of(text: str) -> list[str]:
    """The different words of a text in lower case, in their order."""
    return list(dict.fromkeys(word.casefold() for word in _WORD.findall(text)))


@dataclass(frozen=True)
class WordMap:
    """The words of one side: all of a text, or the first or second text of a pair."""

    words: list[str]
    weights: np.ndarray  # (D, V)
    shift: np.ndarray  # (V,)
    count: int  # words that are written

    @classmethod
    def fit(cls, z: np.ndarray, texts: Sequence[str]) -> WordMap:
        """Standardised features (n, D) and their texts."""
        held = [words_of(text) for text in texts]
        words, presence = _presence(held)
        count = max(1, round(sum(map(len, held)) / max(1, len(held))))
        if not words:
            return cls([], np.zeros((z.shape[1], 0)), np.zeros(0), count)
        centred = z - z.mean(axis=0)
        shift = np.asarray(presence.mean(axis=0)).ravel()
        weights = ridge(centred, presence, penalty(centred, presence[:, :JUDGED].toarray()))
        return cls(words, weights, shift - z.mean(axis=0) @ weights, count)

    def write(self, z: np.ndarray) -> list[str]:
        """The likeliest words of each row (n, D), the likeliest first."""
        texts = []
        for row in z:
            values = row @ self.weights + self.shift
            best = np.argsort(-values, kind="stable")[: self.count]
            texts.append(" ".join(self.words[i] for i in best))
        return texts


def _presence(held: list[list[str]]) -> tuple[list[str], Any]:
    """Words, the most frequent first, and which text holds which: sparse (n, V)."""
    from scipy.sparse import csr_matrix

    counts = Counter(word for words in held for word in words)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    place = {word: i for i, word in enumerate(words)}
    columns = [place[word] for own in held for word in own]
    ends = np.cumsum([0, *map(len, held)])
    return words, csr_matrix((np.ones(len(columns)), columns, ends), (len(held), len(words)))


def ridge(z: np.ndarray, y: Any, alpha: float) -> np.ndarray:
    """W (D, V) of centred features; y (n, V) need not be centred."""
    gram = z.T @ z + alpha * np.eye(z.shape[1])
    return np.asarray(np.linalg.solve(gram, np.asarray(y.T @ z).T))


def penalty(z: np.ndarray, y: np.ndarray) -> float:
    """The α of `PENALTIES` whose leave-one-out residuals (y_i − ŷ_i)/(1 − h_ii) are smallest."""
    y = y - y.mean(axis=0)
    left, size, _ = np.linalg.svd(z, full_matrices=False)
    errors = []
    for alpha in PENALTIES:
        kept = size**2 / (size**2 + alpha)
        fitted = left @ (kept[:, None] * (left.T @ y))
        leverage = np.square(left) @ kept + 1 / len(z)  # the mean is fitted as well
        errors.append(np.square((y - fitted) / (1 - leverage).clip(1e-9)[:, None]).sum())
    return PENALTIES[int(np.argmin(errors))]


@dataclass(frozen=True)
class Bag:
    """The baseline for texts, or for pairs with a map for each side."""

    sides: list[WordMap]

    @classmethod
    def fit(cls, z: np.ndarray, inputs: Sequence[Text]) -> Bag:
        """Standardised features (n, D) and the texts or pairs they are of."""
        if isinstance(inputs[0], str):
            return cls([WordMap.fit(z, [str(text) for text in inputs])])
        return cls([WordMap.fit(z, [pair[i] for pair in inputs]) for i in (0, 1)])

    def write(self, z: np.ndarray) -> list[Any]:
        """A bag of words for each row (n, D)."""
        sides = [side.write(z) for side in self.sides]
        return sides[0] if len(sides) == 1 else list(zip(*sides, strict=True))
