"""Texts whose words say everything, and a decoder small enough to fit in a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.quick import exactly, quick_classifier, quick_regressor
from protofit.decoder.config import DecoderConfig

SMALL = DecoderConfig(
    embedding=16,
    hidden=32,
    batch_size=16,
    epochs=1,
    least_steps=60,
    most_steps=60,
    learning_rate=1e-2,
)
WHO = ("parcel", "invoice", "lamp", "kettle", "refund", "order")
WHAT = ("arrived", "cracked", "late", "wrong", "missing")


def sentences(count: int = 30) -> list[str]:
    """Different texts over a few words."""
    return [f"my {who} is {what} today" for what in WHAT for who in WHO][:count]


def fitted(encoder: Path, kind: str = "texts", **named: Any) -> Any:
    """An estimator of four steps on the sentences: texts, pairs, numbers, or raw."""
    texts: list[Any] = sentences()
    if kind == "pairs":
        texts = list(zip(texts, texts[1:] + texts[:1], strict=True))
    if kind == "numbers":
        return quick_regressor(encoder, exactly(4), **named).fit(texts, list(range(len(texts))))
    method = "raw" if kind == "raw" else "pfit"
    labels = ["ab"[i % 2] for i in range(len(texts))]
    return quick_classifier(encoder, exactly(4), method=method, **named).fit(texts, labels)
