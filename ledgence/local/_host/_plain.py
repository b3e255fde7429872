"""The public face of a host for plain calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, Unpack

from ledgence.local._host._arguments import check_crash
from ledgence.local._host._catalogue import Source
from ledgence.local._host._core import Core
from ledgence.local._host._crashes import Crash, CrashPoint
from ledgence.local._host._requests import (
    Decision,
    SubmitOptions,
    approval_command,
    cloud_event,
)
from ledgence.local._host._runs import Awaited, Outcome, Run
from ledgence.local._host._watches import Watch

if TYPE_CHECKING:
    from ledgence.local._replay import History

__all__ = ["PlainHost"]


class PlainHost:
    """An open host; every method is a plain call that may block.

    It comes from ``with LocalHost(...) as host`` and may be used from any thread, but
    not inside an event loop, which it would block: there it is ``async with``.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def now_ms(self) -> int:
        """The host's time, Unix milliseconds."""
        return self._core.now_ms()

    def add_program(
        self, name: str, source: Source, version: str | None = None
    ) -> None:
        """Register a program on disk under a name.

        It runs from where it is, without being packaged: an edit counts from the next
        attempt on, also for runs that were accepted before.

        Args:
            name: The program id that tasks and children name, 1 to 128 of
                ``a-z 0-9 . _ -``.
            source: ``path/to/program.py:function`` or a directory with a manifest.
            version: The only version that it stands for. None takes the manifest's,
                or for a single file every version that is asked for.

        Raises:
            TargetError: Nothing there can be run; it says what is near.
        """
        self._core.link(name, source, version)

    def on_unknown_program(self, seek: Callable[[str], None] | None) -> None:
        """Be told the name of a program that is not registered, before it is refused.

        Args:
            seek: Called with the name, in any thread; it may call ``add_program``.
                None asks nobody.
        """
        self._core.catalogue.seek = seek

    def stub(self, name: str, outcome: object) -> None:
        """Let something in this process stand for a program, whatever its version.

        Args:
            name: The program id.
            outcome: A callable that takes the event's data and returns the output,
                maybe ``async``; a value, which is the output; or an exception, which
                is the error of the program as if its handler had raised it. Values
                are checked as those of a real program are. What is no ``Exception``,
                such as the outcome of ``pytest.fail``, is also raised where somebody
                waits.
        """
        self._core.catalogue.stub(name, outcome)

    def crash_after(self, crash: Crash | None) -> None:
        """Kill a runner after so many frames from now on.

        The attempt fails as if its process had died by itself, and is retried.

        Args:
            crash: How many frames, counted over all runners of this host without
                logs; or a callable that is asked at every frame; None kills no more.
        """
        check_crash(crash)
        self._core.crashes.after(crash)

    @property
    def crashes(self) -> list[CrashPoint]:
        """Where runners were killed."""
        return list(self._core.crashes.done)

    def submit_task(
        self, program: str, data: object = None, **options: Unpack[SubmitOptions]
    ) -> Run:
        """Queue a task; it is kept when this returns.

        Args:
            program: The name of a registered program; or a target on disk, which is
                registered by that.
            data: A JSON value, at most 1 MiB.
            **options: ``version``, ``key``, ``queue``, ``retry_policy``,
                ``attempt_timeout_ms`` and ``correlation_key``; see ``SubmitOptions``.

        Raises:
            NotFound: No such program; it says what is near.
            Conflict: The key was used with another input.
            InvalidInput: A value breaks a rule of the contract.
        """
        return self._core.submit_task(program, data, options)

    def start_workflow(
        self, program: str, data: object = None, **options: Unpack[SubmitOptions]
    ) -> Run:
        """Start a workflow; it is kept when this returns. See ``submit_task``."""
        return self._core.start_workflow(program, data, options)

    def run_task(
        self,
        program: str,
        data: object = None,
        *,
        timeout: float | None = None,
        **options: Unpack[SubmitOptions],
    ) -> Any:
        """Submit a task and return its output. See ``submit_task`` and ``result``.

        Raises:
            RunFailed: It failed or was cancelled.
            WaitExpired: It was not over in time.
        """
        run = self._core.submit_task(program, data, options)
        return self.result(run, timeout=timeout).unwrap()

    def result(self, run: Run | str, *, timeout: float | None = None) -> Outcome:
        """Wait until a run is over and return its outcome.

        Args:
            run: The run, or its id.
            timeout: Seconds of real time; None takes the host's ``wait_seconds``.

        Raises:
            WaitExpired: It was not over in time; it lists what the run waits for, and
                the call that releases each.
            NotFound: No such run.
        """
        found, seconds = Run.of(run), self._core.seconds(timeout)
        outcome: Outcome = self._wait(found, self._core.over(found), seconds)
        return outcome

    def wait_until_waiting(
        self, run: Run | str, *, timeout: float | None = None
    ) -> list[Awaited]:
        """Wait until a run can only go on by time or from outside, or is over.

        Retry delays are skipped on the way, waits of the workflow are not.

        Returns:
            What it waits for, that of its children included; empty when it is over.

        Raises:
            WaitExpired: It was still busy when the time was up.
            NotFound: No such run.
        """
        found, seconds = Run.of(run), self._core.seconds(timeout)
        waits: list[Awaited] = self._wait(found, self._core.waiting(found), seconds)
        return waits

    def _wait(self, run: Run, watch: Watch, seconds: float) -> Any:
        try:
            return self._core.wait(watch, seconds)
        except FutureTimeout:
            pass  # said below, without its traceback
        raise self._core.expired(run, seconds)

    def send_event(
        self,
        run: Run | str,
        key: str,
        data: object = None,
        *,
        type: str | None = None,  # noqa: A002 - the name of the CloudEvent attribute
        source: str | None = None,
        id: str | None = None,  # noqa: A002 - as above
    ) -> dict[str, Any]:
        """Send an event to a workflow, before or while it waits for the key.

        Args:
            run: The workflow, or its id; children can be named, too.
            key: The wait's key.
            data: The event's data; the whole event has at most 64 KiB.
            type: The CloudEvent type.
            source: The CloudEvent source, a URI reference.
            id: The CloudEvent id; None makes a fresh one. Repeating the same event is
                recognised by source and id.

        Returns:
            The receipt of http-api.md, section 6.

        Raises:
            Conflict: The key has another event already.
            ObsoleteOperation: Nothing waits for it any more.
            Busy: The inbox is full.
            NotFound: No such workflow.
        """
        event = cloud_event(data, id_=id, type_=type, source=source)
        return self._core.send_event(Run.of(run), key, event)

    def decide_approval(
        self,
        run: Run | str,
        key: str,
        decision: Decision,
        *,
        reviewer: str = "local",
        reason: str | None = None,
        action: Mapping[str, Any] | None = None,
        decision_id: str | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Decide a request for approval; waits until the workflow has asked.

        Args:
            run: The workflow, or its id.
            key: The request's key.
            decision: ``approve`` or ``reject``.
            reviewer: A label, at most 128 bytes.
            reason: At most 4096 bytes.
            action: The action that is meant, which must match the request's exactly;
                None takes the request's own.
            decision_id: Names the decision, so that it can be repeated.
            timeout: Seconds to wait for the request; None takes ``wait_seconds``.

        Returns:
            ``{"approval", "already_accepted"}`` as in http-api.md, section 7.

        Raises:
            NotFound: The workflow does not ask for this.
            Conflict: It was decided already, or another action is meant.
            ObsoleteOperation: The request is no longer open.
        """
        found, seconds = Run.of(run), self._core.seconds(timeout)
        shown = self._wait(found, self._core.asked(found, key), seconds)
        command = approval_command(
            shown,
            decision,
            decision_id=decision_id,
            reviewer=reviewer,
            reason=reason,
            action=action,
        )
        return self._core.opened.engine.decide_approval(command)

    def cancel(self, run: Run | str) -> str:
        """Cancel a task or a workflow and all that it owns.

        Returns:
            Its state after that; a running program is stopped at once.

        Raises:
            NotFound: No such run.
        """
        return self._core.cancel(Run.of(run))

    def status(self, run: Run | str) -> dict[str, Any]:
        """Return the status of a run; http-api.md, sections 4.2 and 5.2.

        Raises:
            NotFound: No such run.
        """
        return self._core.status(Run.of(run))

    def awaited(self, run: Run | str) -> list[Awaited]:
        """Return what a run does or waits for now, and what releases it.

        Raises:
            NotFound: No such run.
        """
        return self._core.awaited(Run.of(run))

    def history(self, run: Run | str) -> History:
        """Return what a run has done so far.

        Raises:
            NotFound: No such run.
        """
        return self._core.history(Run.of(run))

    def drain(self, seconds: float) -> bool:
        """Begin no further attempt, and wait for those that run.

        A host that is closed stops them, which counts as an attempt of each.

        Args:
            seconds: How long to wait, real time.

        Returns:
            Whether all are over.
        """
        return self._core.drain(seconds)

    def advance(self, ms: int) -> None:
        """Move the host's clock forward, in either mode of time.

        What becomes due on the way is done in its order: what runs is waited for
        first (at most ``wait_seconds``), then the clock moves to the next due time.
        A program that still runs then is passed over, and stopped with ``timed_out``
        when its attempt's deadline comes.

        Args:
            ms: Milliseconds, not negative.
        """
        self._core.advance(ms)
