"""Prototypes turned back into text, where the model has a decoder."""

from __future__ import annotations

from protofit.decoder.attach import decoder_of
from protofit.explain.reading import Reading


def decoded(reading: Reading, k: int) -> str | None:
    """What the decoder makes of prototype k; a pair on one line. None without a decoder."""
    cache, decoder = reading.bundle.cache, decoder_of(reading.bundle)
    if decoder is None:
        return None
    if "decoded" not in cache or cache["decoded"][0] is not reading:
        cache["decoded"] = (reading, decoder.decode(reading.vectors))
    text = cache["decoded"][1][k]
    return text if isinstance(text, str) else " ‖ ".join(text)
