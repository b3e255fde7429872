"""The threads that carry attempts out, at most so many at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ledgence.local._engine import (
    Assignment,
    Engine,
    EngineError,
    OwnershipLost,
    Unavailable,
    failure,
)
from ledgence.local._host._active import Active, Attempts
from ledgence.local._host._execution import Executor, Report

__all__ = ["Slots"]

_PAUSE_SECONDS = 0.5
_REPORT_TRIES = 10


class Slots:
    """Claims attempts while there are any, and carries them out.

    Args:
        most: How many at a time.
        queues: The queues that are served; None serves all.
        on_report: Called after each report.
        on_error: Called when a slot ends because of an error of our own.
        note: Says something to the author.
    """

    def __init__(
        self,
        engine: Engine,
        executor: Executor,
        attempts: Attempts,
        *,
        most: int,
        queues: Sequence[str] | None,
        on_report: Callable[[Active, Report], None],
        on_error: Callable[[BaseException], None],
        note: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._executor = executor
        self._attempts = attempts
        self._most = most
        self._queues = queues
        self._on_report = on_report
        self._on_error = on_error
        self._note = note
        self._condition = threading.Condition()
        self._runnable = False
        self._closing = False
        self._draining = False
        self._waiting = 0
        self._threads: list[threading.Thread] = []

    def wake(self) -> None:
        """There may be something to claim."""
        with self._condition:
            if self._closing or self._draining:
                return
            self._runnable = True
            if self._waiting:
                self._condition.notify()
            elif len(self._threads) < self._most:
                self._start()

    def _start(self) -> None:
        name = f"ledgence-slot-{len(self._threads) + 1}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def drain(self, seconds: float) -> bool:
        """Claim nothing more, and wait a while for what runs; whether it is over."""
        with self._condition:
            self._draining = True
            self._condition.notify_all()
        return self._join(seconds)

    def close(self, seconds: float) -> bool:
        """Stop all programs and wait until their attempts are reported.

        Args:
            seconds: How long to wait. Processes are killed, but a stub or a handler
                in this process ends only by itself.

        Returns:
            Whether all have ended.
        """
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        for active in self._attempts.all():
            active.stop("cancelled")
        return self._join(seconds)

    def _join(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _serve(self) -> None:
        try:
            while (assignment := self._next()) is not None:
                self._carry_out(assignment)
        except BaseException as error:  # noqa: BLE001 - the host must not just go quiet
            self._on_error(error)

    def _next(self) -> Assignment | None:
        while self._await_work():
            try:
                assignment = self._engine.claim(queues=self._queues)
            except Unavailable:
                self._pause()
                continue
            if assignment is not None:
                self.wake()  # there may be more, for another slot
                return assignment
        return None

    def _await_work(self) -> bool:
        with self._condition:
            self._waiting += 1
            self._condition.wait_for(self._has_news)
            self._waiting -= 1
            self._runnable = False
            return not (self._closing or self._draining)

    def _has_news(self) -> bool:
        return self._closing or self._draining or self._runnable

    def _pause(self) -> None:
        """Let the store recover."""
        with self._condition:
            self._condition.wait_for(lambda: self._closing, _PAUSE_SECONDS)
            self._runnable = True

    def _carry_out(self, assignment: Assignment) -> None:
        active = Active(assignment)
        self._attempts.add(active)
        try:
            if self._closing:
                active.stop("cancelled")
            report = self._executor.run(active)
            self._report(assignment, report)
        finally:
            self._attempts.remove(active)
        self._on_report(active, report)

    def _report(self, assignment: Assignment, report: Report) -> None:
        body = report.body(assignment.owner.attempt_id)
        for number in range(_REPORT_TRIES):
            try:
                self._engine.report(assignment, body)
            except Unavailable as error:
                if number == 0:
                    self._say_unkept(assignment, error)
                self._pause()
            except OwnershipLost:
                return  # too late: its lease has ended, and the attempt with it
            except EngineError as error:
                text = f"the result cannot be reported: {error.summary}"
                refused = Report(failure("protocol", text), report.gone)
                body = refused.body(assignment.owner.attempt_id)
            else:
                return

    def _say_unkept(self, assignment: Assignment, error: Unavailable) -> None:
        self._note(
            f"the result of {assignment.owner.task_id}, attempt {assignment.number},"
            f" cannot be kept now: {error.summary}; it is reported again for a while,"
            " and then counts as lost"
        )
