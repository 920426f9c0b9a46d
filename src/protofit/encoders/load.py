"""Load an encoder and its tokenizer: float32, safetensors only, no remote code, no noise."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Iterator
from logging import CRITICAL
from typing import Any, cast

import torch
from torch import nn

from protofit.data.hub import hub_reachable
from protofit.encoders.resolve import EncoderSource
from protofit.errors import InputError

LOADING_ERRORS = (
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
DROPOUT_NAMES = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "hidden_dropout",
    "attention_dropout",
    "embedding_dropout",
    "mlp_dropout",
    "dropout",
)


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence progress bars, loading reports and retries, and give them back."""
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    hub_verbosity = hub_logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    hub_logging.set_verbosity(CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.set_verbosity(verbosity)
        hub_logging.set_verbosity(hub_verbosity)
        if bars:
            logging.enable_progress_bar()


def load_tokenizer(source: EncoderSource) -> Any:
    """The encoder's tokenizer."""
    from transformers import AutoTokenizer

    with _explained(source, "tokenizer"):
        return AutoTokenizer.from_pretrained(source.location, **_how(source))


def load_encoder(source: EncoderSource, dropout: float | None = None) -> nn.Module:
    """The pretrained encoder in float32, without a pooler where its class allows that."""
    from transformers import AutoConfig, AutoModel

    with _explained(source, "encoder"):
        config = AutoConfig.from_pretrained(source.location, **_how(source))
        _set_dropout(config, dropout)
        model, report = AutoModel.from_pretrained(
            source.location,
            config=config,
            dtype=torch.float32,
            use_safetensors=True,
            output_loading_info=True,
            **_how(source),
            **pooler_arguments(config),
        )
    missing = [name for name in report["missing_keys"] if "pooler" not in name]
    if missing:
        raise InputError(
            f"the weights lack {len(missing)} tensors of the encoder, such as {min(missing)}",
            where=source.name,
            fix="Get the complete files: a part drawn at random would be used otherwise.",
        )
    return cast("nn.Module", model)


def _how(source: EncoderSource) -> dict[str, bool]:
    """No remote code; no network where none is needed, or none is there."""
    return {
        "trust_remote_code": False,
        "local_files_only": source.local or not hub_reachable(),
    }


def _set_dropout(config: Any, dropout: float | None) -> None:
    for name in DROPOUT_NAMES:
        if dropout is not None and hasattr(config, name):
            setattr(config, name, dropout)


def new_encoder(config: Any) -> nn.Module:
    """An encoder of this configuration with weights still to be loaded."""
    from transformers import AutoModel

    model: nn.Module = AutoModel.from_config(config, **pooler_arguments(config))
    return model


def pooler_arguments(config: Any) -> dict[str, bool]:
    """`add_pooling_layer=False` for the classes that know it: an unused pooler only costs."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING

    kind = MODEL_MAPPING.get(type(config), None)
    if kind is None or isinstance(kind, (list, tuple)):
        return {}
    known = inspect.signature(kind.__init__).parameters
    return {"add_pooling_layer": False} if "add_pooling_layer" in known else {}


@contextlib.contextmanager
def _explained(source: EncoderSource, what: str) -> Iterator[None]:
    """Turn the many errors of loading into one sentence."""
    try:
        with quiet_transformers():
            yield
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ImportError,
        RuntimeError,
    ) as error:
        reason = " ".join(str(error).split())[:300]
        fix = "Check that the folder is a complete Hugging Face text encoder."
        if not source.local:
            fix = "It is fetched from the Hub: check the name and the network, or give a folder."
        raise InputError(
            f"the {what} cannot be loaded ({reason})", where=source.name, fix=fix
        ) from error
    except Exception as error:  # safetensors raises its own class for a damaged file
        if type(error).__name__ != "SafetensorError":
            raise
        raise InputError(
            f"the weights are damaged ({error})", where=source.name, fix="Get the file again."
        ) from error
