"""Table 3: time per epoch of the linear head, PFit and IMP with R = 1, on one device.

    python benchmarks/table3.py --batch 16 --data-dir ../shared/data --set sst2 \
        --out benchmarks/records/table3-sst2-16.json

The encoder has the shape of BERT-base and random weights: nothing is downloaded, and a step costs
what it costs with other weights. Times are those of the library's training loop between readings
of its trace, without what happens before the first step. In a round every arm runs on the same
texts in a random order; figures are medians over rounds, with bootstrap intervals.

- Linear head and PFit: seconds of a step times the steps of an epoch; `--whole` runs whole epochs.
- IMP with R = 1 embeds and clusters all N training texts before every step: measured at the sizes
  `--growth`. For an epoch over N texts in B batches, B · (step + a + b N) is fitted to them and
  marked as extrapolated elsewhere.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import transformers

from protofit import Settings, __version__
from protofit.bench.data import load_set
from protofit.bench.workbench import take_tokens
from protofit.config.fields import to_dict
from protofit.config.train import TrainConfig
from protofit.data.labels import ClassOrder
from protofit.data.tokens import Tokens, tokenise
from protofit.encoders.load import load_tokenizer
from protofit.encoders.resolve import resolve_encoder
from protofit.model.build import label_arguments, suit_attention
from protofit.model.configuration import ProtoFitConfig
from protofit.model.modeling import ProtoFitForSequenceClassification
from protofit.training.loop import Run, RunOptions, TrainData
from protofit.training.reporter import Reporter

ARMS = {  # name: (method, preset, overrides)
    "raw": ("raw", "paper", {}),
    "pfit": ("pfit", "default", {}),
    "pfit-paper": ("pfit", "paper", {}),
    "imp-exact": ("imp-exact", "paper", {"head.every": 1}),
}
STEPPED = ("raw", "pfit", "pfit-paper")
EVERY = 10  # steps between two readings of the trace
WARM = 2  # readings that are not counted
SHAPES = {
    "bert-base": {},
    "tiny": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 64},
}  # fmt: skip


class Clock(Reporter):
    """When the trace of a step was read."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.marks: dict[int, float] = {}

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def begin(self, total_steps: int, done: int) -> None:  # noqa: ARG002
        self.marks[0] = self._now()

    def advance(self, row) -> None:
        self.marks[int(row["step"])] = self._now()


def make_model(arm: str, shape: str, classes: int):
    method, preset, overrides = ARMS[arm]
    settings = Settings.build(preset, method, overrides)
    config = transformers.BertConfig(**SHAPES[shape])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        encoder = transformers.BertModel(config, add_pooling_layer=False)
    return ProtoFitForSequenceClassification(
        ProtoFitConfig(
            encoder=config.to_dict(), encoder_settings=to_dict(settings.encoder), method=method,
            head=to_dict(settings.head), **label_arguments(ClassOrder.of(list(range(classes)))),
        ),
        encoder=encoder,
    )  # fmt: skip


def make_data(args) -> tuple[TrainData, int]:
    """Texts of a set, or random tokens of one length; and the number of classes."""
    if args.set:
        part = load_set(args.set, args.data_dir)
        tokenizer = load_tokenizer(resolve_encoder(args.tokenizer))
        tokens = tokenise(part.train.inputs, tokenizer, args.length)
        return TrainData(tokens, part.train.labels), len(part.classes)
    count = max([args.steps * args.batch, *args.growth])
    draw = np.random.default_rng(0)
    ids = draw.integers(1000, 30000, count * args.length).astype(np.int32)
    tokens = Tokens(ids, np.zeros(len(ids), np.uint8), np.arange(count + 1) * args.length, 0, 0)
    return TrainData(tokens, draw.integers(0, 2, count)), 2


def part_of(data: TrainData, rows: np.ndarray) -> TrainData:
    return TrainData(take_tokens(data.tokens, rows), data.labels[rows])


