"""The thread that does what is due, renews leases, and lets time pass."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ledgence.local._engine import Effects, Engine, EngineError, OwnershipLost, Schedule
from ledgence.local._engine._chores import is_due
from ledgence.local._host._active import RENEW_MS, Active, Attempts
from ledgence.local._host._slots import Slots
from ledgence.local._host._time import HostTime
from ledgence.local._host._watches import Watches

__all__ = ["Pump", "is_idle"]

# Another process may have changed a store file: how often it is looked for.
_LOOK_SECONDS = 0.25
_PAUSE_SECONDS = 0.5


def is_idle(schedule: Schedule) -> bool:
    """Tell whether nothing runs, and nothing will before time passes."""
    due, now = schedule.due, schedule.now
    times = (due.queued, due.background, due.lease)
    return not due.running and all(at is None or at > now for at in times)


class Pump:
    """What happens on the host's own account.

    Args:
        changed: Tells whether another process has changed the store since the last
            call; None for a store that nobody shares.
        on_error: Called when the thread ends because of an error of our own.
    """

    def __init__(
        self,
        engine: Engine,
        clock: HostTime,
        slots: Slots,
        attempts: Attempts,
        watches: Watches,
        *,
        changed: Callable[[], bool] | None,
        note: Callable[[str], None],
        on_error: Callable[[BaseException], None],
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._slots = slots
        self._attempts = attempts
        self._watches = watches
        self._changed = changed
        self._note = note
        self._on_error = on_error
        self._condition = threading.Condition()
        self._poked = True
        self._closing = False
        # Held while time is moved: one mover at a time.
        self.moving = threading.Lock()
        self._thread = threading.Thread(
            target=self._run, name="ledgence-pump", daemon=True
        )

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def poke(self) -> None:
        """Something may be due, or somebody waits."""
        with self._condition:
            self._poked = True
            self._condition.notify()

    def close(self) -> None:
        """End the thread."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        if self._thread.ident is not None:
            self._thread.join()

    def heard(self, effects: Effects) -> None:
        """Take notice of a transaction; called in the thread that made it."""
        self._attempts.stop(effects.stop, "cancelled")
        if effects.finished:
            self._watches.finished(effects.finished)
        if effects.runnable:
            self._slots.wake()
        self.poke()

    # The thread.

    def _run(self) -> None:
        try:
            wait: float | None = 0.0
            while self._await(wait):
                try:
                    wait = self._turn()
                except EngineError as error:
                    self._note(f"the store does not answer: {error.summary}")
                    wait = _PAUSE_SECONDS
        except BaseException as error:  # noqa: BLE001 - the host must not just go quiet
            self._on_error(error)

    def _await(self, seconds: float | None) -> bool:
        with self._condition:
            if self._changed is not None:
                most = _LOOK_SECONDS
                seconds = most if seconds is None else min(seconds, most)
            self._condition.wait_for(lambda: self._closing or self._poked, seconds)
            self._poked = False
            return not self._closing

    def _turn(self) -> float | None:
        """Do what is due; return how many seconds may pass before the next turn."""
        if self._changed is not None and self._changed():
            self._look_around()
        schedule = self.work()
        if not self.moving.acquire(blocking=False):
            return None  # who moves the time does the rest
        try:
            return self._let_pass(schedule)
        finally:
            self.moving.release()

    def _let_pass(self, schedule: Schedule) -> float | None:
        if self._clock.skips:
            ms = self._skippable(schedule)
            if ms is None:
                return None
            self._clock.advance(ms)
            return 0.0
        at = self._next_time(schedule)
        return None if at is None else (at - schedule.now) / 1000

    def _next_time(self, schedule: Schedule) -> int | None:
        """Return when something becomes due that is not due yet.

        What is due already waits for a free slot, or for a program that is being
        stopped: a report follows, and with it the next turn.
        """
        due = schedule.due
        times = [
            due.queued,
            due.background,
            due.lease,
            due.running_lease,
            due.running_deadline,
            *(active.renew_at for active in self._attempts.all()),
        ]
        later = (at for at in times if at is not None and at > schedule.now)
        return min(later, default=None)

    def _skippable(self, schedule: Schedule) -> int | None:
        wanted = self._watches.skip
        if wanted == "nothing" or schedule.skip_ms is None:
            return None
        if wanted == "retries" and schedule.skip_to != schedule.due.queued:
            return None
        return schedule.skip_ms

    def work(self) -> Schedule:
        """Do all that is due now, in whatever thread this is."""
        schedule = self._engine.schedule()
        for active in self._attempts.all():
            self._look_after(active, schedule.now)
        if is_due(schedule.due, schedule.now):
            self._engine.pump()
            schedule = self._engine.schedule()
        if schedule.runnable:
            self._slots.wake()
        self._watches.look_again()
        return schedule

    def _look_after(self, active: Active, now: int) -> None:
        """Stop an attempt whose time is over, or renew its lease."""
        if active.stopped is None and now >= active.assignment.deadline:
            active.stop("timed_out")
        if now >= active.renew_at:
            self._renew(active, now)

    def _renew(self, active: Active, now: int) -> None:
        try:
            lease = self._engine.renew(active.assignment.owner)
        except OwnershipLost:
            active.stop("cancelled")
            return
        active.renew_at = now + RENEW_MS
        if not lease.budget_ms:
            late = now >= active.assignment.deadline
            active.stop("timed_out" if late else "cancelled")

    def _look_around(self) -> None:
        """Another process has written: it may have cancelled, queued or finished."""
        now = self._engine.schedule().now
        for active in self._attempts.all():
            self._renew(active, now)
        self._watches.look_at_all()

    # Moving the time by hand.

    def advance(self, ms: int, *, settle: Callable[[], bool], bound: float) -> None:
        """Move the clock, stopping wherever something is due on the way.

        Args:
            ms: How far.
            settle: Lets everything run that can; False when something still runs.
            bound: Seconds for a program that was stopped at its deadline.
        """
        with self.moving:
            patient = settle()
            target = self._engine.schedule().now + ms
            while True:
                stop, now = self._next_stop(target), self._engine.schedule().now
                self._clock.advance(max(0, stop - now))
                schedule = self.work()
                self._bury(schedule.now, bound)
                if patient:
                    patient = settle()
                if schedule.now >= target:
                    break
        self.poke()

    def _next_stop(self, target: int) -> int:
        at = self._next_time(self._engine.schedule())
        return target if at is None else min(at, target)

    def _bury(self, now: int, bound: float) -> None:
        """Wait for the reports of attempts whose deadline has come."""
        until = time.monotonic() + bound
        for active in self._attempts.all():
            if now >= active.assignment.deadline:
                active.done.wait(max(0.0, until - time.monotonic()))
