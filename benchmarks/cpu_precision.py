"""Step time of an encoder in float32, fast float32 and bfloat16 on a processor, interleaved.

python benchmarks/cpu_precision.py --out benchmarks/records/cpu_precision.json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from protofit import Settings
from protofit.data.labels import ClassOrder
from protofit.data.tokens import tokenise
from protofit.encoders.resolve import resolve_encoder
from protofit.model.build import build_model, suit_attention
from protofit.training.optimiser import build_optimiser

CPU = torch.device("cpu")
WORDS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
ARMS = {  # name: (float32 product mode, bfloat16 autocast)
    "float32": ("highest", False),
    "fast float32": ("medium", False),
    "bfloat16": ("medium", True),
}


@contextlib.contextmanager
def arm_precision(name: str) -> Iterator[None]:
    mode, half = ARMS[name]
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(mode)
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--words", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    settings = Settings.build(method="raw")
    classes = ClassOrder.of(["a", "b"])
    model, tokenizer = build_model(resolve_encoder("embedded"), settings, classes)
    suit_attention(model, "cpu")
    model.train()
    optimiser = build_optimiser(model, settings.train)
    draw = np.random.default_rng(0)
    seconds: dict[str, list[float]] = {name: [] for name in ARMS}
    for round_ in range(args.rounds + 2):
        texts = [" ".join(draw.choice(WORDS, args.words)) for _ in range(32)]
        batch = tokenise(texts, tokenizer, 128).batch(np.arange(32), CPU)
        labels = torch.from_numpy(draw.integers(0, 2, 32))
        for index in draw.permutation(len(ARMS)):
            name = list(ARMS)[index]
            began = time.process_time()
            with arm_precision(name):
                model(**batch, labels=labels).loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            if round_ >= 2:
                seconds[name].append(time.process_time() - began)
    base = np.array(seconds["float32"])
    ratios = {}
    for name in ARMS:
        each = np.array(seconds[name]) / base
        picks = np.median(draw.choice(each, (4000, len(each))), axis=1)
        low, high = np.quantile(picks, [0.025, 0.975])
        ratios[name] = {
            "ratio": round(float(np.median(each)), 3),
            "interval95": [round(float(low), 3), round(float(high), 3)],
        }
    record = {
        "what": "processor time of a training step over float32's",
        "encoder": "all-MiniLM-L6-v2",
        "batch": 32,
        "words": args.words,
        "threads": args.threads,
        "torch": torch.__version__,
        "ratios": ratios,
    }
    print(json.dumps(record, indent=2))
    if args.out:
        args.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
