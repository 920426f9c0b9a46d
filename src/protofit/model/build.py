"""A fresh model around a pretrained encoder."""

from __future__ import annotations

from typing import Any

from protofit.config.fields import to_dict
from protofit.data.labels import ClassOrder
from protofit.encoders.load import load_encoder, load_tokenizer
from protofit.encoders.resolve import EncoderSource
from protofit.model.configuration import ProtoFitConfig
from protofit.model.modeling import ProtoFitForSequenceClassification
from protofit.settings import Settings


def build_model(
    source: EncoderSource, settings: Settings, classes: ClassOrder | None
) -> tuple[ProtoFitForSequenceClassification, Any]:
    """(model, tokenizer) for these classes, or for regression where there are none."""
    tokenizer = load_tokenizer(source)
    encoder = load_encoder(source, settings.encoder.dropout)
    config = ProtoFitConfig(
        encoder=encoder.config.to_dict(),  # type: ignore[operator,union-attr]
        encoder_settings=to_dict(settings.encoder),
        encoder_name=source.name,
        method=settings.method,
        head=to_dict(settings.head),
        **label_arguments(classes),
    )
    return ProtoFitForSequenceClassification(config, encoder=encoder), tokenizer


def label_arguments(classes: ClassOrder | None) -> dict[str, Any]:
    """Label names and problem type as transformers wants them."""
    if classes is None:
        return {"num_labels": 1, "problem_type": "regression", "id2label": {0: "value"}}
    names = [str(label) for label in classes.classes]
    return {
        "problem_type": "single_label_classification",
        "id2label": dict(enumerate(names)),
        "label2id": {name: index for index, name in enumerate(names)},
    }


def suit_attention(model: Any, device_type: str) -> None:
    """Eager attention on a processor, where it is faster; the fused kernels elsewhere."""
    wanted = "eager" if device_type == "cpu" else "sdpa"
    encoder = model.encoder
    if getattr(encoder.config, "_attn_implementation", None) == wanted:
        return
    try:
        encoder.set_attn_implementation(wanted)
    except (ValueError, AttributeError, ImportError):
        return  # an encoder with one implementation keeps it
