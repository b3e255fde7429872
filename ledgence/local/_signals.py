"""Turns signals into the cancel token, so that cleaning up is never cut short."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Generator
from types import FrameType
from typing import Any, Self

from ledgence.local._cancel import CancelToken
from ledgence.local._errors import Interrupted

__all__ = ["SignalWatch"]

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalWatch:
    """While it is entered, stopping signals cancel ``token``.

    Waits that know the token end at once. Only inside ``immediately`` is
    ``Interrupted`` raised on the spot: there, a read or write of the caller's own
    streams may block, and nothing has to be cleaned up.
    """

    def __init__(self, token: CancelToken) -> None:
        self._token = token
        self._raising = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in _STOPPING:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:  # nohup and background jobs stay as such
                self._before[number] = before
                signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def immediately(self) -> Generator[None]:
        """Let signals raise ``Interrupted`` within the block."""
        self._raising = True
        try:
            self._token.check()
            yield
        finally:
            self._raising = False

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._token.cancel(number)
        if self._raising:
            self._raising = False
            raise Interrupted(number)
