"""The clock of a host: it skips, or it runs with the machine's."""

from __future__ import annotations

import threading
import time
from typing import Literal

__all__ = ["HostTime", "TimeMode"]

TimeMode = Literal["skip", "real"]


class HostTime:
    """A clock that can be moved forward.

    In the mode ``skip`` it stands still between its moves, however long a program
    runs: what a test has to say never races a timeout. In the mode ``real`` it also
    runs with the machine's clock.
    """

    def __init__(self, mode: TimeMode) -> None:
        self.skips = mode == "skip"
        self._frozen = time.time_ns() // 1_000_000 if self.skips else None
        self._moved = 0
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Return Unix milliseconds, UTC."""
        base = self._frozen
        return (time.time_ns() // 1_000_000 if base is None else base) + self._moved

    def advance(self, ms: int) -> None:
        """Move forward by so many milliseconds."""
        with self._lock:
            self._moved += ms
