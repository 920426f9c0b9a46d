"""A trained model with all it needs to meet a text: tokenizer, class order, record, trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit._version import __version__
from protofit.data.labels import ClassOrder
from protofit.data.tokens import Tokens, tokenise
from protofit.encoders.limits import token_limit
from protofit.encoders.load import quiet_transformers
from protofit.errors import InputError, ModelFolderError
from protofit.model.build import suit_attention
from protofit.model.history import Version, load_history, load_names, save_history, save_names
from protofit.model.index import TrainingIndex
from protofit.model.inference import frozen_features, predict_logits
from protofit.model.modeling import ProtoFitForSequenceClassification
from protofit.settings import Settings
from protofit.storage.atomic import recover, replace_folder, sweep, write_file
from protofit.storage.manifest import read_manifest, refuse_foreign, write_manifest
from protofit.storage.tensors import writing_folder
from protofit.storage.trace import TRACE_FILE, Row, read_trace, trace_csv

FORMAT_VERSION = (
    2  # 2: with an index, names, a history or attachments; a folder without is written as 1
)
Inputs = Sequence[str] | Sequence[tuple[str, str]]


@dataclass
class Bundle:
    """What `save` writes and `load` reads."""

    model: ProtoFitForSequenceClassification
    tokenizer: Any
    classes: ClassOrder | None  # None: regression
    paired: bool  # trained on pairs of texts
    settings: Settings
    record: dict[str, Any] = field(default_factory=dict)  # how it was trained
    trace: list[Row] = field(default_factory=list)
    index: TrainingIndex | None = None  # features of the training texts, on request
    names: dict[int, str] = field(default_factory=dict)  # of prototypes, by row
    history: list[Version] = field(default_factory=list)  # what edits replaced, oldest first
    attachments: dict[str, bytes] = field(default_factory=dict, repr=False)  # files of other layers
    cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # never saved

    @property
    def task(self) -> str:
        """`classification` or `regression`."""
        return self.model.config.task

    def tokens(self, inputs: Inputs) -> Tokens:
        """Tokenise texts or pairs as in training."""
        if len(inputs) and isinstance(inputs[0], str) == self.paired:
            found, fix = ("single texts", "pairs (text, text)")
            if not self.paired:
                found, fix = fix, found
            raise InputError(f"the model was trained on {fix} and got {found}", fix=f"Give {fix}.")
        return tokenise(inputs, self.tokenizer, self.limit, self.settings.encoder.prefix)

    @property
    def limit(self) -> int:
        """Tokens at which a text is cut: what was asked for, or less if the encoder takes less."""
        asked = self.settings.encoder.max_length
        return token_limit(asked, self.tokenizer, self.model.encoder.config)

    def cut_words(self, tokens: Tokens) -> str:
        """How many texts were cut, where, and by what, as a warning says it."""
        asked = self.limit == self.settings.encoder.max_length
        why = "encoder.max_length" if asked else "the most that this encoder takes"
        found = f"{tokens.truncated} of {len(tokens)} texts were cut"
        return f"{found} at {self.limit} tokens ({why})"

    def logits(self, tokens: Tokens) -> np.ndarray:
        """Log-probabilities (n, C), or values (n, 1)."""
        suit_attention(self.model, next(self.model.parameters()).device.type)
        return predict_logits(self.model, tokens)

    def features(self, tokens: Tokens) -> Tensor:
        """f(x) in float32: (n, D)."""
        if not len(tokens):
            return torch.zeros(0, self.model.head.shape.dimension)
        suit_attention(self.model, next(self.model.parameters()).device.type)
        return frozen_features(self.model, tokens, np.arange(len(tokens)))

    def save(self, folder: Path) -> None:
        """Write the model folder aside, then put it in place in one step, over a model if any."""
        refuse_foreign(folder)
        with writing_folder(folder), replace_folder(folder) as fresh, quiet_transformers():
            self.model.save_pretrained(str(fresh))
            self.tokenizer.save_pretrained(str(fresh))
            (fresh / TRACE_FILE).write_text(trace_csv(self.trace), encoding="utf-8")
            if self.index is not None:
                self.index.save(fresh)
            save_names(fresh, self.names)
            save_history(fresh, self.history)
            for name, content in self.attachments.items():
                write_file(fresh / name, content)
            extra: dict[str, object] = {
                "protofit_version": __version__,
                "task": self.task,
                "classes": None if self.classes is None else self.classes.to_json(),
                "paired": self.paired,
                "settings": self.settings.to_dict(),
                "record": self.record,
            }
            if self.attachments:
                extra["attachments"] = sorted(self.attachments)
            more = self.index is not None or self.names or self.history or self.attachments
            write_manifest(fresh, extra, format_version=FORMAT_VERSION if more else 1)

    @classmethod
    def load(cls, folder: Path) -> Bundle:
        """Read a model folder after checking every byte of it."""
        recover(folder)
        sweep(folder)
        content: dict[str, Any] = read_manifest(folder, supported=FORMAT_VERSION)
        try:
            classes = content["classes"]
            order = None if classes is None else ClassOrder.from_json(classes)
            settings = Settings.from_dict(content["settings"])
            paired, record = bool(content["paired"]), dict(content["record"])
            model, tokenizer = _load_model(folder)
        except ModelFolderError:
            raise
        except InputError as error:
            raise ModelFolderError(error.found, where=str(folder), fix=error.fix) from error
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelFolderError(
                f"the manifest lacks or garbles {error}", where=str(folder), fix="Train again."
            ) from error
        return cls(
            model, tokenizer, order, paired, settings, record,
            trace=read_trace(folder / TRACE_FILE),
            index=TrainingIndex.load(folder),
            names=load_names(folder),
            history=load_history(folder, model),
            attachments=_load_attachments(folder, content),
        )  # fmt: skip


def _load_attachments(folder: Path, content: dict[str, Any]) -> dict[str, bytes]:
    """What other layers keep with a model, unread; only files that the manifest vouches for."""
    names = content.get("attachments", [])
    if not isinstance(names, list) or set(map(str, names)) - set(content["files"]):
        raise ModelFolderError(
            "the manifest garbles its attachments", where=str(folder), fix="Train again."
        )
    return {name: (folder / name).read_bytes() for name in names}


def _load_model(folder: Path) -> tuple[ProtoFitForSequenceClassification, Any]:
    from transformers import AutoTokenizer

    try:
        with quiet_transformers():
            model = ProtoFitForSequenceClassification.from_pretrained(
                str(folder), use_safetensors=True, local_files_only=True
            )
            tokenizer = AutoTokenizer.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False
            )
    except (OSError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ModelFolderError(
            f"the model cannot be rebuilt ({reason})", where=str(folder), fix="Train again."
        ) from error
    model.eval()
    return model, tokenizer
