"""Named random streams derived from (seed, purpose, numbers): nothing global, nothing to save."""

from __future__ import annotations

import zlib

import numpy as np


def generator(seed: int, purpose: str, *numbers: int) -> np.random.Generator:
    """The generator of this seed, purpose and position."""
    return np.random.default_rng(_words(seed, purpose, *numbers))


def stream_seed(seed: int, purpose: str, *numbers: int) -> int:
    """A 63-bit seed for generators that take one number."""
    state = np.random.SeedSequence(_words(seed, purpose, *numbers)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def _words(seed: int, purpose: str, *numbers: int) -> list[int]:
    return [seed & 0xFFFFFFFFFFFFFFFF, zlib.crc32(purpose.encode()), len(numbers), *numbers]
