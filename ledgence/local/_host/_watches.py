"""Who awaits what; answers come as futures, so that threads and loops can wait."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Watch", "Watches"]

Skip = Literal["all", "retries", "nothing"]


@dataclass(eq=False, slots=True)
class Watch:
    """One thing that somebody awaits.

    Attributes:
        subject: The task or workflow that must be over; None for a general condition.
        look: Gives the answer when it is there, else None; called often.
        skip: How far time may be skipped for it.
        future: Where the answer goes.
    """

    subject: str | None
    look: Callable[[], Any]
    skip: Skip
    future: Future[Any] = field(default_factory=Future[Any])

    def settle(self) -> bool:
        """Answer if the answer is there; whether it is."""
        try:
            answer = self.look()
        except Exception as error:  # noqa: BLE001 - it is the answer
            self.fail(error)
            return True
        if answer is None:
            return False
        with contextlib.suppress(InvalidStateError):  # nobody waits any more
            self.future.set_result(answer)
        return True

    def fail(self, error: BaseException) -> None:
        """Answer with an error."""
        with contextlib.suppress(InvalidStateError):  # nobody waits any more
            self.future.set_exception(error)


class Watches:
    """All that is awaited now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over: dict[str, list[Watch]] = {}
        self._general: list[Watch] = []

    def add(self, watch: Watch) -> None:
        """Begin to watch; the caller looks once more afterwards."""
        with self._lock:
            if watch.subject is None:
                self._general.append(watch)
            else:
                self._over.setdefault(watch.subject, []).append(watch)

    def remove(self, watch: Watch) -> None:
        """Watch no longer."""
        with self._lock:
            if watch.subject is None:
                if watch in self._general:
                    self._general.remove(watch)
                return
            found = self._over.get(watch.subject, [])
            if watch in found:
                found.remove(watch)
            if not found:
                self._over.pop(watch.subject, None)

    def finished(self, subjects: Iterable[str]) -> None:
        """These tasks and workflows are over."""
        with self._lock:
            found = [w for one in subjects for w in self._over.get(one, ())]
        self._settle(found)

    def look_again(self) -> None:
        """Look whether a general condition has come true."""
        with self._lock:
            found = list(self._general)
        self._settle(found)

    def look_at_all(self) -> None:
        """Look at everything; another process may have changed it."""
        with self._lock:
            found = [*self._general, *(w for ws in self._over.values() for w in ws)]
        self._settle(found)

    def _settle(self, watches: list[Watch]) -> None:
        for watch in watches:
            if watch.settle():
                self.remove(watch)

    def fail(self, error: BaseException) -> bool:
        """Answer everybody with an error; whether there is anybody."""
        with self._lock:
            found = [*self._general, *(w for ws in self._over.values() for w in ws)]
            self._general.clear()
            self._over.clear()
        for watch in found:
            watch.fail(error)
        return bool(found)

    @property
    def skip(self) -> Skip:
        """How far time may be skipped for those who wait."""
        with self._lock:
            if any(w.skip == "all" for ws in self._over.values() for w in ws):
                return "all"
            if any(watch.skip == "retries" for watch in self._general):
                return "retries"
            return "nothing"
