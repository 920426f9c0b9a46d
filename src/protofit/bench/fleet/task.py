"""One set under one encoder, on the device: texts, labels, frozen features, first weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit.bench.fleet.fleet import Fleet
from protofit.bench.fleet.texts import DeviceTexts, Vocabulary, packed_length
from protofit.bench.fleet.weights import EncoderShape, base_weights
from protofit.bench.trial import Trial
from protofit.bench.workbench import Workbench, take_tokens
from protofit.encoders.load import load_encoder
from protofit.encoders.pool import mean_pool
from protofit.model.inference import evaluating, over_tokens
from protofit.model.precision import encoder_precision

FROZEN_BATCH = 256
DEV_BATCH = 128  # texts a run and pass


class FleetTask:
    """What all runs on a set share; `rows` of its pool are renumbered 0 … n − 1."""

    def __init__(self, trials: Sequence[Trial], bench: Workbench) -> None:
        first = trials[0]
        self.bench, self.device = bench, bench.device
        self.labelled = bench.set(first.data)
        subsets = {(t.size, t.seed): self.labelled.subset(t.size, t.seed) for t in trials}
        self.pool_rows = np.unique(np.concatenate(list(subsets.values())))
        place = {int(row): i for i, row in enumerate(self.pool_rows)}
        self.subsets = {
            key: np.array([place[int(row)] for row in rows]) for key, rows in subsets.items()
        }
        self.hashes = {key: self.labelled.subset_hash(rows) for key, rows in subsets.items()}
        tokens = bench.tokens(first)
        self.dev_tokens = tokens.dev
        train = take_tokens(tokens.pool, self.pool_rows)
        model: Any = load_encoder(bench.encoder(first.encoder), dropout=None)
        self._encoder, self._train_tokens = model, train
        self.shape = EncoderShape.of(model.config)
        self.vocabulary = Vocabulary.of(train, int(model.config.vocab_size))
        base = base_weights(model.state_dict(), self.shape.layers)
        self.base = {name: value.to(self.device) for name, value in base.items()}
        self.texts = DeviceTexts.of(train, self.device, self.vocabulary.places)
        labels = self.labelled.train.labels[self.pool_rows]
        self.labels = torch.from_numpy(labels).to(self.device)
        self.frozen = self._frozen(skip=False)
        self._frozen_skip: Tensor | None = None
        self._dev: dict[str, DeviceTexts] = {}

    def small_base(self) -> dict[str, Tensor]:
        """First weights with the word embeddings that training can change."""
        used = torch.from_numpy(self.vocabulary.used).to(self.device)
        return {**self.base, "words": self.base["words"][used]}

    def frozen_features(self, *, skip: bool) -> Tensor:
        """Evaluation-mode features of every row before training, in float32: (n, D)."""
        if not skip:
            return self.frozen
        if self._frozen_skip is None:
            self._frozen_skip = self._frozen(skip=True)
        return self._frozen_skip

    def _frozen(self, *, skip: bool) -> Tensor:
        """With the encoder as it comes: no stacking, no packing."""
        model, tokens = self._encoder.to(self.device), self._train_tokens

        def features(batch: dict[str, Tensor]) -> Tensor:
            mask = batch["attention_mask"]
            pooled = mean_pool(model(**batch)[0], mask)
            if skip:
                pooled = pooled + mean_pool(model.get_input_embeddings()(batch["input_ids"]), mask)
            return pooled

        rows = np.arange(len(tokens))
        with evaluating(model), encoder_precision("float32", self.device):
            return over_tokens(tokens, rows, features, self.device, FROZEN_BATCH)

    def dev_texts(self, split: str) -> DeviceTexts:
        """A split's tokens on the device, in the full vocabulary."""
        if split not in self._dev:
            self._dev[split] = DeviceTexts.of(self.dev_tokens[split], self.device)
        return self._dev[split]

    @torch.no_grad()
    def predict(
        self, fleet: Fleet, heads: Sequence[torch.nn.Module], split: str
    ) -> list[np.ndarray]:
        """What each head says of a split with its own encoder: (n, C) each, in order.

        The heads are those of the first copies; the others are left out.
        """
        texts, used = self.dev_texts(split), len(heads)
        weights = self._full_weights(fleet, used)
        order = np.argsort(texts.widths, kind="stable")
        parts: list[list[Tensor]] = [[] for _ in heads]
        for start in range(0, len(order), DEV_BATCH):
            part = order[start : start + DEV_BATCH]
            rows = torch.from_numpy(part).to(self.device).expand(used, -1)
            batch = texts.pack(rows, packed_length(int(texts.widths[part].sum())))
            features = fleet.encoder(weights, batch, fleet.skip[:used], training=False)
            for r, head in enumerate(heads):
                with evaluating(head):
                    parts[r].append(head(features[r]))
        back = np.argsort(order, kind="stable")
        return [torch.cat(part).float().cpu().numpy()[back] for part in parts]

    def _full_weights(self, fleet: Fleet, used: int) -> Mapping[str, Tensor]:
        """The trained weights with the embeddings of all tokens, trained or not."""
        leaves = fleet.weights.detached(used)
        trained = leaves["words"]
        words = self.base["words"].to(trained.dtype).repeat(used, 1, 1)
        words[:, torch.from_numpy(self.vocabulary.used).to(self.device)] = trained
        return {**leaves, "words": words}
