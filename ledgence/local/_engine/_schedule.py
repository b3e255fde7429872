"""What a host has to look after next, and when."""

from __future__ import annotations

from dataclasses import dataclass

from ledgence.local._engine._clock import skip_target
from ledgence.local._engine._ports import Due

__all__ = ["Schedule"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The state of waiting of a host at one moment.

    Attributes:
        now: That moment, in the store's time.
        due: The earliest times of everything that waits.
    """

    now: int
    due: Due

    @property
    def runnable(self) -> bool:
        """Whether a task can be claimed now."""
        return self.due.queued is not None and self.due.queued <= self.now

    @property
    def running(self) -> int:
        """How many attempts have no report yet."""
        return self.due.running

    @property
    def next_at(self) -> int | None:
        """When the host has to act again on its own account; None means never.

        A retry becomes available, a wait or a lease ends, a pass is due, or the
        deadline of a running attempt comes. A time that is not after ``now`` means
        at once.
        """
        due = self.due
        times = (
            due.queued,
            due.background,
            due.lease,
            due.running_lease,
            due.running_deadline,
        )
        return min((at for at in times if at is not None), default=None)

    @property
    def skip_to(self) -> int | None:
        """The time that may be skipped to now; None while the host is not idle."""
        return skip_target(self.due, self.now)

    @property
    def skip_ms(self) -> int | None:
        """How far a skipping clock may move now; None while the host is not idle.

        A clock is moved by this, not to ``skip_to``: times are the store's, and the
        clock of a host may be behind them.
        """
        target = self.skip_to
        return None if target is None else target - self.now

    @property
    def quiet(self) -> bool:
        """Whether nothing will ever happen without a command from outside."""
        return self.next_at is None
