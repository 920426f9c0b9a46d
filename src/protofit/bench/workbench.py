"""What trials of one process share: sets read once, texts tokenised once, encoders found once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from protofit.bench.clock import Clock
from protofit.bench.data import LabelledSet, load_set
from protofit.bench.trial import Trial
from protofit.config.encoder import EncoderConfig
from protofit.data.tokens import Tokens, tokenise
from protofit.encoders.limits import token_limit
from protofit.encoders.load import load_tokenizer, quiet_transformers
from protofit.encoders.resolve import EncoderSource, resolve_encoder


@dataclass(frozen=True)
class Places:
    """Where things are on this machine; nothing here changes a result."""

    data_dir: Path | None = None
    weights_dir: Path | None = None
    device: str | None = None  # None: the best there is
    peers_python: str | None = None  # interpreter of the external arms
    peers_dir: Path | None = None  # folder of their scripts


@dataclass(frozen=True)
class TokenisedSet:
    """The tokens of a whole set under one encoder."""

    pool: Tokens
    dev: dict[str, Tokens]


@dataclass
class Workbench:
    """Reads and tokenises on first use, and keeps what it has."""

    places: Places = field(default_factory=Places)
    clock: Clock = field(default_factory=Clock)  # engines begin nothing after its end
    _sets: dict[str, LabelledSet] = field(default_factory=dict)
    _tokens: dict[tuple[object, ...], TokenisedSet] = field(default_factory=dict)

    @cached_property
    def device(self) -> torch.device:
        """Where runs happen."""
        from protofit.training.accelerator import check_device

        check_device(self.places.device)
        found = "cuda" if torch.cuda.is_available() else "cpu"
        return torch.device(self.places.device or found)

    @property
    def device_name(self) -> str:
        """What the records call the device."""
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"

    def encoder(self, name: str) -> EncoderSource:
        """The folder `name` under the weights folder, or what `--encoder` understands."""
        folder = None if self.places.weights_dir is None else self.places.weights_dir / name
        return resolve_encoder(folder if folder is not None and folder.is_dir() else name)

    def configuration(self, name: str) -> Any:
        """The configuration of the encoder `name`."""
        from transformers import AutoConfig

        source = self.encoder(name)
        with quiet_transformers():
            return AutoConfig.from_pretrained(
                source.location, trust_remote_code=False, local_files_only=source.local
            )

    def set(self, name: str) -> LabelledSet:
        """The labelled set `name`."""
        if name not in self._sets:
            self._sets[name] = load_set(name, self.places.data_dir, apart=True)
        return self._sets[name]

    def tokens(self, trial: Trial) -> TokenisedSet:
        """The trial's set in the trial's tokens."""
        settings = trial.settings().encoder
        key = (trial.data, trial.encoder, settings.max_length, settings.prefix)
        if key not in self._tokens:
            self._tokens[key] = self._tokenise(trial, settings)
        return self._tokens[key]

    def _tokenise(self, trial: Trial, settings: EncoderConfig) -> TokenisedSet:
        labelled = self.set(trial.data)
        tokenizer = load_tokenizer(self.encoder(trial.encoder))
        limit = token_limit(settings.max_length, tokenizer, self.configuration(trial.encoder))
        split = {
            name: tokenise(part.inputs, tokenizer, limit, settings.prefix)
            for name, part in labelled.dev.items()
        }
        return TokenisedSet(
            tokenise(labelled.train.inputs, tokenizer, limit, settings.prefix), split
        )


def take_tokens(tokens: Tokens, rows: np.ndarray) -> Tokens:
    """The tokens of these rows, in that order."""
    spans = [slice(tokens.offsets[row], tokens.offsets[row + 1]) for row in rows]
    return Tokens(
        ids=np.concatenate([tokens.ids[span] for span in spans]),
        types=None if tokens.types is None else np.concatenate([tokens.types[s] for s in spans]),
        offsets=np.concatenate([[0], np.cumsum(tokens.lengths[rows])]).astype(np.int64),
        pad_id=tokens.pad_id,
        truncated=0,  # counted for the whole set only
    )
