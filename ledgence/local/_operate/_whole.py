"""``run --workflow``: whole workflows, one for each event, to their end."""

from __future__ import annotations

import contextlib
import os
import selectors
import tempfile
import time
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledgence.local._cancel import CancelToken
from ledgence.local._console import Console
from ledgence.local._engine import Program
from ledgence.local._errors import InputError, Interrupted, LocalError
from ledgence.local._exit import ExitCode, exit_code_of, exit_code_of_signal
from ledgence.local._host._requests import SubmitOptions, submission
from ledgence.local._inputs import Input, Inputs
from ledgence.local._launch import default_bootstrap
from ledgence.local._operate._display import Display, open_display
from ledgence.local._operate._drive import Drive, Hosted, hosting, settle
from ledgence.local._operate._find import Found
from ledgence.local._operate._links import parse_link
from ledgence.local._operate._overview import operation_table
from ledgence.local._operate._programs import link_all
from ledgence.local._operate._session import DEFAULT_SCOPE, Place, Session
from ledgence.local._operate._tree import Node
from ledgence.local._replay import History
from ledgence.local._run import complain, open_inputs
from ledgence.local._signals import SignalWatch
from ledgence.local._streams import Stream, fill_standard_descriptors, forget_stdout
from ledgence.local._target import find_target, require_workflows

__all__ = ["Options", "run"]

