"""The decoder network: a recurrent network that reads the vector at every token.

    z = (f(x) − mean) / scale
    h_0 = tanh(A z),  h_t = GRU([E(w_{t−1}), C z], h_{t−1})
    P(w_t | w_<t, x) = softmax(E (O h_t + S z) + b)

E are the token embeddings, for reading and for writing. S z alone would be a bag of words.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from protofit.decoder.config import DecoderConfig
from protofit.decoder.spelling import END, NEXT, PAD, START, UNKNOWN


class Network(nn.Module):
    """Features (B, D) and the tokens so far → the next token of a vocabulary of V."""

    mean: Tensor
    scale: Tensor

    def __init__(self, dimension: int, vocabulary: int, config: DecoderConfig, *, paired: bool):
        super().__init__()
        embedding, hidden = config.embedding, config.hidden
        self.never = [PAD, START, UNKNOWN] if paired else [PAD, START, UNKNOWN, NEXT]
        self.register_buffer("mean", torch.zeros(dimension))
        self.register_buffer("scale", torch.ones(dimension))
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.start = nn.Linear(dimension, hidden)
        self.context = nn.Linear(dimension, embedding)
        self.recurrent = nn.GRU(2 * embedding, hidden, batch_first=True)
        self.write = nn.Linear(hidden, embedding)
        self.bag = nn.Linear(dimension, embedding, bias=False)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def standardise(self, features: Tensor) -> None:
        """Take mean and scale from the features (n, D) that the decoder is fitted on."""
        self.mean.copy_(features.mean(dim=0))
        spread = features.std(dim=0, unbiased=False)
        self.scale.copy_(spread.clamp_min(1e-3 * float(spread.mean()) + 1e-12))

    def standardised(self, features: Tensor) -> Tensor:
        """z (B, D)."""
        return (features - self.mean) / self.scale

    def states(self, z: Tensor, inputs: Tensor) -> Tensor:
        """z (B, D) and tokens read (B, T) → what is written, in the space of tokens (B, T, E)."""
        read = self.embedding(inputs)
        context = self.context(z)[:, None].expand(-1, inputs.shape[1], -1)
        first = torch.tanh(self.start(z))[None]
        hidden, _ = self.recurrent(torch.cat([read, context], dim=2), first)
        written: Tensor = self.write(hidden) + self.bag(z)[:, None]
        return written

    def logits(self, written: Tensor) -> Tensor:
        """(…, E) → (…, V); −∞ for what is never written."""
        scores = written @ self.embedding.weight.T + self.bias
        return scores.index_fill(-1, torch.tensor(self.never, device=scores.device), -torch.inf)

    @torch.no_grad()
    def greedy(self, features: Tensor, length: int) -> list[list[int]]:
        """The likeliest token at each turn, to END or `length`: rows of places, END left out."""
        z = self.standardised(features)
        context, hidden = self.context(z), torch.tanh(self.start(z))[None]
        bag = self.bag(z)
        last = torch.full((len(z),), START, device=z.device)
        rows, going = [], torch.ones(len(z), dtype=torch.bool, device=z.device)
        for _ in range(length):
            step = torch.cat([self.embedding(last), context], dim=1)[:, None]
            output, hidden = self.recurrent(step, hidden)
            last = self.logits(self.write(output[:, 0]) + bag).argmax(dim=1)
            going = going & (last != END)
            if not bool(going.any()):
                break
            rows.append(torch.where(going, last, END))
        if not rows:
            return [[] for _ in range(len(z))]
        return [[p for p in row if p != END] for row in torch.stack(rows, dim=1).tolist()]
