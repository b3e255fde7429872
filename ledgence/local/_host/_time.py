"""The clock of a host: it skips, or it runs with the machine's."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
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
        self._frozen = _machine_ms() if self.skips else None
        self._moved = 0
        self._standing = 0
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Return Unix milliseconds, UTC."""
        with self._lock:
            return self._now()

    def _now(self) -> int:
        base = self._frozen
        return (_machine_ms() if base is None else base) + self._moved

    @contextmanager
    def standing(self) -> Generator[None]:
        """Let the clock stand still meanwhile: somebody is at a breakpoint."""
        with self._lock:
            self._standing += 1
            if self._standing == 1 and not self.skips:
                self._frozen = _machine_ms()
        try:
            yield
        finally:
            with self._lock:
                self._standing -= 1
                if self._standing == 0 and self._frozen is not None and not self.skips:
                    self._moved -= _machine_ms() - self._frozen
                    self._frozen = None

    def advance(self, ms: int) -> None:
        """Move forward by so many milliseconds."""
        with self._lock:
            self._moved += ms


def _machine_ms() -> int:
    return time.time_ns() // 1_000_000
