"""Training runs of the one loop, without the estimators around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

PLAIN = {  # nothing that depends on how a step is cut into batches
    "encoder.dropout": 0.0,
    "head.neighbour_weight": 0.0,
    "head.diversity.weight": 0.0,
    "head.creation.rule": "off",
    "head.prune.per_epoch": 0,
    "train.bucket_batches": 1,
    "train.warmup_share": 0.0,
    "train.precision": "float32",
}


def make_run(
    encoder: Path,
    texts: list[str],
    labels: list[str],
    settings: dict[str, Any],
    method: str = "pfit",
    **options: Any,
) -> Any:
    """A `Run` that has not begun."""
    from protofit import Settings
    from protofit.data.labels import ClassOrder
    from protofit.data.tokens import tokenise
    from protofit.encoders.resolve import resolve_encoder
    from protofit.model.build import build_model
    from protofit.training.loop import Run, RunOptions, TrainData
    from protofit.training.reporter import Reporter

    chosen = Settings.build("default", method, settings)
    order = ClassOrder.of(labels)
    model, tokenizer = build_model(resolve_encoder(encoder), chosen, order)
    weights: np.ndarray | None = options.pop("weights", None)
    data = TrainData(tokenise(texts, tokenizer, 40), order.encode(labels), weights)
    seed = options.pop("seed", 0)
    reporter = options.pop("reporter", Reporter())
    return Run(model, data, chosen.train, seed, RunOptions(**options), reporter)
