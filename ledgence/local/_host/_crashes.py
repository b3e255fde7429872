"""Killing a runner on purpose, so that tests can see that nothing is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass

from ledgence.local._errors import ProcessGone
from ledgence.local._host._listener import Origin

__all__ = ["Crash", "CrashPoint", "Crashes"]


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A frame on its way, after which a runner may be killed.

    Attributes:
        number: Which frame it is of all that this host has exchanged, from 1; frames
            of logs do not count.
        direction: ``>`` to the runner, which will not get it; ``<`` from the runner,
            of which nothing is kept.
        type: ``ready``, ``invoke``, ``runtime_request``, ``runtime_reply`` or
            ``result``.
        origin: The attempt.
    """

    number: int
    direction: str
    type: str
    origin: Origin


Crash = int | Callable[[CrashPoint], bool]
"""After which frame to kill: its number, or a question asked for every frame."""


class Crashes:
    """Counts frames and kills where it was told to.

    Attributes:
        done: Where runners were killed.
    """

    def __init__(self, crash: Crash | None) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._crash = crash
        self._target = crash if isinstance(crash, int) else None
        self.done: list[CrashPoint] = []

    def after(self, crash: Crash | None) -> None:
        """Kill after so many frames from now on; None kills no more."""
        with self._lock:
            self._crash = crash
            self._target = self._count + crash if isinstance(crash, int) else None

    def on_frame(self, origin: Origin, direction: str, line: bytes) -> None:
        """Take notice of a frame.

        Raises:
            ProcessGone: The runner is to be killed here.
        """
        crash = self._crash
        if crash is None:
            return
        kind: str = json.loads(line)["type"]
        if kind == "log":
            return
        with self._lock:
            self._count += 1
            point = CrashPoint(self._count, direction, kind, origin)
        if not (
            point.number == self._target if isinstance(crash, int) else crash(point)
        ):
            return
        self.done.append(point)
        raise ProcessGone(
            f"the process was killed on purpose, after frame {point.number}"
            f" ({direction} {kind})",
            code="crashed_on_purpose",
        )
