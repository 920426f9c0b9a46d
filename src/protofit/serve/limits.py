"""How much one request, and all waiting requests together, may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from protofit.config.checks import at_least


@dataclass(frozen=True)
class Limits:
    """Bounds of the server; a request beyond them is refused with a reason."""

    text_chars: int = 20_000  # of one text, and of one side of a pair
    batch_items: int = 256  # texts of one batch request
    batch_chars: int = 200_000  # of all texts of one batch request
    edit_items: int = 100  # texts a prototype or a class is made from
    body_bytes: int = 2_000_000  # of one request
    queue_texts: int = 2_048  # waiting for the model; beyond them 503
    shared_texts: int = 128  # that go through the encoder in one pass
    wait_ms: float = 4.0  # for company, before a pass begins

    def __post_init__(self) -> None:
        for name in ("text_chars", "batch_items", "batch_chars", "edit_items", "body_bytes"):
            at_least(name, getattr(self, name), 1)
        at_least("queue_texts", self.queue_texts, self.batch_items)
        at_least("shared_texts", self.shared_texts, 1)
        at_least("wait_ms", self.wait_ms, 0)
