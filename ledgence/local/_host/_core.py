"""A host in one piece: store, engine, programs, threads; everything is synchronous.

What callers await is a ``Watch`` with a future; the two faces of the public API,
plain and async, differ in how they wait for it and in nothing else.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ledgence.local._engine import (
    Effects,
    Engine,
    Inspection,
    InvalidInput,
    NotFound,
    Program,
    Schedule,
    Scope,
    random_id,
)
from ledgence.local._engine._check import integer
from ledgence.local._host._active import Active, Attempts
from ledgence.local._host._awaited import awaited
from ledgence.local._host._catalogue import Catalogue, Source
from ledgence.local._host._crashes import Crash, Crashes
from ledgence.local._host._execution import Executor, Report
from ledgence.local._host._listener import HostListener, PrintingListener
from ledgence.local._host._outcomes import outcome_of
from ledgence.local._host._output import Output
from ledgence.local._host._pool import Pool
from ledgence.local._host._pump import Pump, is_idle
from ledgence.local._host._requests import SubmitOptions, check_options, submission
from ledgence.local._host._runs import Awaited, HostError, Outcome, Run, WaitExpired
from ledgence.local._host._slots import Slots
from ledgence.local._host._time import HostTime, TimeMode
from ledgence.local._host._watches import Watch, Watches
from ledgence.local._launch import default_bootstrap
from ledgence.local._store import HostLock, SqliteStore
from ledgence.worker.workflow._limits import MAX_TIMESTAMP

if TYPE_CHECKING:
    from ledgence.local._host._inprocess import InProcess
    from ledgence.local._replay import History

__all__ = ["Core", "Options"]

_CLOSING_SECONDS = 10.0
DEFAULT_SCOPE = Scope("local", "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a host works; the public constructor explains them."""

    store: Path | None = None
    programs: Mapping[str, Source] = field(default_factory=dict[str, Source])
    slots: int = 4
    time: TimeMode = "skip"
    in_process: bool = False
    fresh_processes: bool = False
    crash: Crash | None = None
    scope: Scope = DEFAULT_SCOPE
    queues: Sequence[str] | None = None
    wait_seconds: float = 10.0
    python: str | None = None
    listener: HostListener | None = None


class Core:
    """A host that is open from ``open`` to ``close``."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.scope = options.scope
        self.listener = options.listener or PrintingListener()
        self.catalogue = Catalogue(options.python)
        self.host_id = random_id("host")
        self.crashes = Crashes(options.crash)
        self._clock = HostTime(options.time)
        self._watches = Watches()
        self._attempts = Attempts()
        self._pool = Pool(options.slots)
        self._broken: BaseException | None = None
        self._closing = threading.Lock()
        self._closed = False
        self._opened: _Opened | None = None
        self._cleanup = contextlib.ExitStack()

    # Opening and closing.

    def open(self) -> None:
        """Open the store, take the host lock, and begin to work.

        Raises:
            StoreError: The file is no store, or another host runs its programs.
            TargetError: A program that was named cannot be run.
            HostError: It was opened before.
        """
        if self._closed or self._opened is not None:
            raise HostError(
                "a host is opened once",
                code="host_closed",
                hint="make another LocalHost for the same store",
            )
        with contextlib.ExitStack() as stack:
            for name, source in self.options.programs.items():
                name_alone, _, version = name.partition("@")
                self.catalogue.link(name_alone, source, version or None)
            path = self.options.store
            if path is None:
                made = stack.enter_context(tempfile.TemporaryDirectory())
                self.catalogue.directory = Path(made)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                self.catalogue.directory = path.with_name(f"{path.name}.programs")
            store = stack.enter_context(SqliteStore(path))
            stack.enter_context(HostLock(path, self.host_id))
            self._start(store)
            self._cleanup = stack.pop_all()

    def _start(self, store: SqliteStore) -> None:
        engine = Engine(
            store,
            self.catalogue,
            clock=self._clock,
            host_id=self.host_id,
            listener=self._heard,
        )
        executor = Executor(
            engine,
            self.catalogue,
            self._pool,
            self._new_output,
            fresh=self.options.fresh_processes,
            here=self._here(),
            note=self.listener.note,
        )
        slots = Slots(
            engine,
            executor,
            self._attempts,
            most=1 if self.options.in_process else self.options.slots,
            queues=self.options.queues,
            on_report=self._reported,
            on_error=self._fail,
        )
        shared = self.options.store is not None
        pump = Pump(
            engine,
            self._clock,
            slots,
            self._attempts,
            self._watches,
            changed=store.changed_elsewhere if shared else None,
            note=self.listener.note,
            on_error=self._fail,
        )
        self._opened = _Opened(engine, Inspection(store), slots, pump)
        engine.recover()
        pump.start()

    def _here(self) -> InProcess | None:
        if not self.options.in_process:
            return None
        from ledgence.local._host._inprocess import (  # noqa: PLC0415 - rarely needed
            InProcess,
        )

        return InProcess(self._clock.standing)

    def drain(self, seconds: float) -> bool:
        """Begin nothing more, and wait for what runs; whether it is over."""
        return self.opened.slots.drain(seconds)

    def close(self) -> None:
        """Stop all programs, report their attempts, and close the store."""
        with self._closing:
            opened = self._opened
            if self._closed or opened is None:
                return
            self._closed = True
            if not opened.slots.close(_CLOSING_SECONDS):
                self.listener.note("a handler in this process does not end")
            opened.pump.close()
            closed = HostError("the host was closed", code="host_closed")
            self._watches.fail(self._broken or closed)
            self._pool.close()
            self._cleanup.close()

    @property
    def opened(self) -> _Opened:
        """The parts that exist while the host is open.

        Raises:
            HostError: It is not open, or has stopped because of an error of its own.
        """
        if self._broken is not None:
            raise HostError(
                f"the host has stopped: {self._broken!r}", code="host_broken"
            ) from self._broken
        if self._opened is None or self._closed:
            raise HostError(
                "the host is not open",
                code="host_closed",
                hint="use it as a context manager: with LocalHost() as host",
            )
        return self._opened

    def _heard(self, effects: Effects) -> None:
        if self._opened is not None:
            self._opened.pump.heard(effects)
        self.listener.changed(effects)

    def _reported(self, active: Active, report: Report) -> None:
        if self._opened is not None:
            self._opened.pump.poke()
        hint = report.advice
        if hint is not None:
            self.listener.note(f"{active.origin}: {hint}")

    def _fail(self, error: BaseException) -> None:
        """An error of our own: nobody may wait for a host that does nothing."""
        self._broken = error
        wrapped = HostError(f"the host has stopped: {error!r}", code="host_broken")
        wrapped.__cause__ = error
        self._watches.fail(wrapped)

    def _new_output(self) -> Output:
        directory = str(Path(default_bootstrap()).parent)
        return Output(self.listener, directory, self.crashes.on_frame)

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

    def expired(self, run: Run, seconds: float) -> WaitExpired:
        """Return the error for a run that was not over in time."""
        return WaitExpired(run, seconds, self.awaited(run))


@dataclass(frozen=True, slots=True)
class _Opened:
    engine: Engine
    look: Inspection
    slots: Slots
    pump: Pump


def _need_workflow(run: Run) -> None:
    if run.kind != "workflow":
        raise InvalidInput(f"{run} is no workflow: events and approvals are theirs")
