"""A host's parts, from the opening of the store to its closing."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ledgence.local._engine import (
    Effects,
    Engine,
    Inspection,
    Scope,
    random_id,
)
from ledgence.local._host._active import Active, Attempts
from ledgence.local._host._catalogue import Catalogue, Source
from ledgence.local._host._crashes import Crash, Crashes
from ledgence.local._host._execution import Executor, Report
from ledgence.local._host._listener import HostListener, PrintingListener
from ledgence.local._host._output import Output
from ledgence.local._host._pool import Pool
from ledgence.local._host._pump import Pump
from ledgence.local._host._runs import HostError
from ledgence.local._host._slots import Slots
from ledgence.local._host._time import HostTime, TimeMode
from ledgence.local._host._watches import Watches
from ledgence.local._launch import default_bootstrap
from ledgence.local._store import HostLock, SqliteStore, locate

if TYPE_CHECKING:
    from ledgence.local._host._inprocess import InProcess

__all__ = ["DEFAULT_SCOPE", "Lifecycle", "Options"]

_CLOSING_SECONDS = 10.0
# For each slot: so that two programs in turn do not end each other's processes.
_PROCESSES = 2
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


class Lifecycle:
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
        self._pool = Pool(_PROCESSES * options.slots)
        self._broken: BaseException | None = None
        self._escaped: BaseException | None = None
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
                name_alone, at, version = name.partition("@")
                self.catalogue.link(name_alone, source, version if at else None)
            path = self.options.store
            if path is None:
                made = stack.enter_context(tempfile.TemporaryDirectory())
                self.catalogue.directory = Path(made)
            else:
                locate(path, create=True)
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
            escape=self._escape,
        )
        slots = Slots(
            engine,
            executor,
            self._attempts,
            most=1 if self.options.in_process else self.options.slots,
            queues=self.options.queues,
            on_report=self._reported,
            on_error=self._fail,
            note=self.listener.note,
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

    def _escape(self, error: BaseException) -> None:
        """Raise an error where somebody waits, now or next."""
        if not self._watches.fail(error):
            self._escaped = error

    def _new_output(self) -> Output:
        directory = str(Path(default_bootstrap()).parent)
        return Output(self.listener, directory, self.crashes.on_frame)


@dataclass(frozen=True, slots=True)
class _Opened:
    engine: Engine
    look: Inspection
    slots: Slots
    pump: Pump
