"""Where a run happens: one place that talks to accelerate."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from protofit.errors import InputError


def make_accelerator(accumulate: int, tracker: str | None, tracker_dir: Path | None) -> Any:
    """An `Accelerator`; distributed where the process was launched so."""
    from accelerate import Accelerator, DistributedDataParallelKwargs

    replicas = DistributedDataParallelKwargs(broadcast_buffers=False)
    launched = int(os.environ.get("WORLD_SIZE", "1")) > 1
    try:
        accelerator = Accelerator(
            cpu=launched and not torch.cuda.is_available(),  # several processes on processors
            gradient_accumulation_steps=accumulate,
            log_with=tracker,
            project_dir=str(tracker_dir) if tracker_dir else None,
            kwargs_handlers=[replicas],
        )
    except (ImportError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the run cannot be set up ({reason})", where="tracker") from error
    if accelerator.mixed_precision not in ("no", "bf16"):
        raise InputError(
            f"mixed precision {accelerator.mixed_precision} is not supported",
            where="accelerate launch",
            fix="Use bf16, or leave it to train.precision.",
        )
    return accelerator


def choose_device(asked: str | None, accelerator: Any) -> torch.device:
    """The device asked for where one process decides alone, else the process's own."""
    check_device(asked)
    if asked is None or accelerator.num_processes > 1:
        return torch.device(accelerator.device)
    return torch.device(asked)


def check_device(device: str | None) -> None:
    """Refuse a device that is not here."""
    if device is None:
        return
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in _available() or not _counted(found):
        raise InputError(
            f"there is no device '{device}' here", where="device", fix="Use 'cpu' or leave it out."
        )


def _counted(device: torch.device) -> bool:
    known = torch.cuda.device_count() if device.type == "cuda" else 1
    return device.index is None or device.index < known


def is_main_process() -> bool:
    """Whether this process writes and prints (rank 0 of a distributed launch)."""
    return int(os.environ.get("RANK", "0")) == 0


def _available() -> set[str]:
    kinds = {"cpu"}
    if torch.cuda.is_available():
        kinds.add("cuda")
    if torch.backends.mps.is_available():
        kinds.add("mps")
    return kinds


@contextlib.contextmanager
def private_randomness(device: torch.device) -> Iterator[None]:
    """Let the run seed torch's generators; give them back as they were."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        yield
