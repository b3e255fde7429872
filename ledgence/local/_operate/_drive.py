"""Running programs for a command: a host on the store until the run is settled."""

from __future__ import annotations

import contextlib
import select
import threading
import time
from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from ledgence.local._cancel import CancelToken
from ledgence.local._engine import Effects, NotFound
from ledgence.local._errors import DeadlineExceeded, Interrupted, LocalError
from ledgence.local._exit import ExitCode
from ledgence.local._host import (
    LocalHost,
    Origin,
    PlainHost,
    PrintingListener,
    WaitExpired,
)
from ledgence.local._host._catalogue import Catalogue
from ledgence.local._host._pump import is_idle
from ledgence.local._operate._display import Display, open_display
from ledgence.local._operate._find import Found
from ledgence.local._operate._session import Session
from ledgence.local._operate._show import facts, show_json
from ledgence.local._operate._tasks import status_facts
from ledgence.local._operate._tree import Node, TreeReader
from ledgence.local._operate._workflows import outcome_facts, waits_facts
from ledgence.local._signals import SignalWatch
from ledgence.local._store import HostLock, StoreError

__all__ = [
    "Drive",
    "Hearing",
    "Hosted",
    "answer",
    "follow",
    "hosting",
    "idle",
    "run_on",
    "settle",
    "watching",
]

_FRAME_SHOWN = 4_096
# How often a signal, or a change that nobody told of, is looked for.
_LOOK_SECONDS = 0.25
# A large tree is read less often: reading takes at most a fifth of the time.
_REST = 4
_LONGEST_REST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """How a command runs programs.

    Attributes:
        no_run: Only record.
        cancelling: The run is meant to end as ``cancelled``.
        skip_time: Skip timers, delays and deadlines instead of waiting for them.
    """

    no_run: bool = False
    slots: int = 4
    python: str | None = None
    quiet: bool = False
    verbose: bool = False
    cancelling: bool = False
    skip_time: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any], *, cancelling: bool = False) -> Drive:
        """Read the options."""
        return cls(
            no_run=given.get("no_run", False),
            slots=given["slots"],
            python=given["python"],
            quiet=given["quiet"],
            verbose=given["verbose"],
            cancelling=cancelling,
        )


class Hearing(PrintingListener):
    """Passes on what a host says, and wakes who waits for a change."""

    def __init__(self, display: Display, *, frames: bool) -> None:
        super().__init__()
        self._display = display
        self._frames = frames
        self.changes = threading.Event()
        self.finished: deque[str] = deque()

    def frame(self, origin: Origin, direction: str, line: bytes) -> None:
        """Show a frame when that was asked for."""
        if self._frames:
            text = line[:_FRAME_SHOWN].decode(errors="replace").rstrip("\n")
            self._print(f"[{origin}] {direction} {text}")

    def changed(self, effects: Effects) -> None:
        """Wake who waits."""
        self.finished += effects.finished
        self.changes.set()

    def _print(self, text: str) -> None:
        self._display.line(text)


@dataclass(frozen=True, slots=True)
class Hosted:
    """A host that runs the programs of a store."""

    host: PlainHost
    hearing: Hearing
    skips: bool

    def check(self) -> int:
        """Return the host's time; an error that has stopped the host is raised."""
        return self.host.now_ms

    def await_change(self, found: Found) -> None:
        """Wait until something may have changed, at most a moment."""
        if not self.skips:
            self.hearing.changes.wait(_LOOK_SECONDS)
            return
        # Time is skipped only for somebody who awaits a result.
        with contextlib.suppress(WaitExpired):
            self.host.result(found.id, timeout=_LOOK_SECONDS)


@contextlib.contextmanager
def hosting(session: Session, drive: Drive, display: Display) -> Generator[Hosted]:
    """Run the programs of the store within the block.

    Raises:
        StoreError: ``store_in_use``: another host does so.
    """
    hearing = Hearing(display, frames=drive.verbose)
    scope = session.place.scope
    host = LocalHost(
        session.place.store,
        programs=_usable(session, display, drive),
        slots=drive.slots,
        time="skip" if drive.skip_time else "real",
        scope=(scope.tenant_id, scope.namespace),
        python=drive.python,
        listener=hearing,
    )
    with host as plain:
        plain.on_unknown_program(partial(_seek, session, plain))
        yield Hosted(plain, hearing, drive.skip_time)


