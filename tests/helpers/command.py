"""The command `protofit` as tests call it: in this process, in a new one, or in a forked one."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

GOOD, BAD = ("fine parcel arrived early", "nice washer works"), ("broken tablet", "late invoice")
EXAMPLES = [
    {"text": f"{words} {i}", "label": label}
    for i in range(8)
    for label, pool in (("good", GOOD), ("bad", BAD))
    for words in pool
]
PRELOADED = [
    "protofit.cli.main",
    "protofit.cli.job",
    "protofit.cli.output",
    "protofit.estimators.classifier",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "accelerate",
    "rich.table",
]


@dataclass(frozen=True)
class Result:
    """What a finished command leaves."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as the one strict JSON document that it must be."""
        return strict_json(self.out)


Command = Callable[..., Result]


def strict_json(text: str) -> Any:
    """A JSON value; the words NaN and Infinity, which are not JSON, are refused."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def refusal(result: Result, *parts: str, code: int = 2) -> str:
    """The one line of a refused command, which must hold every part and no traceback."""
    assert result.code == code, result
    assert result.err.endswith("\n"), result.err
    assert result.err.count("\n") == 1, result.err
    line = result.err.strip()
    assert line.startswith("protofit: ")
    assert not line.startswith("protofit: warning")
    assert "Traceback" not in line
    for part in parts:
        assert part in line, line
    return line


def training(data: Path | str, encoder: Path, out: Path, *more: str, steps: int = 4) -> list[str]:
    """Arguments of a short training."""
    settings = ("train.min_steps=0", f"train.max_steps={steps}", "train.batch_size=8")
    sets = [word for setting in settings for word in ("--set", setting)]
    return ["train", str(data), "--encoder", str(encoder), "--out", str(out), *sets, *more]


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """One object per line; returns the path."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def weights_of(model: Path) -> bytes:
    """The bytes of the trained tensors."""
    return (model / "model.safetensors").read_bytes()


def leftovers(folder: Path) -> list[str]:
    """Hidden or temporary things that no command may leave behind."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.name.startswith(".") or path.suffix == ".tmp"
    )


def spawn(arguments: list[str], **environment: str) -> subprocess.Popen[str]:
    """A new interpreter that runs the command."""
    return subprocess.Popen(
        [sys.executable, "-m", "protofit", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def fork(
    arguments: list[str], log: Path, prepare: Callable[..., None] | None = None, *extra: Any
) -> BaseProcess:
    """A real process that has the imports behind it; what it prints goes to `log`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_forked, args=(arguments, str(log), prepare, extra))
    process.start()
    return process


def _forked(
    arguments: list[str], log: str, prepare: Callable[..., None] | None, extra: tuple[Any, ...]
) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    from protofit.cli.main import run

    if prepare is not None:
        prepare(*extra)
    code = run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)
