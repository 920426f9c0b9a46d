"""A decoder on a model: fitted, measured, kept as two files of the model folder, taken off.

A decoder can repeat the texts it was fitted on. It is made only when asked for.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit.decoder.bag import Bag
from protofit.decoder.config import DecoderConfig
from protofit.decoder.fit import adopt_embeddings, fit_network, fresh_network
from protofit.decoder.network import Network
from protofit.decoder.quality import (
    BLOCK,
    Quality,
    cosine,
    hold_out,
    standard_error,
    token_accuracy,
    unit,
)
from protofit.decoder.spelling import UNKNOWN, Text, Vocabulary, spell
from protofit.errors import InputError, ModelFolderError
from protofit.model.bundle import Bundle, Inputs
from protofit.randomness import generator

WEIGHTS_FILE = "decoder.safetensors"
FACTS_FILE = "decoder.json"
FEWEST = 20  # different texts
DEFAULT = DecoderConfig()


@dataclass(frozen=True)
class Decoder:
    """A fitted decoder with the words it knows."""

    network: Network
    vocabulary: Vocabulary
    tokenizer: Any
    paired: bool
    config: DecoderConfig

    def decode(self, vectors: np.ndarray | Tensor) -> list[Text]:
        """The text, or pair, that each feature vector (n, D) is turned into."""
        device = next(self.network.parameters()).device
        features = torch.as_tensor(vectors, dtype=torch.float32, device=device)
        rows: list[list[int]] = []
        for start in range(0, len(features), BLOCK):
            rows += self.network.greedy(features[start : start + BLOCK], self.config.length + 1)
        return [self.vocabulary.read(self.tokenizer, row, paired=self.paired) for row in rows]


def fit_decoder(
    bundle: Bundle, inputs: Inputs, *, config: DecoderConfig | None = None, seed: int = 0
) -> Quality:
    """Fit a decoder on nine tenths of the different texts, measure it on the rest, attach it."""
    config = config or DEFAULT
    bundle.tokens(inputs[:1])  # refuses pairs for a model of single texts, and the reverse
    texts, spellings = _different(bundle, inputs, config, seed)
    features = bundle.features(bundle.tokens(texts))
    fitted, held = hold_out(len(texts), seed)
    unknown = bundle.tokenizer.unk_token_id
    vocabulary = Vocabulary.of([spellings[i] for i in fitted], config.vocabulary, unknown)
    network = fresh_network(
        features.shape[1], len(vocabulary), config, paired=bundle.paired, seed=seed
    )
    words = bundle.model.encoder.get_input_embeddings().weight  # type: ignore[operator]
    adopt_embeddings(network, words.detach().cpu()[list(vocabulary.ids)])
    rows = vocabulary.rows(spellings)
    fit_network(network, features[fitted], [rows[i] for i in fitted], config, seed)
    decoder = Decoder(network, vocabulary, bundle.tokenizer, bundle.paired, config)
    quality = measure(bundle, decoder, (texts, features, rows), (fitted, held), seed)
    attach(bundle, decoder, quality)
    return quality


def _different(
    bundle: Bundle, inputs: Inputs, config: DecoderConfig, seed: int
) -> tuple[list[Any], list[list[int]]]:
    """Different texts with their spellings; empty ones left out."""
    spellings = spell(bundle.tokenizer, inputs, config.length)
    first = {tuple(s): i for i, s in reversed(list(enumerate(spellings))) if max(s) >= 0}
    kept = np.sort(np.array(list(first.values()), np.int64))
    if len(kept) < FEWEST:
        raise InputError(
            f"there are {len(kept)} different texts",
            where="decoder",
            fix=f"Give at least {FEWEST}: a part of them is held out to measure the decoder.",
        )
    if len(kept) > config.texts:
        picks = generator(seed, "decoder texts").permutation(len(kept))[: config.texts]
        kept = kept[np.sort(picks)]
    return [inputs[i] for i in kept], [spellings[i] for i in kept]


def measure(
    bundle: Bundle,
    decoder: Decoder,
    data: tuple[list[Any], Tensor, list[np.ndarray]],
    split: tuple[np.ndarray, np.ndarray],
    seed: int,
) -> Quality:
    """Figures on the held-out rows of (texts, features, rows), beside what they compare with."""
    texts, features, rows = data
    fitted, held = split
    true, known = features[held].cpu().numpy(), features[fitted].cpu().numpy()
    z = decoder.network.standardised(features).detach().cpu().double().numpy()
    bag = Bag.fit(z[fitted], [texts[i] for i in fitted])

    def again(written: list[Any]) -> np.ndarray:
        return cosine(bundle.features(bundle.tokens(written)).cpu().numpy(), true)

    own, other = again(decoder.decode(true)), again(bag.write(z[held]))
    anyone = generator(seed, "decoder floor").integers(0, len(fitted), len(held))
    targets = [rows[i] for i in held]
    return Quality(
        texts=len(held),
        fitted=len(fitted),
        vocabulary=len(decoder.vocabulary.ids),
        unknown=float(np.mean(np.concatenate(targets) == UNKNOWN)),
        token_accuracy=token_accuracy(decoder.network, features[held], targets),
        blind_accuracy=token_accuracy(decoder.network, features[held], targets, blind=True),
        similarity=float(own.mean()),
        bag=float(other.mean()),
        nearest=float((unit(true) @ unit(known).T).max(axis=1).mean()),
        random=float(cosine(known[anyone], true).mean()),
        margin=float((own - other).mean()),
        margin_error=standard_error(own - other),
    )


def attach(bundle: Bundle, decoder: Decoder, quality: Quality) -> None:
    """Keep a decoder and its figures with the model; another one is replaced."""
    from safetensors.torch import save

    state = {n: v.detach().cpu().contiguous() for n, v in decoder.network.state_dict().items()}
    facts = {
        "config": asdict(decoder.config),
        "tokens": list(decoder.vocabulary.ids),
        "quality": asdict(quality),
    }
    detach(bundle)
    bundle.attachments[WEIGHTS_FILE] = save(state)
    bundle.attachments[FACTS_FILE] = (json.dumps(facts) + "\n").encode()


def detach(bundle: Bundle) -> bool:
    """Take the decoder off; whether there was one."""
    bundle.attachments.pop(WEIGHTS_FILE, None)
    bundle.cache.pop("decoder", None)
    bundle.cache.pop("decoded", None)
    return bundle.attachments.pop(FACTS_FILE, None) is not None


def quality_of(bundle: Bundle) -> Quality | None:
    """The figures of the decoder of a model, if it has one; the decoder itself is not loaded."""
    facts = _facts(bundle)
    return None if facts is None else Quality(**facts["quality"])


def decoder_of(bundle: Bundle) -> Decoder | None:
    """The decoder of a model, rebuilt when it is first asked for."""
    facts = _facts(bundle)
    if facts is None:
        return None
    if "decoder" not in bundle.cache:
        bundle.cache["decoder"] = _rebuilt(bundle, facts)
    known: Decoder = bundle.cache["decoder"]
    return known


def decode(bundle: Bundle, given: Any) -> list[Text]:
    """What the decoder makes of vectors (n, D), or of the features of texts."""
    decoder = decoder_of(bundle)
    if decoder is None:
        raise InputError(
            "the model has no decoder", fix="Fit one: fit_decoder(texts), or protofit decoder."
        )
    if not isinstance(given, np.ndarray):
        return decoder.decode(bundle.features(bundle.tokens(given)))
    if given.ndim != 2 or given.shape[1] != len(decoder.network.mean):
        raise InputError(
            f"the vectors have the shape {given.shape}",
            fix=f"Give vectors of {len(decoder.network.mean)} numbers: (n, D).",
        )
    return decoder.decode(given)


def _facts(bundle: Bundle) -> dict[str, Any] | None:
    content = bundle.attachments.get(FACTS_FILE)
    return None if content is None else dict(json.loads(content))


def _rebuilt(bundle: Bundle, facts: dict[str, Any]) -> Decoder:
    from safetensors.torch import load

    try:
        config, vocabulary = DecoderConfig(**facts["config"]), Vocabulary(tuple(facts["tokens"]))
        dimension = bundle.model.head.shape.dimension
        network = Network(dimension, len(vocabulary), config, paired=bundle.paired)
        network.load_state_dict(load(bundle.attachments[WEIGHTS_FILE]))
    except (KeyError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelFolderError(
            f"the decoder cannot be rebuilt ({reason})", where=WEIGHTS_FILE, fix="Fit it again."
        ) from error
    network.to(next(bundle.model.parameters()).device).eval()
    return Decoder(network, vocabulary, bundle.tokenizer, bundle.paired, config)
