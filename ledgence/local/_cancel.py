"""A request to stop that wakes whoever waits."""

from __future__ import annotations

import os
import threading

from ledgence.local._errors import Interrupted

__all__ = ["CancelToken"]


class CancelToken:
    """Can be cancelled once, from any thread or from a signal handler.

    Its descriptor becomes readable for good when that happens, so it can be waited
    for together with pipes.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._signal: int | None = None
        self._cancelled = False
        # Signal handlers cancel in the thread that may be closing.
        self._lock = threading.RLock()
        self._closed = False

    def fileno(self) -> int:
        """The descriptor to wait for."""
        return self._reader

    @property
    def cancelled(self) -> bool:
        """Whether stopping was asked for."""
        return self._cancelled

    def cancel(self, signal: int | None = None) -> None:
        """Ask to stop; the first call's ``signal`` counts, unless it is too late."""
        with self._lock:
            if self._cancelled or self._closed:
                return
            self._cancelled = True
            self._signal = signal
            os.write(self._writer, b"x")

    def check(self) -> None:
        """Raise ``Interrupted`` when stopping was asked for."""
        if self._cancelled:
            raise Interrupted(self._signal)

    def close(self) -> None:
        """Give the descriptors back."""
        with self._lock:
            self._closed = True
            os.close(self._reader)
            os.close(self._writer)
