"""The network and its fitting: exact on a handful of sentences, and the same under a seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.decoding import SMALL, sentences
from helpers.tiny import make_tokenizer
from protofit.decoder.config import DecoderConfig
from protofit.decoder.fit import adopt_embeddings, fit_network, fresh_network, steps_of
from protofit.decoder.network import Network
from protofit.decoder.spelling import END, FIRST, NEXT, PAD, START, UNKNOWN, Vocabulary, spell

LEARNS = replace(SMALL, least_steps=150, most_steps=150, learning_rate=1e-2, noise=0.0)


def problem(count: int = 8, dimension: int = 12) -> tuple[Tensor, list[np.ndarray], Vocabulary]:
    """Random features for sentences."""
    spellings = spell(make_tokenizer(), sentences(count), 20)
    vocabulary = Vocabulary.of(spellings, 100, None)
    draw = torch.Generator().manual_seed(0)
    return torch.randn(count, dimension, generator=draw), vocabulary.rows(spellings), vocabulary


def fit(config: DecoderConfig = SMALL, seed: int = 0) -> Network:
    features, rows, vocabulary = problem()
    network = fresh_network(12, len(vocabulary), config, paired=False, seed=seed)
    fit_network(network, features, rows, config, seed)
    return network


def exact(network: Network) -> int:
    features, rows, _ = problem()
    written = network.greedy(features, 20)
    return sum(a == b[b != END].tolist() for a, b in zip(written, rows, strict=True))


def test_a_handful_of_sentences_is_reconstructed_exactly() -> None:
    """Greedy from the vector alone, every token; a network that was not fitted writes none."""
    _, rows, vocabulary = problem()
    assert exact(fresh_network(12, len(vocabulary), LEARNS, paired=False, seed=0)) == 0
    assert exact(fit(LEARNS)) == len(rows)


def test_the_vector_decides_what_is_written() -> None:
    """Features in another order give the sentences in that order."""
    features, _, _ = problem()
    network = fit(LEARNS)
    order = [3, 0, 7]
    assert network.greedy(features[order], 20) == [network.greedy(features, 20)[i] for i in order]


def test_the_same_seed_gives_the_same_decoder_whatever_was_drawn_before() -> None:
    first = fit().state_dict()
    torch.rand(17)
    np.random.rand(17)
    before = torch.get_rng_state()
    second, other = fit().state_dict(), fit(seed=1).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["write.weight"], other["write.weight"])


def test_greedy_writes_what_one_step_after_the_other_says() -> None:
    """A slow loop over the teacher-forced network, a text at a time."""
    features, _, _ = problem()
    network = fit(replace(LEARNS, least_steps=40, most_steps=40))
    for i, written in enumerate(network.greedy(features, 6)):
        read: list[int] = [START]
        with torch.no_grad():
            z = network.standardised(features[i : i + 1])
            while len(read) <= 6:
                states = network.states(z, torch.tensor([read]))
                best = int(network.logits(states)[0, -1].argmax())
                if best == END:
                    break
                read.append(best)
        assert written == read[1:]


@pytest.mark.parametrize("paired", [False, True])
def test_what_cannot_be_written_has_no_chance(paired: bool) -> None:
    network = fresh_network(3, FIRST + 2, SMALL, paired=paired, seed=0)
    chances = network.logits(torch.randn(4, SMALL.embedding)).softmax(dim=1)
    never = {PAD, START, UNKNOWN} | (set() if paired else {NEXT})
    zero = {i for i in range(FIRST + 2) if bool((chances[:, i] == 0).all())}
    assert zero == never


def test_standardised_features_have_mean_0_and_spread_1() -> None:
    network = fresh_network(5, FIRST + 1, SMALL, paired=False, seed=0)
    features = torch.randn(50, 5) * torch.tensor([1.0, 10, 0.1, 3, 0]) + 7
    network.standardise(features)
    z = network.standardised(features)
    assert torch.allclose(z.mean(dim=0), torch.zeros(5), atol=1e-3)
    assert torch.allclose(z.std(dim=0, unbiased=False)[:4], torch.ones(4), atol=1e-4)
    assert bool(torch.isfinite(z).all())


def test_adopted_embeddings_keep_who_is_near_whom() -> None:
    """The principal axes keep all inner products where nothing is cut off."""
    network = fresh_network(3, FIRST + 6, SMALL, paired=False, seed=0)
    words = torch.randn(6, 10, generator=torch.Generator().manual_seed(1))
    before = network.embedding.weight[:FIRST].clone()
    adopt_embeddings(network, words)
    table = network.embedding.weight.detach()
    centred = words - words.mean(dim=0)
    wanted, found = centred @ centred.T, table[FIRST:, :10] @ table[FIRST:, :10].T
    ratio = float(wanted.trace() / found.trace())
    torch.testing.assert_close(found * ratio, wanted, atol=1e-3, rtol=1e-3)
    assert torch.equal(table[:FIRST], before)
    size = float(table[FIRST:, :10].square().mean().sqrt())
    assert size == pytest.approx(SMALL.embedding**-0.5, rel=1e-4)


def test_number_of_steps() -> None:
    config = DecoderConfig(batch_size=10, epochs=3, least_steps=5, most_steps=50)
    assert [steps_of(n, config) for n in (5, 31, 10_000)] == [5, 12, 50]
