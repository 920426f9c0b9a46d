"""The time in which a command may still begin runs."""

from __future__ import annotations

import math
import time


class Clock:
    """Counts down from its making; without minutes it never ends."""

    def __init__(self, minutes: float | None = None) -> None:
        self._end = math.inf if minutes is None else time.monotonic() + 60 * minutes

    def minutes_left(self) -> float | None:
        """What is left of the minutes it was given; None without any."""
        return None if math.isinf(self._end) else (self._end - time.monotonic()) / 60

    def allows(self, seconds: float = 0.0) -> bool:
        """Whether something that takes so long would end in time."""
        return time.monotonic() + seconds < self._end