def _seek(session: Session, host: PlainHost, name: str) -> None:
    """Register what another command has linked since the host was opened."""
    for link in session.links.all():
        if link.name == name:
            host.add_program(link.name, link.target, link.version)


def _usable(session: Session, display: Display, drive: Drive) -> dict[str, str]:
    """Return the linked programs that can still be run; say which cannot."""
    found: dict[str, str] = {}
    for link in session.links.all():
        try:
            Catalogue(drive.python).link(link.name, link.target, link.version)
        except (LocalError, OSError) as error:
            text = error.summary if isinstance(error, LocalError) else str(error)
            display.line(f"ledgence-local: linked program {link}: {text}")
            continue
        found[str(link)] = link.target
    return found


def run_on(session: Session, found: Found, reply: object, drive: Drive) -> int:
    """Run what a command has recorded, print how it stands, return the exit code.

    Args:
        session: The store, in which it is recorded.
        found: The run that is watched.
        reply: The answer to the command, printed when nothing is run.
        drive: How programs are run.
    """
    if drive.no_run:
        return _recorded(session, found, reply)
    tree = TreeReader(session, found).read()
    if not _settled(tree):
        tree = follow(session, found, drive)
    return answer(session, found, tree, drive)


def follow(session: Session, found: Found, drive: Drive) -> Node:
    """Run programs until a run is settled; return its tree.

    Another host may be at work on the store. Then this one looks on, and takes over
    when that one ends before the run does.

    Raises:
        Interrupted: A signal came.
    """
    display = open_display(session, quiet=drive.quiet, since=session.opened_at)
    told = False
    try:
        with watching() as token, contextlib.closing(display):
            while True:
                try:
                    with hosting(session, drive, display) as hosted:
                        tree = settle(session, found, hosted, display, token)
                        drain(hosted, display, token)
                        return tree
                except StoreError as error:
                    if error.code != "store_in_use":
                        raise
                    if not told:
                        pid = error.details.get("pid", "unknown")
                        text = f"the host with process id {pid} is at work on the store"
                        display.line(f"ledgence-local: {text}; this command looks on")
                        told = True
                seen = _look_on(session, found, display, token)
                if seen is not None:
                    return seen
    except Interrupted:
        text = f"stopped; it goes on with: {session.place.words('work')} {found.id}"
        click.echo(f"ledgence-local: {text}", err=True)
        raise


def _look_on(
    session: Session, found: Found, display: Display, token: CancelToken
) -> Node | None:
    """Wait until a run is settled, or nobody runs the programs of the store any more.

    Returns:
        The tree as it stands then; None when it has to be run.

    Raises:
        Interrupted: A signal came.
    """
    reader = TreeReader(session, found)
    while True:
        token.check()
        tree = reader.read()
        display.update(tree, session.engine.schedule().now)
        if _settled(tree):
            return tree
        if HostLock.is_free(session.place.store):
            return None
        select.select([token], [], [], _LOOK_SECONDS)


@contextlib.contextmanager
def watching() -> Generator[CancelToken]:
    """Let signals cancel a token within the block, so that hosts end in order."""
    token = CancelToken()
    try:
        with SignalWatch(token):
            yield token
    finally:
        token.close()


