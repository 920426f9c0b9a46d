"""Step time of PFit over raw at K = 2, 64, 512: same encoder shape, same batches, interleaved.

    python benchmarks/head_overhead.py --rounds 100 --threads 1 \
        --out benchmarks/records/head_overhead.json
    python benchmarks/head_overhead.py --sizes 64 --rounds 180 --threads 1 \
        --out benchmarks/records/head_overhead_64.json
    python benchmarks/head_overhead.py --shape bert-base --sizes 64 --presets default paper \
        --threads 2 --rounds 24 --out benchmarks/records/head_overhead_bert_base_cpu.json

A step is forward, backward, optimiser, creation, window, pruning: what the training loop does.
Every round runs every arm on the same batches in a random order; the figure is the median PFit time
over the median raw time, with a bootstrap interval that draws whole rounds. Rounds are one step
long, so that what else the machine does falls on all arms alike.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from protofit import Settings, __version__
from protofit.data.labels import ClassOrder
from protofit.data.tokens import tokenise
from protofit.encoders.resolve import resolve_encoder
from protofit.model.build import build_model, suit_attention
from protofit.model.inference import frozen_features
from protofit.model.precision import encoder_precision
from protofit.training.optimiser import build_optimiser, zero_rows

SIZES = (2, 64, 512)
CLASSES = 2
SHAPES = {
    "bert-base": {},
    "tiny": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 64},
}  # fmt: skip
WORDS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def make_arm(name: str, encoder: str, device: torch.device) -> dict:
    method, _, size = name.partition("@")
    preset, overrides = "default", {}
    if method != "raw":
        preset = method.removeprefix("pfit-")
        overrides = {"head.creation.capacity": int(size), "head.prune.window": 300}
    kind = "raw" if method == "raw" else "pfit"
    settings = Settings.build(preset, kind, {**overrides, "train.schedule": "constant"})
    classes = ClassOrder.of(["a", "b"])
    model, tokenizer = build_model(resolve_encoder(encoder), settings, classes)
    model.to(device).train()
    suit_attention(model, device.type)
    if kind == "pfit":
        fill_bank(model, tokenizer, int(size))
    return {
        "name": name,
        "model": model,
        "tokenizer": tokenizer,
        "optimiser": build_optimiser(model, settings.train),
        "seconds": [],
    }


def make_texts(count: int, words: int, draw: np.random.Generator) -> list[str]:
    return [" ".join(draw.choice(WORDS, words)) for _ in range(count)]


def fill_bank(model, tokenizer, size: int) -> None:
    """Embeddings of `size` texts as prototypes; creation open, pruning due every 50 steps."""
    head = model.head
    tokens = tokenise(make_texts(size, 24, np.random.default_rng(1)), tokenizer, 128)
    vectors = frozen_features(model, tokens, np.arange(size))
    labels = torch.arange(size, device=vectors.device) % CLASSES
    chosen = torch.ones_like(labels, dtype=torch.bool)
    head.bank.add(vectors, head.first_outputs(labels), labels, chosen, head.clock)
    head.due.copy_(torch.tensor([0, 10**9, 50, 10**9]))


def one_step(arm: dict, batch: dict, labels: torch.Tensor, device: torch.device) -> None:
    model, optimiser = arm["model"], arm["optimiser"]
    with encoder_precision("auto", device):
        model(**batch, labels=labels).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for parameter, rows in model.head.recycled():
        zero_rows(optimiser, parameter, rows)
    optimiser.step()
    optimiser.zero_grad()
    model.head.settle()


def make_encoder(shape: str, folder: str) -> str:
    """An encoder of this shape with random weights: a step costs what it costs with others."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    tokenizer = AutoTokenizer.from_pretrained(resolve_encoder("embedded").location)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(BertConfig(**SHAPES[shape]), add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def interval(own: np.ndarray, raw: np.ndarray, draw: np.random.Generator) -> list[float]:
    """95 % of the ratios of medians when rounds are drawn with replacement."""
    rounds = draw.integers(0, len(raw), size=(4000, len(raw)))
    ratios = np.median(own[rounds], axis=1) / np.median(raw[rounds], axis=1)
    return np.quantile(ratios, [0.025, 0.975]).round(4).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="embedded")
    parser.add_argument("--shape", choices=SHAPES, help="random weights instead of --encoder")
    parser.add_argument("--presets", nargs="+", default=["paper", "default"])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of prototypes")
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--steps", type=int, default=1, help="batches a round, 32 texts each")
    parser.add_argument("--words", type=int, default=24, help="words of a text")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    device = torch.device(args.device)
    names = ["raw", "raw@again"]
    names += [f"pfit-{preset}@{size}" for preset in args.presets for size in args.sizes]
    with tempfile.TemporaryDirectory() as folder:
        encoder = make_encoder(args.shape, folder) if args.shape else args.encoder
        arms = [make_arm(name, encoder, device) for name in names]
    draw = np.random.default_rng(0)
    clock = time.process_time if device.type == "cpu" else time.perf_counter

    for round_ in range(args.rounds + 2):
        texts = make_texts(32 * args.steps, args.words, draw)
        tokens = tokenise(texts, arms[0]["tokenizer"], 128)
        labels = torch.from_numpy(draw.integers(0, CLASSES, len(texts))).to(device)
        spans = [np.arange(i * 32, i * 32 + 32) for i in range(args.steps)]
        batches = [(tokens.batch(span, device), labels[span]) for span in spans]
        for index in draw.permutation(len(arms)):
            synchronise(device)
            began = clock()
            for batch, batch_labels in batches:
                one_step(arms[index], batch, batch_labels, device)
            synchronise(device)
            if round_ >= 2:
                arms[index]["seconds"].append((clock() - began) / args.steps)

    raw = np.array(arms[0]["seconds"])
    rows = {}
    for arm in arms[1:]:
        own = np.array(arm["seconds"])
        rows[arm["name"]] = {
            "ratio": round(float(np.median(own) / np.median(raw)), 4),
            "interval95": interval(own, raw, draw),
        }
        print(
            f"{arm['name']:18s} {rows[arm['name']]['ratio']:.4f} {rows[arm['name']]['interval95']}"
        )
    record = {
        "what": "step time over the raw model's; raw@again is raw against itself: the noise floor",
        "clock": clock.__name__,
        "encoder": f"{args.shape} shape, random weights" if args.shape else args.encoder,
        "arguments": {k: str(v) for k, v in vars(args).items() if k != "out"},
        "raw_milliseconds_per_step": round(1000 * float(np.median(raw)), 2),
        "ratios": rows,
        "versions": {
            "protofit": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "threads": torch.get_num_threads(),
    }
    if args.out:
        args.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
