"""How much of a program's own output is passed on (runner-protocol.md, section 16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ledgence.local._limits import CAPTURE_BYTES
from ledgence.local._logs import DroppedLog, Log

__all__ = ["Allowance", "Listener"]


class Listener(Protocol):
    """Hears what a runner process says beside its results. Nothing may raise."""

    def stderr(self, data: bytes) -> None:
        """Raw output of the program, as it was read."""

    def log(self, log: Log) -> None:
        """A structured record that is kept."""

    def frame(self, direction: str, line: bytes) -> None:
        """A frame as it crosses the pipe; ``direction`` is ``>`` or ``<``."""


@dataclass(slots=True)
class Allowance:
    """What raw stderr and structured logs may use together, per invocation.

    Args:
        limit: Bytes that are passed on; what exceeds them is counted and dropped.
    """

    limit: int = CAPTURE_BYTES
    used: int = 0
    dropped_bytes: int = 0
    dropped_logs: int = 0

    def renew(self) -> None:
        """Begin the next invocation."""
        self.used = self.dropped_bytes = self.dropped_logs = 0

    def raw(self, data: bytes) -> bytes:
        """Return the part of ``data`` that is passed on."""
        kept = data[: max(0, self.limit - self.used)]
        self.used += len(kept)
        self.dropped_bytes += len(data) - len(kept)
        return kept

    def log(self, log: Log | DroppedLog) -> Log | None:
        """Return the record when it is passed on."""
        if isinstance(log, DroppedLog) or self.used + log.size > self.limit:
            self.dropped_logs += 1
            return None
        self.used += log.size
        return log