_DEFAULT_VERSION = "dev"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line of ``run --workflow``, as it was given."""

    target: str
    data: str | None = None
    events: str | None = None
    programs: tuple[str, ...] = ()
    store: str | None = None
    timeout: float | None = None
    skip_time: bool = False
    python: str | None = None
    pretty: bool = False
    table: bool = False
    verbose: bool = False


def run(options: Options) -> int:
    """Run the command and return its exit code."""
    readable = fill_standard_descriptors()
    token = CancelToken()
    try:
        if not readable and "-" in (options.data, options.events):
            raise InputError("standard input is closed", code="input_unreadable")
        with SignalWatch(token) as signals, contextlib.ExitStack() as stack:
            with signals.immediately():
                inputs = open_inputs(options.data, options.events)
                session = stack.enter_context(_session(options))
                program = _program(session, options)
            return _Runs(session, program, options, token).run(inputs)
    except LocalError as error:
        complain(f"ledgence-local: {error}\n")
        return exit_code_of(error)
    except Interrupted as stop:
        return exit_code_of_signal(stop.signal)
    except BrokenPipeError:
        forget_stdout()
        return ExitCode.BROKEN_PIPE
    finally:
        token.close()


@contextlib.contextmanager
def _session(options: Options) -> Generator[Session]:
    """Open the store that was named, or one that goes with the command."""
    with contextlib.ExitStack() as stack:
        if options.store is None:
            made = tempfile.TemporaryDirectory(prefix="ledgence-")
            path = Path(stack.enter_context(made)) / "local.db"
        else:
            path = Path(options.store)
        place = Place(store=path, scope=DEFAULT_SCOPE)
        yield stack.enter_context(Session(place, create=True))


def _program(session: Session, options: Options) -> Program:
    require_workflows(find_target(options.target))
    link_all(session.links, options.programs)
    link = parse_link(options.target)
    session.links.add(link)
    return Program(link.name, link.version or _DEFAULT_VERSION)


class _Runs:
    """One call of the command."""

    def __init__(
        self, session: Session, program: Program, options: Options, token: CancelToken
    ) -> None:
        self._session = session
        self._program = program
        self._options = options
        self._token = token
        self._drive = Drive(
            python=options.python,
            verbose=options.verbose,
            skip_time=options.skip_time,
        )
        self._console = Console(
            Stream(1, token),
            Stream(2, token),
            pretty=options.pretty,
            frames=False,
            runner_directory=str(Path(default_bootstrap()).parent),
            progress=None,
        )
        self._code = 0
        self._runs = 0
        self._good = 0

    def run(self, inputs: Inputs) -> int:
        """Run every event and return the highest exit code."""
        display = _Display(self._session)
        try:
            with hosting(self._session, self._drive, display) as hosted:
                for item in inputs.read(self._wait):
                    self._token.check()
                    self._runs += 1
                    self._one(hosted, display, item)
        except Interrupted as stop:
            self._console.stop()  # also when no event was under way
            self._code = exit_code_of_signal(stop.signal)
        finally:
            display.close()
        if inputs.many or self._code >= ExitCode.INTERRUPTED:
            failed = self._runs - self._good
            text = f"{self._runs} runs: {self._good} succeeded, {failed} did not"
            self._console.note(text)
        return self._code

    def _wait(self, descriptor: int) -> None:
        """Wait for input, or for a signal."""
        with selectors.SelectSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            selector.register(self._token.fileno(), selectors.EVENT_READ)
            selector.select()
        self._token.check()

    def _one(self, hosted: Hosted, display: _Display, item: Input) -> None:
        head: dict[str, Any] = {"run": self._runs}
        if item.line is not None:
            head["line"] = item.line
        if item.problem is not None:
            self._report({**head, "status": "not_run"}, item.problem)
            return
        seconds = self._options.timeout
        try:
            found = self._start(item.data)
            head["workflow_id"] = found.id
            display.open()
            tree = settle(
                self._session, found, hosted, display, self._token, seconds=seconds
            )
        except Interrupted:
            display.close()
            self._console.stop()
            stopped = {"kind": "cancelled", "message": "the run was stopped"}
            self._console.result({**head, "status": "interrupted", "error": stopped})
            raise
        except LocalError as error:
            display.close()
            self._report({**head, "status": "failed"}, error)
            return
        display.close()
        self._answer(head, found, tree)

    def _start(self, data: object) -> Found:
        options: SubmitOptions = {"key": f"run-{uuid.uuid4()}"}
        request = submission(DEFAULT_SCOPE, self._program, data, options)
        reply = self._session.engine.submit_workflow(request)
        return Found("workflow", reply["workflow_id"])

    def _answer(self, head: dict[str, Any], found: Found, tree: Node) -> None:
        about = self._session.about(workflow_id=found.id)
        outcome = self._session.look.workflow_result(about)["outcome"]
        if self._options.table or os.isatty(2):
            history = History.of_workflow(self._session.look, about)
            operation_table(history, error=True)
        if outcome is None:
            self._count(ExitCode.WAITING)
            self._say_waits(tree)
            awaits = [one.to_json() for one in tree.waits]
            if self._options.store is None:
                # Nobody can reach a store that goes with the command.
                awaits = [{**one, "release": None} for one in awaits]
            self._console.result({**head, "status": "waiting", "awaits": awaits})
        elif outcome["kind"] == "succeeded":
            self._count(ExitCode.SUCCESS)
            shown = {"status": "success", "output": outcome["output"]}
            self._console.result({**head, **shown})
        else:
            self._count(ExitCode.PROGRAM_FAILURE)
            cancelled = {"kind": "cancelled", "message": "the workflow was cancelled"}
            error = outcome.get("error") or cancelled
            self._console.result({**head, "status": "error", "error": error})

    def _say_waits(self, tree: Node) -> None:
        """Say what is awaited, and how to send it where that is possible."""
        store = self._options.store
        for one in tree.waits:
            text = f"run {self._runs} waits for {one.kind} {one.key!r}"
            if store is None:
                text += "; with --store FILE it is kept, and can be released"
            elif one.release is not None:
                text += f"\n  {one.release}"
            self._console.note(text)

    def _report(self, head: dict[str, Any], error: LocalError) -> None:
        self._count(exit_code_of(error))
        self._console.note(f"run {self._runs}: {error}")
        body = {"kind": error.kind, "code": error.code, "message": error.summary}
        self._console.result({**head, "error": body})

    def _count(self, code: int) -> None:
        self._good += code == ExitCode.SUCCESS
        self._code = max(self._code, code)


class _Display:
    """A display for each run; results are printed between them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._since = time.time_ns() // 1_000_000
        self._shown: Display | None = None

    def open(self) -> None:
        """Begin to show a run."""
        self._shown = open_display(self._session, quiet=False, since=self._since)

    def line(self, text: str) -> None:
        """Show the line, also between two runs."""
        if self._shown is None:
            complain(text + "\n")
        else:
            self._shown.line(text)

    def update(self, tree: Node | None, now: int) -> None:
        """Show how far it is."""
        if self._shown is not None:
            self._shown.update(tree, now)

    def close(self) -> None:
        """End a run."""
        shown, self._shown = self._shown, None
        if shown is not None:
            shown.close()
