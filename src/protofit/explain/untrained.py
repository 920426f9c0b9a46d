"""Texts as the encoder saw them before it was trained.

A trained encoder has fitted wrong labels like right ones: their texts lie among texts of the wrong
class. Before training they did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protofit.encoders.load import load_encoder
from protofit.encoders.resolve import resolve_encoder
from protofit.errors import InputError
from protofit.model.bundle import Bundle
from protofit.model.inference import frozen_features
from protofit.model.modeling import ProtoFitForSequenceClassification


def untrained_features(bundle: Bundle, inputs: Sequence[Any]) -> np.ndarray | None:
    """Directions (n, D) of length 1 from the mean; None where that encoder is not at hand.

    Only an encoder on this machine is used, the packaged one or a folder: nothing is fetched.
    """
    encoder = _encoder(bundle)
    if encoder is None or not len(inputs):
        return None
    twin = ProtoFitForSequenceClassification(bundle.model.config, encoder=encoder)
    twin.to(next(bundle.model.parameters()).device)
    tokens = bundle.tokens(inputs)
    features = frozen_features(twin, tokens, np.arange(len(tokens))).double().cpu().numpy()
    apart = features - features.mean(axis=0)
    lengths = np.linalg.norm(apart, axis=1, keepdims=True)
    return np.asarray(apart / np.maximum(lengths, 1e-12))


def _encoder(bundle: Bundle) -> Any:
    """The encoder that the training started from, if it is there and still of the same shape."""
    asked = bundle.record.get("encoder_asked")
    if not isinstance(asked, str):
        return None
    try:
        source = resolve_encoder(asked)
        encoder: Any = load_encoder(source) if source.local else None
    except InputError:
        return None
    ours = bundle.model.encoder.config
    same = ("model_type", "hidden_size", "vocab_size", "max_position_embeddings")
    if encoder is None or any(
        getattr(encoder.config, name, None) != getattr(ours, name, None) for name in same
    ):
        return None
    return encoder
