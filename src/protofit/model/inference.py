"""Run a model over many texts: sorted by length, back in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit.data.tokens import Tokens
from protofit.model.precision import encoder_precision

BATCH = 64


@torch.no_grad()
def over_tokens(
    tokens: Tokens,
    rows: np.ndarray,
    forward: Callable[[dict[str, Tensor]], Tensor],
    device: torch.device,
    batch_size: int = BATCH,
) -> Tensor:
    """Apply `forward` to batches of `rows`; results in the order of `rows` (n, …)."""
    order = np.argsort(tokens.lengths[rows], kind="stable")
    parts = [
        forward(tokens.batch(rows[order[i : i + batch_size]], device))
        for i in range(0, len(order), batch_size)
    ]
    gathered = torch.cat(parts)
    back = torch.from_numpy(np.argsort(order, kind="stable")).to(gathered.device)
    return gathered[back]


def predict_logits(model: Any, tokens: Tokens, rows: np.ndarray | None = None) -> np.ndarray:
    """Logits (log-probabilities, or values) of `rows` in float32: (n, C) or (n, 1)."""
    device = next(model.parameters()).device
    rows = np.arange(len(tokens)) if rows is None else rows
    if len(rows) == 0:
        return np.zeros((0, model.config.num_labels), np.float32)
    with evaluating(model), encoder_precision("float32", device):
        logits = over_tokens(tokens, rows, lambda batch: model(**batch).logits.float(), device)
    return logits.cpu().numpy()


def frozen_features(model: Any, tokens: Tokens, rows: np.ndarray) -> Tensor:
    """Eval-mode features (n, D) in float32, in the order of `rows`."""
    device = next(model.parameters()).device
    with evaluating(model), encoder_precision("float32", device):
        return over_tokens(tokens, rows, lambda batch: model.features(**batch).float(), device)


class evaluating:  # noqa: N801
    """Eval mode inside, the mode before outside."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.mode = model.training

    def __enter__(self) -> None:
        self.model.eval()

    def __exit__(self, *_: object) -> None:
        self.model.train(self.mode)