def settle(
    session: Session,
    found: Found,
    hosted: Hosted,
    display: Display,
    token: CancelToken,
    *,
    seconds: float | None = None,
) -> Node:
    """Wait until a run is over, or nothing goes on before something comes from outside.

    Args:
        session: The store.
        found: The run.
        hosted: Runs it.
        display: Shows how far it is.
        token: Cancelled by signals.
        seconds: How long to wait at most; None for as long as it takes.

    Returns:
        The tree as it stands then.

    Raises:
        Interrupted: A signal came.
        DeadlineExceeded: The time was up; the run goes on.
    """
    reader = TreeReader(session, found)
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        token.check()
        hosted.hearing.changes.clear()
        began = time.monotonic()
        tree = reader.read()
        display.update(tree, hosted.host.now_ms)
        if _settled(tree) and not _passes(hosted, tree):
            return tree
        if until is not None and began >= until:
            raise _late(found, seconds)
        # Many changes come in a row; a large tree is not read for each.
        rest = min(_REST * (time.monotonic() - began), _LONGEST_REST)
        select.select([token], [], [], rest)
        hosted.await_change(found)


def drain(hosted: Hosted, display: Display, token: CancelToken) -> None:
    """Let the attempts of other runs end: to stop them would cost them an attempt.

    Raises:
        Interrupted: A signal came.
    """
    if hosted.host.drain(_LOOK_SECONDS):
        return
    display.line("ledgence-local: other runs of the store are still at work")
    while not hosted.host.drain(_LOOK_SECONDS):
        token.check()


def _settled(tree: Node) -> bool:
    return tree.over or tree.stuck


def _passes(hosted: Hosted, tree: Node) -> bool:
    """Tell whether a deadline of what is awaited is skipped to."""
    if tree.over or not hosted.skips:
        return False
    return any(one.deadline is not None for one in tree.waits)


def _late(found: Found, seconds: float | None) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"{found.kind} {found.id} is not over after {seconds:g} s",
        code="deadline_exceeded",
        kind="timed_out",
        hint="--timeout allows more seconds",
    )


def idle(
    session: Session,
    hosted: Hosted,
    display: Display,
    token: CancelToken,
    *,
    stay: bool,
) -> None:
    """Wait until nothing can run now; with ``stay`` until a signal comes.

    Raises:
        Interrupted: A signal came.
    """
    while True:
        token.check()
        hosted.check()
        hosted.hearing.changes.clear()
        done = is_idle(session.engine.schedule()) and not stay
        _tell_finished(session, hosted.hearing, display)
        if done:
            return
        hosted.hearing.changes.wait(_LOOK_SECONDS)


def _tell_finished(session: Session, hearing: Hearing, display: Display) -> None:
    """Show the runs that are over and that no other run owns."""
    while hearing.finished:
        run_id = hearing.finished.popleft()
        kind = "task" if run_id.startswith("task_") else "workflow"
        ask = session.look.task_status if kind == "task" else None
        about = session.about(**{f"{kind}_id": run_id})
        with contextlib.suppress(NotFound):  # a run of another scope
            status = (ask or session.look.workflow_status)(about)
            owner = "workflow_id" if kind == "task" else "parent_workflow_id"
            if status.get(owner) is None:
                display.line(f"ledgence-local: {kind} {run_id} {status['state']}")


def _recorded(session: Session, found: Found, reply: object) -> int:
    if session.as_json:
        show_json(reply)
    else:
        click.echo(f"{found.kind} {found.id} is recorded")
    return ExitCode.SUCCESS


def answer(session: Session, found: Found, tree: Node, drive: Drive) -> int:
    """Print how a run stands and return the exit code for that."""
    about = session.about(**{f"{found.kind}_id": found.id})
    ask = session.look.task_result if found.kind == "task" else None
    result = (ask or session.look.workflow_result)(about)
    waits = [] if tree.over else tree.waits
    if session.as_json:
        show_json({**result, "awaits": [one.to_json() for one in waits]})
    elif found.kind == "task":
        facts({**status_facts(result["task"]), **outcome_facts(result["outcome"])})
    else:
        status = result["workflow"]
        shown = {"workflow": found.id, "state": status["state"]}
        facts({**shown, **outcome_facts(result["outcome"])})
        waits_facts(waits)
    state = result[found.kind]["state"]
    good = ("cancelled",) if drive.cancelling else ()
    bad = {"failed", "cancelled"} - set(good)
    return ExitCode.PROGRAM_FAILURE if state in bad else ExitCode.SUCCESS
