"""From texts and labels to a trained `Bundle`: used by the estimators and by the command."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from protofit.data.labels import ClassOrder, shown
from protofit.data.tokens import Tokens
from protofit.encoders.resolve import EncoderSource, resolve_encoder
from protofit.errors import InputError, ProtoFitWarning
from protofit.model.build import build_model, suit_attention
from protofit.model.bundle import Bundle, Inputs
from protofit.model.index import Keep, make_index
from protofit.settings import Settings
from protofit.storage.manifest import sha256_of
from protofit.training.accelerator import check_device
from protofit.training.loop import Run, RunOptions, RunResult, TrainData
from protofit.training.reporter import Reporter
from protofit.training.state import describe

ENCODER_SUFFIXES = (".safetensors", ".json", ".txt", ".model")  # what an encoder is made of


@dataclass(frozen=True)
class Request:
    """Everything that determines a trained model."""

    inputs: Inputs
    labels: np.ndarray  # class indices, or targets
    classes: ClassOrder | None  # None: regression
    settings: Settings
    encoder: str | os.PathLike[str] = "embedded"
    weights: np.ndarray | None = None  # per example
    seed: int = 0
    options: RunOptions = field(default_factory=RunOptions)
    keep: Keep = "nothing"  # of the training texts, with the model
    rows: np.ndarray | None = None  # numbers by which the texts are found; 0, 1, 2 … if None


def train(request: Request, reporter: Reporter | None = None) -> Bundle:
    """Load the encoder, tokenise, train; the result is ready to predict and to save."""
    listener = reporter or Reporter()
    check_device(request.options.device)
    source = resolve_encoder(request.encoder)
    listener.stage("loading the encoder")
    with torch.random.fork_rng(devices=[]):  # new layers draw from torch's own generator
        model, tokenizer = build_model(source, request.settings, request.classes)
    paired = not isinstance(request.inputs[0], str)
    bundle = Bundle(model, tokenizer, request.classes, paired, request.settings)
    if request.classes is None:
        present = slice(None) if request.weights is None else request.weights > 0
        standardise(model, request.labels[present])
    listener.stage("tokenising")
    tokens = bundle.tokens(request.inputs)
    _warn(request, bundle, tokens)
    options = request.options
    if options.checkpoint is not None:
        options = replace(options, fingerprint=fingerprint(request, source))
    suit_attention(model, _device_type(options.device))
    data = TrainData(tokens, request.labels, normalised_weights(request.weights))
    run = Run(model, data, request.settings.train, request.seed, options, listener)
    result = run.run()
    wanted = request.settings.train.validation_share and model.head.trains
    if wanted and not len(run.held):
        warnings.warn(
            "no class has examples to spare for early stopping: all steps are taken",
            ProtoFitWarning,
            stacklevel=2,
        )
    bundle.trace = result.trace
    bundle.record = _record(request, source, tokens, result, run)
    keep_index(bundle, request, tokens, listener)
    return bundle


def keep_of(*, index: bool, texts: bool) -> Keep:
    """What to keep of the training texts: `texts` implies the index."""
    return "texts" if texts else "index" if index else "nothing"


def keep_index(
    bundle: Bundle, request: Request, tokens: Tokens | None = None, listener: Reporter | None = None
) -> None:
    """Attach the index that was asked for: features of all texts, and with consent the texts."""
    if request.keep == "nothing":
        return
    if listener is not None:
        listener.stage("indexing")
    bundle.index = make_index(
        bundle.model,
        bundle.tokens(request.inputs) if tokens is None else tokens,
        request.labels,
        rows=request.rows,
        weights=request.weights,
        texts=request.inputs if request.keep == "texts" else None,
    )


def normalised_weights(weights: np.ndarray | None) -> np.ndarray | None:
    """Weights that average to 1; None where all are equal."""
    if weights is None or np.all(weights == weights[0]):
        return None
    return np.asarray(weights / weights.mean())


def _device_type(device: str | None) -> str:
    if device is not None:
        return torch.device(device).type
    return "cuda" if torch.cuda.is_available() else "cpu"


def standardise(model: Any, targets: np.ndarray) -> None:
    """Let the head work on targets of mean 0 and standard deviation 1."""
    model.config.target_mean = float(targets.mean())
    spread = float(targets.std())
    model.config.target_scale = spread if spread > 0 else 1.0


def _warn(request: Request, bundle: Bundle, tokens: Tokens) -> None:
    if tokens.truncated:
        warnings.warn(bundle.cut_words(tokens), ProtoFitWarning, stacklevel=3)
    if request.classes is None:
        _warn_of_equal_targets(request)
    else:
        _warn_of_classes(request.classes, request.labels)


def _warn_of_classes(classes: ClassOrder, labels: np.ndarray) -> None:
    lonely = [
        str(c) for c, n in zip(classes.classes, classes.counts(labels), strict=True) if n == 1
    ]
    if lonely:
        _warn_of("only one example of", lonely)
    alike = Counter(str(name).strip() for name in classes.classes)
    twins = [shown(name) for name in classes.classes if alike[str(name).strip()] > 1]
    if twins:
        _warn_of("classes that differ only in the white space around their names", twins)


def _warn_of(found: str, names: list[str]) -> None:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    warnings.warn(f"{found}: {', '.join(names[:10])}{more}", ProtoFitWarning, stacklevel=5)


def _warn_of_equal_targets(request: Request) -> None:
    used = request.labels if request.weights is None else request.labels[request.weights > 0]
    if used.min() == used.max():
        several = f"all {len(used)} targets are" if len(used) > 1 else "the only target is"
        found = f"{several} {used[0]:g}: there is nothing to tell apart"
        warnings.warn(found, ProtoFitWarning, stacklevel=4)


def fingerprint(request: Request, source: EncoderSource) -> str:
    """SHA-256 of everything that determines the run."""
    digest = hashlib.sha256()
    for item in request.inputs:
        parts: Sequence[str] = (item,) if isinstance(item, str) else item
        for part in parts:
            text = part.encode("utf-8", "surrogatepass")
            digest.update(len(text).to_bytes(8, "little") + text)
    digest.update(request.labels.tobytes())
    digest.update(b"" if request.weights is None else request.weights.tobytes())
    classes = None if request.classes is None else request.classes.to_json()
    files = {}
    if source.local:
        kept = sorted(p for p in Path(source.location).iterdir() if p.suffix in ENCODER_SUFFIXES)
        files = {file.name: sha256_of(file) for file in kept}
    facts = [request.settings.to_dict(), classes, source.name, files, request.seed]
    digest.update(describe(facts).encode())
    return digest.hexdigest()


def _record(
    request: Request, source: EncoderSource, tokens: Tokens, result: RunResult, run: Run
) -> dict[str, Any]:
    last = result.trace[-1] if result.trace else {}
    return {
        "encoder": source.name,
        "encoder_asked": os.fspath(request.encoder),
        "examples": len(tokens),
        "held_back": len(run.held),
        "truncated": tokens.truncated,
        "seed": request.seed,
        "steps": result.steps,
        "planned_steps": run.plan.total_steps,
        "epochs": round(result.steps / run.plan.steps_per_epoch, 2),
        "seconds": round(result.seconds, 1),
        "stopped_early": result.stopped_early,
        "slice_score": result.best_score,
        "device": run.device.type,
        "last_step": last,
    }


def check_lengths(inputs: Sequence[Any], labels: Sequence[Any]) -> None:
    """As many labels as texts, and at least one."""
    if len(inputs) != len(labels):
        raise InputError(
            f"there are {len(inputs)} texts and {len(labels)} labels",
            fix="Give one label for each text.",
        )
    if len(inputs) == 0:
        raise InputError("there are no texts", fix="Give at least two labelled texts.")
