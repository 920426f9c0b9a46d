"""Words that set a group of texts apart, and the name they suggest for a prototype.

A word is scored by how much more often the texts of the group hold it than all texts do: the
log-odds ratio with the counts of all texts as an informative Dirichlet prior, over its standard
deviation (Monroe, Colaresi and Quinn, 2008).

    δ_w = log (g_w + a_w) / (n_g + a_0 − g_w − a_w) − log (r_w + a_w) / (n_r + a_0 − r_w − a_w)
    score_w = δ_w / √(1/(g_w + a_w) + 1/(r_w + a_w))

There is no list of stop words: a word that many texts hold, and those of all labels alike, says
nothing and is left out, in any language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protofit.explain.results import Text

MOST_TEXTS = 20_000  # texts that words are counted in
PRIOR = 10.0  # a_0: texts that the prior counts for
COMMON = 0.05  # share of texts from which a word may be one that says nothing
EVEN = 0.9  # it does if its spread over the labels is at least this even (1: like all texts)
EVERYWHERE = 0.5  # share of texts from which a word says nothing whatever its spread
LOWEST = 2.0  # score below which no word is named

_WORD = re.compile(r"[^\W\d_]{3,}(?:['’-][^\W\d_]+)*")


def words_of(text: Text) -> set[str]:
    """The different words of a text (or pair), in lower case; numbers and short words left out."""
    whole = text if isinstance(text, str) else " ".join(text)
    return {word.casefold() for word in _WORD.findall(whole)}


@dataclass(frozen=True)
class Vocabulary:
    """Which text holds which word."""

    words: list[str]
    holds: Any  # sparse (N, V) of 0 and 1
    telling: np.ndarray  # (V,) whether the word may name something

    @classmethod
    def of(cls, texts: Sequence[Text], groups: np.ndarray) -> Vocabulary:
        """Count the texts; `groups` (N,) are their labels, or bins of their targets."""
        from scipy.sparse import csr_matrix

        index: dict[str, int] = {}
        columns: list[int] = []
        ends = [0]
        for text in texts:
            columns.extend(index.setdefault(word, len(index)) for word in sorted(words_of(text)))
            ends.append(len(columns))
        ones = np.ones(len(columns), np.float64)
        holds = csr_matrix((ones, columns, ends), shape=(len(texts), len(index)))
        return cls(list(index), holds, _telling(holds, groups))

    def distinctive(self, rows: np.ndarray, count: int = 3) -> list[str]:
        """The words that set the texts at `rows` apart from the others, the most telling first."""
        if not len(rows) or len(self.words) < 2:  # the only word sets nothing apart
            return []
        total = np.asarray(self.holds.sum(axis=0)).ravel()
        group = np.asarray(self.holds[rows].sum(axis=0)).ravel()
        scores = log_odds(group, total - group)
        scores[~self.telling | (group < min(2, len(rows)))] = -np.inf
        best = np.argsort(-scores, kind="stable")[:count]
        return [self.words[i] for i in best if scores[i] >= LOWEST]


def log_odds(group: np.ndarray, rest: np.ndarray, prior: float = PRIOR) -> np.ndarray:
    """Score of each word from its counts inside and outside the group: (V,), (V,) → (V,)."""
    every = group + rest
    a = prior * every / every.sum()
    inside, outside = group.sum() + prior, rest.sum() + prior
    g, r = group + a, rest + a
    delta = np.log(g / (inside - g)) - np.log(r / (outside - r))
    return np.asarray(delta / np.sqrt(1 / g + 1 / r))


def suggest(label: str, words: Sequence[str], row: int) -> str:
    """`label: word, word, word`, or the label and the row where no word stands out."""
    return f"{label}: {', '.join(words)}" if words else f"{label} (prototype {row})"


def _telling(holds: Any, groups: np.ndarray) -> np.ndarray:
    """Words that are not both common and spread over the groups as all texts are."""
    from scipy.sparse import csr_matrix

    known, member = np.unique(groups, return_inverse=True)
    ones = np.ones(len(member))
    table = csr_matrix((ones, (member, np.arange(len(member)))), (len(known), len(member)))
    counts = np.asarray((table @ holds).todense())  # (groups, V)
    share = counts.sum(axis=0) / max(1, len(member))
    rate = counts / np.maximum(1, np.bincount(member))[:, None]
    rate = rate / np.maximum(rate.sum(axis=0), 1e-12)
    entropy = -(rate * np.log(np.maximum(rate, 1e-12))).sum(axis=0)
    even = entropy >= EVEN * np.log(max(2, len(known)))
    return np.asarray(~((share >= COMMON) & even) & (share < EVERYWHERE))
