"""Fit a decoder to texts and their features; the encoder is not touched."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from protofit.decoder.config import DecoderConfig
from protofit.decoder.network import Network
from protofit.decoder.spelling import FIRST, PAD, UNKNOWN, padded, shifted
from protofit.randomness import generator, stream_seed


def fresh_network(
    dimension: int, vocabulary: int, config: DecoderConfig, *, paired: bool, seed: int
) -> Network:
    """A network whose first weights come from the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(stream_seed(seed, "decoder weights"))
        network = Network(dimension, vocabulary, config, paired=paired)
        torch.nn.init.normal_(network.embedding.weight, std=config.embedding**-0.5)
    return network


@torch.no_grad()
def adopt_embeddings(network: Network, words: Tensor) -> None:
    """Start from the encoder's embeddings (V', D') of the tokens: their principal axes.

    Scaled to the size that random ones have; tokens from FIRST on.
    """
    table = network.embedding.weight
    width = min(table.shape[1], words.shape[1])
    centred = words.double() - words.double().mean(dim=0)
    _, axes = torch.linalg.eigh(centred.T @ centred)
    reduced = centred @ axes[:, -width:].flip(1)
    size = reduced.square().mean().sqrt().clamp_min(1e-12) * table.shape[1] ** 0.5
    table[FIRST:, :width] = (reduced / size).to(table)


def steps_of(count: int, config: DecoderConfig) -> int:
    """Steps for `count` texts: the epochs asked for, between the least and the most steps."""
    wanted = config.epochs * math.ceil(count / config.batch_size)
    return min(max(wanted, config.least_steps), config.most_steps)


def fit_network(
    network: Network,
    features: Tensor,
    rows: Sequence[np.ndarray],
    config: DecoderConfig,
    seed: int,
) -> None:
    """Teacher forcing with noise on the features and some words hidden from the reader."""
    count, device = len(rows), features.device
    network.standardise(features)
    network.to(device).train()
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    steps = steps_of(count, config)
    order = np.zeros(0, np.int64)
    for step in range(steps):
        if len(order) < min(config.batch_size, count):
            epoch = generator(seed, "decoder order", step).permutation(count)
            order = np.concatenate([order, epoch])
        batch, order = order[: config.batch_size], order[config.batch_size :]
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * (1 - step / steps)
        loss = _loss(network, features, [rows[i] for i in batch], batch, config, (seed, step))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    network.eval()


def _loss(
    network: Network,
    features: Tensor,
    rows: Sequence[np.ndarray],
    batch: np.ndarray,
    config: DecoderConfig,
    place: tuple[int, int],
) -> Tensor:
    """Mean −log P of the tokens of a batch; tokens outside the vocabulary do not count."""
    draw = generator(place[0], "decoder noise", place[1])
    targets = padded(rows)
    inputs = shifted(targets)
    hidden = (draw.random(inputs.shape) < config.word_drop) & (inputs >= FIRST)
    inputs = np.where(hidden, UNKNOWN, inputs)
    device = features.device
    z = network.standardised(features[torch.from_numpy(batch).to(device)])
    z = z + config.noise * torch.from_numpy(draw.standard_normal(z.shape)).to(z)
    written = network.states(z, torch.from_numpy(inputs).to(device))
    counted = torch.from_numpy((targets != PAD) & (targets != UNKNOWN)).to(device)
    wanted = torch.from_numpy(targets).to(device)[counted]
    return cross_entropy(network.logits(written[counted]), wanted)
