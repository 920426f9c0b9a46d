"""In what precision the encoder computes; the head always uses float32 (`prototypes/`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


def uses_bfloat16(precision: str, device: torch.device) -> bool:
    """Whether the encoder autocasts to bfloat16: asked for, or `auto` on hardware that has it."""
    if precision != "auto":
        return precision == "bfloat16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and (_cpu_has("avx512_bf16") or _cpu_has("amx_tile"))


@contextlib.contextmanager
def encoder_precision(precision: str, device: torch.device) -> Iterator[None]:
    """Autocast and float32 product mode inside; the process's own settings outside.

    `float32` means full float32 accuracy, by the fastest products that keep it
    (docs/decisions/0005-precision.md has the measurements).
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(_product_mode(device))
    enabled = uses_bfloat16(precision, device)
    try:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def _product_mode(device: torch.device) -> str:
    """`medium` is exact and faster on a processor without a bfloat16 matrix unit."""
    return "medium" if device.type == "cpu" and not _cpu_has("amx_tile") else "highest"


def _cpu_has(feature: str) -> bool:
    """Whether the processor has a feature; False where torch cannot tell."""
    check = getattr(torch.cpu, f"_is_{feature}_supported", bool)
    return bool(check())
