"""The stock transformers Trainer around our model, on the tickets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

BASE = {
    "encoder.dropout": 0.0,
    "head.neighbour_weight": 0.0,
    "head.creation.start_share": 0.0,
    "head.creation.alpha": 0.9,
    "head.scale.quantile": 0.3,
}


def build(
    encoder: Path,
    classes: list[Any] | None,
    settings: dict[str, Any] | None = None,
    method: str = "pfit",
) -> Any:
    """(model, tokenizer) that has seen no data; no classes: regression."""
    from protofit import Settings
    from protofit.data.labels import ClassOrder
    from protofit.encoders.resolve import resolve_encoder
    from protofit.model.build import build_model

    order = None if classes is None else ClassOrder.of(classes)
    base = BASE if method == "pfit" else {}
    chosen = Settings.build("default", method, {**base, **(settings or {})})
    return build_model(resolve_encoder(encoder), chosen, order)


def rows_of(tokenizer: Any, texts: list[str], labels: list[Any], **more: Any) -> list[Any]:
    """What a mapped dataset gives: one dictionary per example."""
    encoded = tokenizer(texts, truncation=True, max_length=40)
    columns = {**encoded, "labels": labels, **more}
    return [{name: values[i] for name, values in columns.items()} for i in range(len(texts))]


def trainer_of(model: Any, tokenizer: Any, rows: Any, folder: Path, **named: Any) -> Any:
    """A Trainer with our callback; `callbacks` come before and after it."""
    from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

    from protofit import ProtoFitCallback

    before, after = named.pop("before", []), named.pop("after", [])
    chosen = {
        "per_device_train_batch_size": 8,
        "max_steps": 20,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
        **named,
    }
    return Trainer(
        model=model,
        args=TrainingArguments(output_dir=str(folder), **chosen),
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(tokenizer),
        callbacks=[*before, ProtoFitCallback(), *after],
    )


def indices(labels: list[str]) -> list[int]:
    """Labels as the indices of their sorted classes."""
    return [int(i) for i in np.unique(labels, return_inverse=True)[1]]