def segment(model, data: TrainData, steps: int, args, *, every: int, seed: int) -> tuple[dict, Run]:
    """Marks of the steps of one run on a fresh copy of the model."""
    config = replace(
        TrainConfig.preset("paper"), batch_size=args.batch, epochs=1, max_steps=steps,
        min_steps=steps, validation_share=0.0, trace_every=every,
    )  # fmt: skip
    clock = Clock(args.device)
    fresh = copy.deepcopy(model)
    suit_attention(fresh, args.device.type)
    run = Run(fresh, data, config, seed, RunOptions(device=str(args.device)), clock)
    run.run()
    return clock.marks, run


def per_step(marks: dict, every: int, warm: int) -> float:
    """Seconds of a step, between the reading after the warm-up and the last one."""
    first, last = every * warm, max(step for step in marks if step % every == 0)
    return (marks[last] - marks[first]) / (last - first)


def time_steps(models: dict, data: TrainData, args) -> dict[str, list[float]]:
    """Seconds of a step of each arm, one figure a round; the arms interleaved."""
    seconds: dict[str, list[float]] = {arm: [] for arm in models}
    draw = np.random.default_rng(1)
    for round_ in range(args.rounds + 1):
        rows = draw.choice(len(data.labels), args.steps * args.batch)
        for index in draw.permutation(len(models)):
            arm = list(models)[index]
            marks, _ = segment(models[arm], part_of(data, rows), args.steps, args, every=EVERY,
                               seed=round_)  # fmt: skip
            if round_:  # the first round warms up
                seconds[arm].append(per_step(marks, EVERY, WARM))
    return seconds


def time_growth(model, data: TrainData, args) -> dict[int, list[float]]:
    """Seconds of a step that re-estimates from N examples, for every N."""
    found: dict[int, list[float]] = {size: [] for size in args.growth}
    draw = np.random.default_rng(2)
    for round_ in range(args.growth_rounds):
        for size in draw.permutation(args.growth):
            rows = draw.permutation(len(data.labels))[:size]
            marks, _ = segment(model, part_of(data, rows), args.growth_steps + 2, args, every=1,
                               seed=round_)  # fmt: skip
            found[int(size)].append(per_step(marks, 1, 2))  # the first step does not re-estimate
    return found


