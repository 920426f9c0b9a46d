"""How good a decoder is, on texts that it was not fitted on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit.decoder.network import Network
from protofit.decoder.spelling import PAD, padded, shifted
from protofit.randomness import generator

SHARE = 0.1  # of the different texts, held out
FEWEST = 5  # texts held out
BLOCK = 64
NEARER = " Training texts near a prototype say more about it than its decoded text."


@dataclass(frozen=True)
class Quality:
    """Figures on held-out texts; a similarity is a mean cosine to the features of the text."""

    texts: int  # held out
    fitted: int  # texts the decoder was fitted on
    vocabulary: int  # tokens it can write
    unknown: float  # share of held-out tokens that it cannot write; they count as wrong
    token_accuracy: float  # share of next tokens that are right, the true ones before them given
    blind_accuracy: float  # the same with the mean vector in place of the text's
    similarity: float  # of greedy reconstructions, encoded again
    bag: float  # of the bag of words
    nearest: float  # of the nearest text the decoder was fitted on
    random: float  # of any text the decoder was fitted on
    margin: float  # similarity − bag, mean over texts
    margin_error: float  # standard error of that mean

    @property
    def weak(self) -> bool:
        """Not better than the bag of words by two standard errors."""
        return not self.margin > 2 * self.margin_error

    @property
    def verdict(self) -> str:
        """The figures in two or three sentences."""
        said = "is not better than" if self.weak else "is better than"
        start = "The decoder is weak here: it" if self.weak else "The decoder"
        return (
            f"{start} {said} a bag of words at giving the meaning back "
            f"(cosine {self.similarity:.2f} against {self.bag:.2f}; the nearest training text "
            f"{self.nearest:.2f}, a random one {self.random:.2f}). "
            f"It writes {self.token_accuracy:.0%} of the next tokens right, "
            f"{self.blind_accuracy:.0%} without seeing the vector, measured on {self.texts} texts "
            f"held out of {self.texts + self.fitted}."
            + (NEARER if self.nearest > self.similarity else "")
        )

    @property
    def figures(self) -> dict[str, Any]:
        """The figures by name, the verdict first, for people."""
        return {"verdict": self.verdict, **{n: v for n, v in asdict(self).items() if n != "texts"}}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the verdict."""
        return {**asdict(self), "weak": self.weak, "verdict": self.verdict}


def hold_out(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit on and rows held out, each in order."""
    held = max(FEWEST, round(SHARE * count))
    order = generator(seed, "decoder held out").permutation(count)
    return np.sort(order[held:]), np.sort(order[:held])


@torch.no_grad()
def token_accuracy(
    network: Network, features: Tensor, rows: Sequence[np.ndarray], *, blind: bool = False
) -> float:
    """Share of the tokens of `rows` that are likeliest when those before them are known."""
    right = total = 0
    for start in range(0, len(rows), BLOCK):
        targets = padded(rows[start : start + BLOCK])
        z = network.standardised(features[start : start + BLOCK])
        z = torch.zeros_like(z) if blind else z
        inputs = torch.from_numpy(shifted(targets)).to(z.device)
        likeliest = network.logits(network.states(z, inputs)).argmax(dim=2).cpu().numpy()
        right += int(((likeliest == targets) & (targets != PAD)).sum())
        total += int((targets != PAD).sum())
    return right / max(1, total)


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosine of each row of a (n, D) with the same row of b: (n,)."""
    a, b = unit(a), unit(b)
    return np.asarray((a * b).sum(axis=1))


def unit(a: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    a = a.astype(np.float64)
    return np.asarray(a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1e-12))


def standard_error(values: np.ndarray) -> float:
    """Of the mean of n values."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf
