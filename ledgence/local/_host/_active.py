"""The attempts that this host carries out now, and how they are stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Literal

from ledgence.local._engine import Assignment
from ledgence.local._host._listener import Origin
from ledgence.local._host._pool import Worker

__all__ = ["Active", "Attempts", "StopReason"]

StopReason = Literal["cancelled", "timed_out"]

RENEW_MS = 15_000


class Active:
    """One attempt under way.

    Attributes:
        stopped: Why its program was stopped, None while it may run.
        renew_at: When its lease is to be renewed, in the store's time.
        done: Set when its report was made, or cannot be made any more.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.stopped: StopReason | None = None
        self.renew_at = assignment.claimed_at + RENEW_MS
        self.done = threading.Event()
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    @property
    def origin(self) -> Origin:
        """Whose output it makes."""
        one = self.assignment
        run_id = one.workflow_id if one.activation else None
        return Origin(
            run_id=run_id or one.owner.task_id,
            task_id=one.owner.task_id,
            attempt_id=one.owner.attempt_id,
            attempt=one.number,
            program=one.descriptor.program.id,
        )

    def attach(self, worker: Worker) -> None:
        """From now on stopping the attempt ends this process."""
        with self._lock:
            self._worker = worker
            if self.stopped is not None:
                worker.token.cancel()

    def detach(self) -> bool:
        """The process is not the attempt's any more; whether it was left running."""
        with self._lock:
            self._worker = None
            return self.stopped is None

    def stop(self, reason: StopReason) -> None:
        """Stop the program; the first reason counts."""
        with self._lock:
            if self.stopped is None:
                self.stopped = reason
                if self._worker is not None:
                    self._worker.token.cancel()


class Attempts:
    """All attempts under way, by their ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: dict[str, Active] = {}

    def add(self, active: Active) -> None:
        """Note an attempt that begins."""
        with self._lock:
            self._active[active.assignment.owner.attempt_id] = active

    def remove(self, active: Active) -> None:
        """Note that an attempt is over."""
        with self._lock:
            self._active.pop(active.assignment.owner.attempt_id, None)
        active.done.set()

    def all(self) -> list[Active]:
        """Return those that are under way."""
        with self._lock:
            return list(self._active.values())

    def stop(self, attempt_ids: Iterable[str], reason: StopReason) -> None:
        """Stop those of the attempts that are under way here."""
        with self._lock:
            found = [self._active.get(one) for one in attempt_ids]
        for active in found:
            if active is not None:
                active.stop(reason)
