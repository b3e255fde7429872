"""Clocks: the real one, a manual one, and the one that a store keeps in order.

``HostClock`` is what transitions see. A store outlives its hosts and may have been
used with a clock that was ahead, so the time of a store never runs back: a host whose
clock is behind starts from the latest time that was reached, and goes on from there
at the pace of its own clock.
"""

from __future__ import annotations

import time

from ledgence.local._engine._ports import Clock, Due, Rows

__all__ = ["HostClock", "ManualClock", "SystemClock", "skip_target"]


class SystemClock:
    """The clock of the machine."""

    def now_ms(self) -> int:
        """Return Unix milliseconds, UTC."""
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that moves only when it is told to.

    Args:
        start_ms: Where it starts, Unix milliseconds.
    """

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._now = start_ms

    def now_ms(self) -> int:
        """Return Unix milliseconds, UTC."""
        return self._now

    def advance(self, ms: int) -> None:
        """Move forward.

        Args:
            ms: Milliseconds, not negative.
        """
        self.move_to(self._now + ms)

    def move_to(self, at_ms: int) -> None:
        """Move forward to a time.

        Raises:
            ValueError: The time has passed already.
        """
        if at_ms < self._now:
            raise ValueError(f"the clock is at {self._now}, not before {at_ms}")
        self._now = at_ms


class HostClock:
    """The time of a store as one host sees it; it never runs back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = 0
        self._last = 0

    def now(self, rows: Rows) -> int:
        """Return the time of a transaction that writes."""
        floor = rows.clock_floor()
        now = self._at_least(floor)
        if now > floor:
            rows.raise_clock_floor(now)
        return now

    def look(self, rows: Rows) -> int:
        """Return the time for a reader."""
        return self._at_least(rows.clock_floor())

    def _at_least(self, floor: int) -> int:
        now = self._clock.now_ms() + self._ahead
        behind = max(floor, self._last) - now
        if behind > 0:
            self._ahead += behind
            now += behind
        self._last = now
        return now


def skip_target(due: Due, now: int) -> int | None:
    """Return the time to which a skipping clock may move, None if it must not.

    It moves only when the host is idle: nothing is runnable or due, and no program
    runs. So it never passes the deadline, nor the lease, of a running attempt (S10);
    ``advance`` of a test may.
    """
    times = [at for at in (due.queued, due.background, due.lease) if at is not None]
    if due.running or not times:
        return None
    target = min(times)
    return target if target > now else None
