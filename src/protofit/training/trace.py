"""What happened at every step: read from the device seldom."""

from __future__ import annotations

import torch
from torch import Tensor

from protofit.storage.trace import Row


class TraceBuffer:
    """Collects device scalars and brings them to the host a stretch at a time."""

    def __init__(self, rows: list[Row] | None = None) -> None:
        self.rows: list[Row] = rows or []
        self._host: list[Row] = []
        self._names: list[str] = []
        self._device: list[Tensor] = []

    def add(self, host: Row, device: dict[str, Tensor]) -> None:
        """One step: numbers the host knows, and scalars () still on the device."""
        self._names = list(device)
        values = [value.detach().to(_widest(value)).reshape(()) for value in device.values()]
        self._host.append(host)
        self._device.append(torch.stack(values))

    def flush(self) -> list[Row]:
        """Read what is waiting; returns the new rows."""
        if not self._host:
            return []
        table = torch.stack(self._device).cpu().tolist()
        new = [
            {**host, **dict(zip(self._names, values, strict=True))}
            for host, values in zip(self._host, table, strict=True)
        ]
        self.rows += new
        self._host, self._device = [], []
        return new


def _widest(value: Tensor) -> torch.dtype:
    """float64 keeps counts exact; Apple's devices have none."""
    return torch.float32 if value.device.type == "mps" else torch.float64
