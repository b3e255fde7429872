"""One attempt, from the claim to the body of its report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

from ledgence.local._conversation import Invocation
from ledgence.local._engine import (
    Assignment,
    Engine,
    EngineError,
    Owner,
    business_error,
    failure,
    success,
)
from ledgence.local._engine import _results as results
from ledgence.local._engine._values import JsonObject
from ledgence.local._errors import Interrupted, LocalError, RunFailure
from ledgence.local._frames import Request, Result
from ledgence.local._host._active import Active
from ledgence.local._host._catalogue import Catalogue
from ledgence.local._host._hopeless import advice
from ledgence.local._host._output import Output
from ledgence.local._host._pool import Pool, PoolKey, Worker
from ledgence.local._launch import Launch
from ledgence.local._limits import READY_SECONDS, WORKFLOW_PROTOCOL

if TYPE_CHECKING:
    from ledgence.local._host._inprocess import InProcess

__all__ = ["Executor", "Report"]

# The deadline is kept by the host's clock; this one bounds what cannot be.
_MOST_SECONDS = 2 * 86_400.0
_MESSAGE_BYTES = 4_096
# Kinds of the service for which the package's own errors have no word.
_UNPREPARED: dict[str, results.Kind] = {
    "not_found": "not_found",
    "program_damaged": "integrity",
    "program_store": "io",
}
_KINDS = frozenset(get_args(results.Kind))


@dataclass(frozen=True, slots=True)
class Report:
    """What is reported of an attempt.

    Attributes:
        gone: Whether the program and all that it started have certainly ended.
        observations: The measurements of the runner, or None.
    """

    result: JsonObject
    gone: bool = True
    observations: dict[str, Any] | None = None

    @property
    def advice(self) -> str | None:
        """What to do about an execution failure that no retry cures."""
        found = self.result.get("failure")
        if found is None or found["kind"] != "execution":
            return None
        return advice(found["error"]["message"])

    def body(self, operation_id: str) -> JsonObject:
        """Return the body for ``Engine.report``."""
        body: JsonObject = {
            "operation_id": operation_id,
            "quiescence": "confirmed" if self.gone else "unconfirmed",
            "result": self.result,
        }
        if self.observations is not None:
            body["observations"] = self.observations
        return body


class Executor:
    """Runs the programs of attempts.

    Args:
        fresh: Start a new process for each attempt.
        here: Runs programs in this process instead; None starts processes.
        note: Says something to the author.
        escape: Raises what a stub raised, if it is no error of a program, where
            somebody waits.
    """

    def __init__(
        self,
        engine: Engine,
        catalogue: Catalogue,
        pool: Pool,
        new_output: Callable[[], Output],
        *,
        fresh: bool,
        here: InProcess | None,
        note: Callable[[str], None],
        escape: Callable[[BaseException], None],
    ) -> None:
        self._engine = engine
        self._catalogue = catalogue
        self._pool = pool
        self._new_output = new_output
        self._fresh = fresh
        self._here = here
        self._note = note
        self._escape = escape
        self._changed: set[tuple[str, str]] = set()

    def run(self, active: Active) -> Report:
        """Carry an attempt out; whatever happens becomes a report."""
        assignment = active.assignment
        try:
            lease = self._engine.dispatch(assignment.owner)
            if not lease.budget_ms:
                return _stopped(active)
            stub = self._catalogue.stub_of(assignment.descriptor)
            if stub is not None:
                return Report(stub.run(assignment, self._escape))
            return self._run_program(active)
        except EngineError as error:
            return Report(failure(error.failure, _text(error)))

    def _run_program(self, active: Active) -> Report:
        assignment = active.assignment
        try:
            digest, launch = self._catalogue.launch(assignment.descriptor)
        except (LocalError, OSError) as error:
            return Report(_unprepared(error))
        if assignment.activation and launch.protocol != WORKFLOW_PROTOCOL:
            text = f"the program has protocol {launch.protocol}; workflows need 3"
            return Report(failure("incompatible", text, phase="preparation"))
        self._notice(assignment, digest)
        if self._here is not None:
            return self._run_here(self._here, assignment, digest, launch)
        return self._run_process(active, digest, launch)

    def _notice(self, assignment: Assignment, digest: str) -> None:
        """Say once that a linked program is not what was accepted any more."""
        pinned = assignment.descriptor
        change = pinned.digest, digest
        if pinned.digest != digest and change not in self._changed:
            self._changed.add(change)
            self._note(
                f"program {pinned.program.id} has changed since"
                f" {assignment.workflow_id or assignment.owner.task_id} was accepted;"
                " it runs as it is now"
            )

    def _run_here(
        self, here: InProcess, assignment: Assignment, digest: str, launch: Launch
    ) -> Report:
        invocation, owner = self._invocation(assignment), assignment.owner
        try:
            result = here.run(
                digest, launch, invocation, lambda request: self._answer(owner, request)
            )
        except EngineError:
            raise
        except RunFailure as error:
            text = _text(error)
            return Report(failure(_kind(error.kind), text, phase=error.phase))
        except LocalError as error:
            return Report(failure(_kind(error.kind), _text(error), phase="admission"))
        return Report(_result_of(result), observations=result.observations)

    def _run_process(self, active: Active, digest: str, launch: Launch) -> Report:
        key = PoolKey(digest, active.assignment.scope, launch)
        worker = None if self._fresh else self._pool.take(key)
        if worker is None:
            worker = self._pool.start(key, self._new_output())
        return self._use(active, worker)

    def _use(self, active: Active, worker: Worker) -> Report:
        worker.output.begin(active.origin)
        active.attach(worker)
        try:
            result = self._invoke(active.assignment, worker)
        except Interrupted:
            return Report(_stopped(active).result, self._pool.drop(worker))
        except EngineError as error:
            # Not answered: the program must not go on as if it had been.
            gone = self._pool.drop(worker)
            return Report(failure(error.failure, _text(error)), gone)
        except RunFailure as error:
            return Report(_broken(error, worker.output), self._pool.drop(worker))
        except LocalError as error:
            self._leave(active, worker)
            kind = _kind(error.kind)
            return Report(failure(kind, _text(error), phase="admission"))
        except BaseException:
            self._pool.drop(worker)
            raise
        self._leave(active, worker)
        return Report(_result_of(result), True, result.observations)

    def _leave(self, active: Active, worker: Worker) -> None:
        """Keep the process for others, unless it was stopped meanwhile."""
        worker.output.end(worker.process.allowance)
        if not active.detach():
            self._pool.drop(worker)
        elif self._fresh:
            self._pool.part(worker)
        else:
            self._pool.put(worker)

    def _invoke(self, assignment: Assignment, worker: Worker) -> Result:
        owner, process = assignment.owner, worker.process
        if not worker.started:
            process.start(deadline=time.monotonic() + READY_SECONDS)
            worker.started = True

        def answer(request: Request) -> object:
            return self._answer(owner, request)

        invocation = self._invocation(assignment)
        deadline = time.monotonic() + _MOST_SECONDS
        return process.invoke(invocation, deadline=deadline, answer=answer)

    def _invocation(self, assignment: Assignment) -> Invocation:
        extension = None
        if assignment.activation:
            extension = self._engine.activation_extension(assignment.owner)
        return Invocation(assignment.event, extension)

    def _answer(self, owner: Owner, request: Request) -> object:
        return self._engine.runtime_request(owner, request.operation, request.payload)


def _result_of(result: Result) -> JsonObject:
    if result.error is None:
        return success(result.output)
    kind, message = result.error
    if result.status == "runtime_error":
        return failure("runtime", message)
    return business_error(kind, message)


def _stopped(active: Active) -> Report:
    if active.stopped == "timed_out":
        return Report(failure("timed_out", "the attempt's deadline has come"))
    return Report(failure("cancelled", "the attempt was stopped"))


def _broken(error: RunFailure, output: Output) -> JsonObject:
    text = _text(error)
    if output.tail:
        text = f"{text}\nits last output:\n{output.tail}"
    return failure(_kind(error.kind), _cut(text), phase=error.phase)


def _unprepared(error: LocalError | OSError) -> JsonObject:
    if isinstance(error, OSError):
        text = f"the program cannot be read: {error}"
        return failure("io", text, phase="preparation")
    kind = _UNPREPARED.get(error.code) or _kind(error.kind)
    return failure(kind, _text(error), phase="preparation")


def _kind(kind: str) -> results.Kind:
    return cast("results.Kind", kind) if kind in _KINDS else "runtime"


def _text(error: LocalError) -> str:
    text = error.summary if error.hint is None else f"{error.summary}; {error.hint}"
    return _cut(text)


def _cut(text: str) -> str:
    return text.encode(errors="replace")[:_MESSAGE_BYTES].decode(errors="ignore")