def time_epochs(models: dict, data: TrainData, args) -> dict[str, list[float]]:
    """Seconds of whole epochs, interleaved."""
    steps = -(-len(data.labels) // args.batch)
    found: dict[str, list[float]] = {arm: [] for arm in models}
    draw = np.random.default_rng(3)
    for round_ in range(args.whole):
        for index in draw.permutation(len(models)):
            arm = list(models)[index]
            marks, _ = segment(models[arm], data, steps, args, every=EVERY, seed=round_)
            found[arm].append(marks[max(marks)] - marks[0])
    return found


def interval(values: np.ndarray, draw: np.random.Generator) -> list[float]:
    picks = draw.choice(values, size=(4000, len(values)))
    return np.quantile(np.median(picks, axis=1), [0.025, 0.975]).tolist()


def summary(values: list[float], digits: int = 5) -> dict:
    found = np.array(values)
    low, high = interval(found, np.random.default_rng(0))
    return {
        "median": round(float(np.median(found)), digits),
        "interval95": [round(low, digits), round(high, digits)],
        "rounds": len(values),
    }


def row_of(arm: str, size: int, seconds: float, basis: str, **more) -> dict:
    """`basis`: a whole `epoch`, measured `steps` of this very size, or the fitted `line`."""
    return {"arm": arm, "size": size, "seconds": round(seconds, 3),
            "extrapolated": basis != "epoch", "basis": basis, **more}  # fmt: skip


def imp_rows(growth: dict[int, list[float]], raw: float, args) -> tuple[list[dict], dict]:
    """Rows of IMP: measured sizes, and the full one by the fitted line."""
    sizes = np.array(sorted(growth))
    medians = np.array([np.median(growth[size]) for size in sizes])
    slope, start = np.polyfit(sizes, np.maximum(medians - raw, 0), 1)
    epochs = [-(-size // args.batch) * second for size, second in zip(sizes, medians, strict=True)]
    rows = [
        row_of("imp-exact", int(size), epoch, "steps", step=summary(growth[size]))
        for size, epoch in zip(sizes, epochs, strict=True)
    ]
    full = -(-args.examples // args.batch) * (raw + max(start, 0) + max(slope, 0) * args.examples)
    rows.append(row_of("imp-exact", args.examples, full, "line"))
    exponent = np.polyfit(np.log(sizes), np.log(epochs), 1)[0]
    fit = {
        "seconds_per_step_and_text": float(slope), "seconds_per_step": float(start),
        "exponent_of_an_epoch_in_N": round(float(exponent), 3),
    }  # fmt: skip
    return rows, fit


def measure(args) -> dict:
    data, classes = make_data(args)
    models = {arm: make_model(arm, args.shape, classes).to(args.device) for arm in STEPPED}
    args.examples = args.examples or (len(data.labels) if args.set else 67349)
    steps = time_steps(models, data, args)
    rows, ratios = [], {}
    raw = float(np.median(steps["raw"]))
    for arm in STEPPED:
        second = float(np.median(steps[arm]))
        ratios[arm] = summary((np.array(steps[arm]) / np.array(steps["raw"])).tolist(), 4)
        for size in sorted({*args.growth, args.examples}):
            epoch = -(-size // args.batch) * second
            whole = args.whole and size == args.examples
            if not whole:
                rows.append(row_of(arm, size, epoch, "steps"))
    whole = {}
    if args.whole:
        found = time_epochs({arm: models[arm] for arm in ("raw", "pfit")}, data, args)
        for arm, seconds in found.items():
            whole[arm] = summary(seconds, 3)
            rows.append(row_of(arm, args.examples, float(np.median(seconds)), "epoch"))
        missing = [arm for arm in STEPPED if arm not in found]
        for arm in missing:
            epoch = -(-args.examples // args.batch) * float(np.median(steps[arm]))
            rows.append(row_of(arm, args.examples, epoch, "steps"))
    models.clear()
    growth = time_growth(make_model("imp-exact", args.shape, classes), data, args)
    more, fit = imp_rows(growth, raw, args)
    return {
        "rows": [*rows, *more],
        "step_seconds": {arm: summary(values) for arm, values in steps.items()},
        "step_ratio_to_raw": ratios,
        "whole_epochs": whole,
        "imp_fit": fit,
    }


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="bert-base")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128, help="tokens of a text, at most")
    parser.add_argument("--set", help="real texts of a set; random tokens otherwise")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--tokenizer", default="embedded", help="encoder whose tokenizer is used")
    parser.add_argument("--examples", type=int, help="texts of an epoch; those of the set")
    parser.add_argument("--steps", type=int, default=100, help="of a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--whole", type=int, default=0, help="whole epochs of raw and pfit")
    parser.add_argument("--growth", type=int, nargs="+", default=[256, 512, 1024, 2048])
    parser.add_argument("--growth-steps", type=int, default=6)
    parser.add_argument("--growth-rounds", type=int, default=3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(arguments)
    args.device = torch.device(args.device)
    if args.steps % EVERY or args.steps <= EVERY * WARM:
        parser.error(f"--steps must be a multiple of {EVERY} above {EVERY * WARM}")
    texts = f"{args.set} texts" if args.set else f"{args.length} random tokens"
    cuda = args.device.type == "cuda"
    record = {
        "what": "seconds per epoch in the library's training loop",
        "encoder": f"{args.shape} shape, random weights, {texts}",
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "batch_size": args.batch,
        "arguments": {k: str(v) for k, v in vars(args).items() if k not in ("out", "data_dir")},
        **measure(args),
        "versions": {
            "protofit": __version__, "torch": torch.__version__,
            "transformers": transformers.__version__, "python": platform.python_version(),
        },
    }  # fmt: skip
    if args.out:
        args.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record


if __name__ == "__main__":
    print(json.dumps(main(), indent=2))
