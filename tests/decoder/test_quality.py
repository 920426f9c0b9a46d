"""The figures, against references that take a text and a token at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.decoding import SMALL
from protofit.decoder.fit import fresh_network
from protofit.decoder.quality import Quality, cosine, hold_out, standard_error, token_accuracy
from protofit.decoder.spelling import END, FIRST, START, UNKNOWN

QUALITY = Quality(
    texts=30, fitted=270, vocabulary=900, unknown=0.1, token_accuracy=0.2, blind_accuracy=0.1,
    similarity=0.5, bag=0.4, nearest=0.6, random=0.1, margin=0.1, margin_error=0.04,
)  # fmt: skip


@pytest.mark.parametrize("blind", [False, True])
def test_token_accuracy(blind: bool) -> None:
    """Every prefix given to the network on its own."""
    network = fresh_network(4, FIRST + 3, SMALL, paired=False, seed=3).eval()
    draw = np.random.default_rng(0)
    features = torch.from_numpy(draw.normal(3, 1, (70, 4)).astype(np.float32))
    network.standardise(features)
    rows = [draw.choice([UNKNOWN, FIRST, FIRST + 1, END], draw.integers(1, 6)) for _ in features]
    right = total = 0
    with torch.no_grad():
        for i, row in enumerate(rows):
            vector = network.mean[None] if blind else features[i : i + 1]
            z = network.standardised(vector)
            for t in range(len(row)):
                prefix = torch.tensor([[START, *row[:t].tolist()]])
                best = int(network.logits(network.states(z, prefix))[0, -1].argmax())
                right += best == row[t]
                total += 1
    found = token_accuracy(network, features, rows, blind=blind)
    assert found == pytest.approx(right / total)
    assert 0 < found < 1


def test_tokens_outside_the_vocabulary_count_as_wrong() -> None:
    network = fresh_network(2, FIRST + 1, SMALL, paired=False, seed=0)
    rows = [np.full(3, UNKNOWN)]
    assert token_accuracy(network, torch.zeros(1, 2), rows) == 0


def test_cosine() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.normal(size=(2, 5, 3))
    wanted = [float(x @ y / (np.sqrt(x @ x) * np.sqrt(y @ y))) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(cosine(a, b), wanted, rtol=1e-12)
    assert cosine(np.zeros((1, 3)), a[:1]) == [0]


@pytest.mark.parametrize(("count", "held"), [(20, 5), (60, 6), (300, 30)])
def test_held_out_texts_are_apart_from_the_others(count: int, held: int) -> None:
    fitted, out = hold_out(count, 0)
    assert len(out) == held
    assert sorted([*fitted, *out]) == list(range(count))
    assert not np.array_equal(out, hold_out(count, 1)[1])


def test_standard_error() -> None:
    values = np.array([1.0, 3.0, 2.0, 6.0])
    spread = sum((value - 3) ** 2 for value in values) / 3
    assert standard_error(values) == pytest.approx((spread / 4) ** 0.5)


def test_a_decoder_is_weak_unless_it_beats_the_bag_by_two_errors() -> None:
    assert not QUALITY.weak
    assert replace(QUALITY, margin_error=0.05).weak
    assert replace(QUALITY, margin=-0.5).weak
    assert replace(QUALITY, margin=float("nan")).weak


def test_the_verdict_says_so_with_the_figures() -> None:
    good, weak = QUALITY.verdict, replace(QUALITY, margin=0.0).verdict
    assert good.startswith("The decoder is better than a bag of words")
    assert weak.startswith("The decoder is weak here: it is not better than a bag of words")
    for said in ("0.50 against 0.40", "0.60", "20%", "10%", "30 texts held out of 300"):
        assert said in good
        assert said in weak


def test_the_verdict_says_where_more_is_to_be_read() -> None:
    assert QUALITY.verdict.endswith("say more about it than its decoded text.")
    assert replace(QUALITY, nearest=0.1).verdict.endswith("held out of 300.")
