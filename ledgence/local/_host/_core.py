"""All that can be asked of a host, synchronously.

What callers await is a ``Watch`` with a future; the two faces of the public API,
plain and async, differ in how they wait for it and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from ledgence.local._engine import (
    InvalidInput,
    NotFound,
    Program,
    Schedule,
)
from ledgence.local._engine._check import integer
from ledgence.local._host._arguments import seconds as checked
from ledgence.local._host._awaited import awaited
from ledgence.local._host._catalogue import Source
from ledgence.local._host._lifecycle import Lifecycle
from ledgence.local._host._outcomes import outcome_of
from ledgence.local._host._pump import is_idle
from ledgence.local._host._requests import SubmitOptions, check_options, submission
from ledgence.local._host._runs import Awaited, Outcome, Run, WaitExpired
from ledgence.local._host._watches import Watch
from ledgence.worker.workflow._limits import MAX_TIMESTAMP

if TYPE_CHECKING:
    from ledgence.local._replay import History

__all__ = ["Core"]


class Core(Lifecycle):
    """All that can be asked of a host."""

    # Programs.

    def link(self, name: str, source: Source, version: str | None) -> Program:
        """Register a program on disk."""
        return self.catalogue.link(name, source, version)

    # Commands.

    def submit_task(self, name: str, data: object, options: SubmitOptions) -> Run:
        """Queue a task."""
        name = self.catalogue.name_of(name)
        answer = self._submit(self.opened.engine.submit_task, name, data, options)
        return Run(answer["task_id"], "task", name)

    def start_workflow(self, name: str, data: object, options: SubmitOptions) -> Run:
        """Start a workflow."""
        name = self.catalogue.name_of(name)
        answer = self._submit(self.opened.engine.submit_workflow, name, data, options)
        return Run(answer["workflow_id"], "workflow", name)

    def _submit(
        self,
        how: Callable[[object], dict[str, Any]],
        name: str,
        data: object,
        options: SubmitOptions,
    ) -> dict[str, Any]:
        check_options(options)
        version = options.get("version")
        if version is None:
            version = self.catalogue.version_of(name)
        program = Program(name, version)
        try:
            return how(submission(self.scope, program, data, options))
        except NotFound as error:
            raise self.catalogue.not_found(program) from error

    def send_event(self, run: Run, key: str, event: object) -> dict[str, Any]:
        """Send an event to a workflow."""
        _need_workflow(run)
        request = run.request(self.scope.to_json(), key=key, event=event)
        return self.opened.engine.send_event(request)

    def cancel(self, run: Run) -> str:
        """Cancel a run; return its state after that."""
        engine, request = self.opened.engine, run.request(self.scope.to_json())
        if run.kind == "task":
            return engine.cancel_task(request)
        state: str = engine.cancel_workflow(request)["state"]
        return state

    def status(self, run: Run) -> dict[str, Any]:
        """Return the status of a run."""
        look, request = self.opened.look, run.request(self.scope.to_json())
        if run.kind == "task":
            return look.task_status(request)
        return look.workflow_status(request)

    def history(self, run: Run) -> History:
        """Return what a run has done."""
        from ledgence.local._replay import History  # noqa: PLC0415 - not to start with

        look, request = self.opened.look, run.request(self.scope.to_json())
        if run.kind == "task":
            return History.of_task(look, request)
        return History.of_workflow(look, request)

    def awaited(self, run: Run) -> list[Awaited]:
        """Return what a run waits for."""
        self.status(run)  # an unknown run is refused here
        return awaited(self.opened.look, self.scope, run, self.now_ms())

    # Time.

    def now_ms(self) -> int:
        """Return the host's time, Unix milliseconds."""
        return self.opened.engine.schedule().now

    def advance(self, ms: int) -> None:
        """Move the host's clock."""
        most = max(0, MAX_TIMESTAMP - self.now_ms())
        integer(ms, 0, most, path="$.ms")
        bound = self.options.wait_seconds
        self.opened.pump.advance(ms, settle=lambda: self._settle(bound), bound=bound)

    def _settle(self, seconds: float) -> bool:
        """Let everything run that can; whether it was over in time."""
        watch = self.watch(Watch(None, self._idle, "nothing"))
        try:
            self.wait(watch, seconds)
        except FutureTimeout:
            return False
        return True

    def _idle(self) -> bool | None:
        return is_idle(self.opened.engine.schedule()) or None

    # Waiting.

    def over(self, run: Run) -> Watch:
        """Begin to wait for the outcome of a run."""

        def look() -> Outcome | None:
            return outcome_of(self.opened.look, self.scope, run, self.catalogue)

        look()  # an unknown run is refused here
        return self.watch(Watch(run.id, look, "all"))

    def waiting(self, run: Run) -> Watch:
        """Begin to wait until a run waits for something from outside, or is over."""

        def look() -> list[Awaited] | None:
            return self._waits(run)

        self.status(run)  # an unknown run is refused here
        return self.watch(Watch(None, look, "retries"))

    def asked(self, run: Run, key: str) -> Watch:
        """Begin to wait for a request for approval; its snapshot is the answer."""
        _need_workflow(run)

        def look() -> dict[str, Any] | None:
            # Looked at first: what has been asked by then is seen afterwards.
            nothing_comes = self._waits(run) is not None
            request = run.request(self.scope.to_json(), key=key)
            try:
                return self.opened.look.approval(request)
            except NotFound as error:
                if nothing_comes:
                    raise self._unasked(run, error) from error
                return None

        return self.watch(Watch(None, look, "retries"))

    def _unasked(self, run: Run, error: NotFound) -> NotFound:
        """Return the error for a request that the workflow does not make."""
        waits = [f"{one.kind} {one.key!r}" for one in self.awaited(run) if one.key]
        return NotFound(
            error.summary,
            details={"workflow": run.id, "state": self.status(run)["state"]},
            hint=f"it waits for {', '.join(waits)}" if waits else None,
        )

    def _waits(self, run: Run) -> list[Awaited] | None:
        look, request = self.opened.look, run.request(self.scope.to_json())
        if self._only_time_helps(self.opened.engine.schedule()):
            return self.awaited(run)
        if run.kind == "workflow":
            if look.workflow(request)["external_wait"] is not None:
                return self.awaited(run)
            over = look.workflow_status(request)["terminal_at"] is not None
        else:
            over = look.task_status(request)["terminal_at"] is not None
        return [] if over else None

    @staticmethod
    def _only_time_helps(schedule: Schedule) -> bool:
        """Tell whether the host is idle, and no retry is the next to come.

        A retry is not waited for where it would let a wait of somebody end.
        """
        due = schedule.due
        if not is_idle(schedule):
            return False
        if due.queued is None:
            return True
        return due.background is not None and due.background <= due.queued

    def watch(self, watch: Watch) -> Watch:
        """Begin to watch."""
        opened = self.opened
        error, self._escaped = self._escaped, None
        if error is not None:
            raise error
        self._watches.add(watch)
        if watch.settle():
            self._watches.remove(watch)
        else:
            opened.pump.poke()
        return watch

    def unwatch(self, watch: Watch) -> None:
        """Watch no longer."""
        self._watches.remove(watch)

    def wait(self, watch: Watch, seconds: float | None) -> Any:
        """Wait in this thread for an answer.

        Raises:
            TimeoutError: It did not come in time; nobody waits for it any more.
        """
        future: Future[Any] = watch.future
        try:
            while True:
                try:
                    return future.result(seconds)
                except FutureTimeout:
                    if future.done() or not self.patient:
                        raise
        finally:
            self.unwatch(watch)

    @property
    def patient(self) -> bool:
        """Whether a wait goes on past its bound: somebody may be at a breakpoint."""
        return self.options.in_process and bool(self._attempts.all())

    def seconds(self, given: float | None) -> float:
        """Return how long a wait lasts at most."""
        return checked(self.options.wait_seconds if given is None else given)

    def expired(self, run: Run, seconds: float) -> WaitExpired:
        """Return the error for a run that was not over in time."""
        return WaitExpired(run, seconds, self.awaited(run))


def _need_workflow(run: Run) -> None:
    if run.kind != "workflow":
        raise InvalidInput(f"{run} is no workflow: events and approvals are theirs")
