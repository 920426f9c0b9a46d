"""The stacked encoder and optimiser against the encoder and optimiser they stand for."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from protofit.bench.fleet.fleet import Fleet
from protofit.bench.fleet.texts import DeviceTexts, Vocabulary, packed_length
from protofit.bench.fleet.weights import EncoderShape, base_weights
from protofit.data.tokens import Tokens
from protofit.encoders.pool import mean_pool
from protofit.errors import InputError

RATES = [1e-3, 3e-4, 0.0]
ROWS = np.array([[0, 4, 2, 7], [1, 3, 5, 6], [7, 0, 1, 2]])


@pytest.fixture(scope="module")
def encoder(tiny_bert: Path) -> Any:
    from transformers import AutoModel

    model = AutoModel.from_pretrained(tiny_bert, add_pooling_layer=False)
    model.set_attn_implementation("eager")
    return model.eval()


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    draw = np.random.default_rng(0)
    lengths = draw.integers(3, 14, 8)
    ids = draw.integers(5, 60, int(lengths.sum())).astype(np.int32)
    types = draw.integers(0, 2, len(ids)).astype(np.uint8)
    return Tokens(ids, types, np.concatenate([[0], np.cumsum(lengths)]), 0, 0)


def make_fleet(encoder: Any, tokens: Tokens, *, dropout: bool = False) -> tuple[Fleet, Vocabulary]:
    shape = EncoderShape.of(encoder.config)
    if not dropout:
        shape = EncoderShape(shape.layers, shape.heads, shape.dimension, shape.norm_eps, 0.0, 0.0)
    vocabulary = Vocabulary.of(tokens, encoder.config.vocab_size)
    base = base_weights(encoder.state_dict(), shape.layers)
    base["words"] = base["words"][torch.from_numpy(vocabulary.used)]
    texts = DeviceTexts.of(tokens, torch.device("cpu"), vocabulary.places)
    fleet = Fleet(shape, base, texts, copies=3, batch=4, low=torch.float32)
    fleet.reset(RATES, [False, False, True])
    return fleet, vocabulary


def features_of(encoder: Any, tokens: Tokens, rows: np.ndarray, *, skip: bool) -> Tensor:
    batch = tokens.batch(rows, torch.device("cpu"))
    pooled = mean_pool(encoder(**batch)[0], batch["attention_mask"])
    if skip:
        words = encoder.get_input_embeddings()(batch["input_ids"])
        pooled = pooled + mean_pool(words, batch["attention_mask"])
    return pooled


def test_every_copy_gives_the_features_of_the_encoder(encoder: Any, tokens: Tokens) -> None:
    fleet, _ = make_fleet(encoder, tokens)
    found = fleet.embed([ROWS[0], ROWS[1][:2], ROWS[2]])
    with torch.no_grad():
        for r, rows in enumerate([ROWS[0], ROWS[1][:2], ROWS[2]]):
            wanted = features_of(encoder, tokens, rows, skip=r == 2)
            torch.testing.assert_close(found[r], wanted, atol=2e-6, rtol=1e-5)


def test_steps_are_those_of_adam_on_separate_encoders(encoder: Any, tokens: Tokens) -> None:
    import copy

    fleet, vocabulary = make_fleet(encoder, tokens)
    draw = np.random.default_rng(1)
    pulls = [torch.from_numpy(draw.normal(size=(3, 4, 32)).astype(np.float32)) for _ in range(3)]
    for pull in pulls:
        fleet.rows.copy_(torch.from_numpy(ROWS))
        fleet.forward(64)
        fleet.gradient.copy_(pull)
        fleet.backward(64)
    for r, rate in enumerate(RATES):
        alone = copy.deepcopy(encoder)
        adam = torch.optim.Adam(alone.parameters(), lr=rate)
        for pull in pulls:
            adam.zero_grad()
            features_of(alone, tokens, ROWS[r], skip=r == 2).backward(pull[r])
            adam.step()
        wanted = base_weights(alone.state_dict(), 2)
        whole = wanted["words"].clone()
        wanted["words"] = wanted["words"][torch.from_numpy(vocabulary.used)]
        for name, value in wanted.items():
            close, kept = fleet.weights.master[name][r], torch.ones(len(value), dtype=torch.bool)
            if name.endswith("qkv.bias"):
                kept[32:64] = False  # the key's has no gradient but rounding
            torch.testing.assert_close(close[kept], value[kept], atol=5e-6, rtol=1e-4)
        never = np.setdiff1d(np.arange(len(whole)), vocabulary.used)
        first = encoder.state_dict()["embeddings.word_embeddings.weight"]
        assert torch.equal(whole[never], first[never])  # why a small table is enough


def test_dropout_is_drawn_in_training_only(encoder: Any, tokens: Tokens) -> None:
    fleet, _ = make_fleet(encoder, tokens, dropout=True)
    fleet.rows.copy_(torch.from_numpy(ROWS))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        fleet.forward(64)
        first = fleet.features.clone()
        fleet.forward(64)
    assert not torch.equal(first, fleet.features)
    assert torch.equal(fleet.embed(list(ROWS))[0], fleet.embed(list(ROWS))[0])


def test_reset_and_restore_put_weights_back(encoder: Any, tokens: Tokens) -> None:
    fleet, _ = make_fleet(encoder, tokens)
    before = fleet.embed(list(ROWS))
    kept = fleet.weights.spare()
    fleet.rows.copy_(torch.from_numpy(ROWS))
    for _ in range(2):
        fleet.forward(64)
        fleet.gradient.fill_(1)
        fleet.backward(64)
    fleet.weights.keep(kept, 0)
    moved = fleet.embed(list(ROWS))
    assert not torch.allclose(before[0], moved[0])
    fleet.weights.restore(kept)
    after = fleet.embed(list(ROWS))
    assert torch.equal(after[0], moved[0])
    assert torch.equal(after[1], before[1])
    fleet.reset(RATES, [False, False, True])
    assert torch.equal(fleet.embed(list(ROWS))[0], before[0])
    assert float(fleet.adam.count) == 0


@given(st.integers(1, 20_000))
def test_a_packed_length_holds_its_tokens(tokens: int) -> None:
    length = packed_length(tokens)
    assert tokens <= length < tokens + max(64, tokens / 7)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(0, 7), min_size=5, max_size=5), min_size=1, max_size=3))
def test_packed_tokens_are_those_of_the_texts(tokens: Tokens, rows: list[list[int]]) -> None:
    texts = DeviceTexts.of(tokens, torch.device("cpu"))
    length = packed_length(int(texts.widths[np.array(rows)].sum(axis=1).max()))
    batch = texts.pack(torch.tensor(rows), length)
    longest = int(texts.widths.max())
    ends = batch.bounds.tolist()
    assert (ends[0], ends[-1]) == (0, len(rows) * length)
    assert all(0 <= after - before <= longest for before, after in itertools.pairwise(ends))
    for r, picked in enumerate(rows):
        place = 0
        for b, row in enumerate(picked):
            span = slice(tokens.offsets[row], tokens.offsets[row + 1])
            here = slice(place, place + len(tokens.ids[span]))
            assert batch.ids[r, here].tolist() == tokens.ids[span].tolist()
            assert batch.types[r, here].tolist() == tokens.types[span].tolist()
            assert batch.positions[r, here].tolist() == list(range(here.stop - place))
            assert batch.owner[r, here].unique().tolist() == [b]
            place = here.stop
            assert r * length + place in ends
        assert (batch.owner[r, place:] == len(picked)).all()
    sums = batch.averaging().sum(dim=2)
    torch.testing.assert_close(sums, torch.ones_like(sums))


def test_an_encoder_of_another_family_is_refused() -> None:
    from transformers import RobertaConfig

    with pytest.raises(InputError, match="cannot be stacked"):
        EncoderShape.of(RobertaConfig())
