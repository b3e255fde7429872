"""The public host: how it is opened, and its face for event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from ledgence.local._host._arguments import check_host, scope_of
from ledgence.local._host._catalogue import Source
from ledgence.local._host._core import Core
from ledgence.local._host._crashes import Crash, CrashPoint
from ledgence.local._host._lifecycle import DEFAULT_SCOPE, Options
from ledgence.local._host._listener import HostListener
from ledgence.local._host._plain import PlainHost
from ledgence.local._host._requests import (
    Decision,
    SubmitOptions,
    approval_command,
)
from ledgence.local._host._runs import Awaited, Outcome, Run
from ledgence.local._host._time import TimeMode
from ledgence.local._host._watches import Watch

if TYPE_CHECKING:
    from ledgence.local._replay import History

__all__ = ["LocalHost"]

T = TypeVar("T")
_THREADS = 4


class LocalHost:
    """Runs tasks and workflows on this machine, in real processes.

    ``async with LocalHost(...) as host`` gives the host itself, whose methods are
    coroutines; ``with LocalHost(...) as host`` gives a ``PlainHost`` with the same
    methods as plain calls. Each method is described there.

    Args:
        store: The file that keeps everything; None keeps it in memory, until the host
            is closed.
        programs: Programs on disk by ``NAME`` or ``NAME@VERSION``, as for
            ``add_program``.
        slots: How many programs run at a time. Up to twice as many processes are kept
            for the next attempts of their programs.
        time: ``skip`` lets time pass at once when nothing runs and a result is
            awaited; otherwise the clock stands still. ``real`` follows the machine.
        in_process: Run handlers in this process, one at a time, for a debugger: there
            are no deadlines, no bound on waits while a handler runs, and nobody can
            stop it.
        fresh_processes: Start a new process for each attempt, so that nothing but what
            was recorded comes from one activation to the next.
        crash: Kill a runner after so many frames, or wherever the callable says so;
            see ``CrashPoint`` and ``crash_after``.
        scope: ``(tenant_id, namespace)`` of everything that is asked of this host.
        queues: The queues whose tasks it runs; None runs all.
        wait_seconds: How long a wait lasts at most by default, real time.
        python: The interpreter for all programs; None takes this one, or the one that
            a manifest asks for.
        listener: Hears what programs print and log; None prints it on standard error.

    Raises:
        InvalidInput: An argument means nothing.
        StoreError: On entry: the file is no store, or another host runs its programs.
        TargetError: On entry: a program that was named cannot be run.
    """

    def __init__(
        self,
        store: str | Path | None = None,
        *,
        programs: Mapping[str, Source] | None = None,
        slots: int = 4,
        time: TimeMode = "skip",
        in_process: bool = False,
        fresh_processes: bool = False,
        crash: Crash | None = None,
        scope: tuple[str, str] | None = None,
        queues: Sequence[str] | None = None,
        wait_seconds: float = 10.0,
        python: str | None = None,
        listener: HostListener | None = None,
    ) -> None:
        options = Options(
            store=None if store is None else Path(store),
            programs=dict(programs or {}),
            slots=slots,
            time=time,
            in_process=in_process,
            fresh_processes=fresh_processes,
            crash=crash,
            scope=DEFAULT_SCOPE if scope is None else scope_of(scope),
            queues=queues,
            wait_seconds=wait_seconds,
            python=python,
            listener=listener,
        )
        self._options = check_host(options)
        self._core = Core(self._options)
        self._plain = PlainHost(self._core)
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> PlainHost:
        self._core.open()
        return self._plain

    def __exit__(self, *exc: object) -> None:
        self._core.close()

    async def __aenter__(self) -> Self:
        self._threads = ThreadPoolExecutor(_THREADS, "ledgence-host")
        try:
            await self._call(self._core.open)
        except BaseException:
            self._threads.shutdown(wait=False)
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.shield(self._call(self._core.close))
        if self._threads is not None:
            self._threads.shutdown()

    async def _call(self, function: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, function)

    async def _wait(
        self, run: Run, begin: Callable[[], Watch], patience: float | None
    ) -> Any:
        seconds = self._core.seconds(patience)
        watch = await self._call(begin)
        answer = asyncio.wrap_future(watch.future)
        try:
            while not (await asyncio.wait([answer], timeout=seconds))[0]:
                if not self._core.patient:
                    break
            if answer.done():
                return answer.result()
            raise await self._call(partial(self._core.expired, run, seconds))
        finally:
            answer.cancel()
            self._core.unwatch(watch)

    @property
    def now_ms(self) -> int:
        """The host's time, Unix milliseconds."""
        return self._core.now_ms()

    def add_program(
        self, name: str, source: Source, version: str | None = None
    ) -> None:
        """Register a program on disk under a name; see ``PlainHost.add_program``."""
        self._plain.add_program(name, source, version)

    def on_unknown_program(self, seek: Callable[[str], None] | None) -> None:
        """Be told what is not registered; see ``PlainHost.on_unknown_program``."""
        self._plain.on_unknown_program(seek)

    def stub(self, name: str, outcome: object) -> None:
        """Let something stand for a program; see ``PlainHost.stub``."""
        self._plain.stub(name, outcome)

    def crash_after(self, crash: Crash | None) -> None:
        """Kill a runner from now on; see ``PlainHost.crash_after``."""
        self._plain.crash_after(crash)

    @property
    def crashes(self) -> list[CrashPoint]:
        """Where runners were killed."""
        return self._plain.crashes

    async def submit_task(
        self, program: str, data: object = None, **options: Unpack[SubmitOptions]
    ) -> Run:
        """Queue a task; see ``PlainHost.submit_task``."""
        submit = partial(self._core.submit_task, program, data, options)
        return await self._call(submit)

    async def start_workflow(
        self, program: str, data: object = None, **options: Unpack[SubmitOptions]
    ) -> Run:
        """Start a workflow; see ``PlainHost.start_workflow``."""
        start = partial(self._core.start_workflow, program, data, options)
        return await self._call(start)

    async def run_task(
        self,
        program: str,
        data: object = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - a longer bound, not a cancel scope
        **options: Unpack[SubmitOptions],
    ) -> Any:
        """Submit a task and return its output; see ``PlainHost.run_task``."""
        run = await self.submit_task(program, data, **options)
        return (await self.result(run, timeout=timeout)).unwrap()

    async def result(
        self,
        run: Run | str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - see run_task
    ) -> Outcome:
        """Wait until a run is over; see ``PlainHost.result``."""
        found = Run.of(run)
        outcome: Outcome = await self._wait(
            found, partial(self._core.over, found), timeout
        )
        return outcome

    async def wait_until_waiting(
        self,
        run: Run | str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - see run_task
    ) -> list[Awaited]:
        """Wait until a run waits itself; see ``PlainHost.wait_until_waiting``."""
        found = Run.of(run)
        waits: list[Awaited] = await self._wait(
            found, partial(self._core.waiting, found), timeout
        )
        return waits

    async def send_event(
        self,
        run: Run | str,
        key: str,
        data: object = None,
        *,
        type: str | None = None,  # noqa: A002 - the name of the CloudEvent attribute
        source: str | None = None,
        id: str | None = None,  # noqa: A002 - as above
    ) -> dict[str, Any]:
        """Send an event to a workflow; see ``PlainHost.send_event``."""
        send = partial(self._plain.send_event, run, key, data)
        return await self._call(partial(send, type=type, source=source, id=id))

    async def decide_approval(
        self,
        run: Run | str,
        key: str,
        decision: Decision,
        *,
        reviewer: str = "local",
        reason: str | None = None,
        action: Mapping[str, Any] | None = None,
        decision_id: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - see run_task
    ) -> dict[str, Any]:
        """Decide a request for approval; see ``PlainHost.decide_approval``."""
        found = Run.of(run)
        asked = partial(self._core.asked, found, key)
        shown = await self._wait(found, asked, timeout)
        command = approval_command(
            shown,
            decision,
            decision_id=decision_id,
            reviewer=reviewer,
            reason=reason,
            action=action,
        )
        engine = self._core.opened.engine
        return await self._call(partial(engine.decide_approval, command))

    async def cancel(self, run: Run | str) -> str:
        """Cancel a task or a workflow; see ``PlainHost.cancel``."""
        return await self._call(partial(self._plain.cancel, run))

    async def status(self, run: Run | str) -> dict[str, Any]:
        """Return the status of a run; see ``PlainHost.status``."""
        return await self._call(partial(self._plain.status, run))

    async def awaited(self, run: Run | str) -> list[Awaited]:
        """Return what a run waits for; see ``PlainHost.awaited``."""
        return await self._call(partial(self._plain.awaited, run))

    async def history(self, run: Run | str) -> History:
        """Return what a run has done; see ``PlainHost.history``."""
        return await self._call(partial(self._plain.history, run))

    async def advance(self, ms: int) -> None:
        """Move the host's clock forward; see ``PlainHost.advance``."""
        await self._call(partial(self._plain.advance, ms))
