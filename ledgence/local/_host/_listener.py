"""Who hears what programs say beside their results."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass

from ledgence.local._engine import Effects
from ledgence.local._logs import Log
from ledgence.worker._profile import encode_frame

__all__ = ["HostListener", "Origin", "PrintingListener"]

_LOG_BYTES = 16_777_216
_LOG_DEPTH = 127
_ID_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Origin:
    """Which attempt something belongs to.

    Attributes:
        run_id: The task, or for an activation its workflow.
        attempt: 1 for the first attempt of the task or activation.
    """

    run_id: str
    task_id: str
    attempt_id: str
    attempt: int
    program: str

    def __str__(self) -> str:
        kind, _, rest = self.run_id.partition("_")
        return f"{self.program} {kind}_{rest[:_ID_SHOWN]} attempt {self.attempt}"


class HostListener:
    """Hears a host; every method does nothing until it is overridden.

    The methods are called from the host's threads, several at a time. They must not
    raise and should return at once.
    """

    def output(self, origin: Origin, text: str) -> None:
        """One line of a program's standard error, tracebacks without our own frames."""

    def log(self, origin: Origin, log: Log) -> None:
        """A structured record of a program."""

    def frame(self, origin: Origin, direction: str, line: bytes) -> None:
        """A frame that crosses a pipe; ``direction`` is ``>`` or ``<``."""

    def note(self, text: str) -> None:
        """Something that the host itself has to say."""

    def changed(self, effects: Effects) -> None:
        """A transaction was kept that made something possible."""


class PrintingListener(HostListener):
    """Prints output, logs and notes on standard error, marked with run and attempt."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def output(self, origin: Origin, text: str) -> None:
        """Print the line."""
        self._print(f"[{origin}] {text}")

    def log(self, origin: Origin, log: Log) -> None:
        """Print the record."""
        text = f"{log.severity} {log.logger}: {log.message}"
        if log.attributes:
            data = encode_frame(log.attributes, _LOG_BYTES, max_depth=_LOG_DEPTH)
            text += "  " + data.decode().rstrip("\n")
        for line in text.split("\n"):
            self._print(f"[{origin}] {line}")

    def note(self, text: str) -> None:
        """Print the note."""
        self._print(f"ledgence-local: {text}")

    def _print(self, text: str) -> None:
        with self._lock:
            try:
                sys.stderr.write(text + "\n")
            except (OSError, ValueError):
                return  # closed, or nobody listens; the results count without it
