"""Submission of tasks and root workflows, with idempotency (section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ledgence.local._engine._check import correlation, record, text
from ledgence.local._engine._children import same_work
from ledgence.local._engine._creation import create_task, create_workflow
from ledgence.local._engine._errors import Conflict, NotFound
from ledgence.local._engine._limits import KEY_BYTES, SUBMISSION_BYTES
from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import Task, Workflow
from ledgence.local._engine._status import task_snapshot, workflow_status
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, pack
from ledgence.local._engine._work import (
    Descriptor,
    Program,
    Scope,
    Trace,
    Work,
    parse_trace,
)
from ledgence.worker.workflow._limits import ENVELOPE_DEPTH

__all__ = ["Submission", "replayed", "submit_task", "submit_workflow"]

_REQUIRED = ("tenant_id", "namespace", "queue", "program", "data")
_OPTIONAL = ("correlation_key", "retry_policy", "attempt_timeout_ms")


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission, checked, with its defaults filled in."""

    idempotency_key: str
    scope: Scope
    work: Work
    program: Program
    correlation_key: str | None
    trace: Trace

    @classmethod
    def parse(cls, value: object) -> Submission:
        """Read the request.

        Raises:
            InvalidInput: A member is missing, unknown or not of its form, or the
                request is larger than 2 MiB.
        """
        found = record(value, ("idempotency_key", "input"), ("origin_trace",))
        key = text(found["idempotency_key"], KEY_BYTES, path="$.idempotency_key")
        taken = record(found["input"], _REQUIRED, _OPTIONAL, path="$.input")
        scope = Scope(
            text(taken["tenant_id"], path="$.input.tenant_id"),
            text(taken["namespace"], path="$.input.namespace"),
        )
        work = Work.parse(taken, path="$.input")
        key_path = "$.input.correlation_key"
        submission = cls(
            idempotency_key=key,
            scope=scope,
            work=work,
            program=cast("Program", work.program),
            correlation_key=correlation(taken.get("correlation_key"), path=key_path),
            trace=parse_trace(found.get("origin_trace"), path="$.origin_trace"),
        )
        pack(found, SUBMISSION_BYTES, depth=ENVELOPE_DEPTH)
        return submission


def replayed(
    rows: Rows, submission: Submission, *, workflow: bool
) -> Task | Workflow | None:
    """Return what was created under this key before, None if nothing was.

    Raises:
        Conflict: It was created from another input.
    """
    scope, key = submission.scope, submission.idempotency_key
    found: Task | Workflow | None = (
        rows.workflow_by_key(scope, key) if workflow else rows.task_by_key(scope, key)
    )
    if found is None:
        return None
    if (
        Program(found.program_id, found.program_version) != submission.program
        or found.correlation_key != submission.correlation_key
        or not same_work(rows, found, submission.work)
    ):
        raise Conflict(
            f"the idempotency key {key!r} was used with another input",
            details={"tenant_id": scope.tenant_id, "namespace": scope.namespace},
            hint="use a new key for new work; 1 and 1.0 are different values",
        )
    return found


def submit_task(turn: Turn, submission: Submission) -> JsonObject:
    """Queue a task, or recognise its key; return the current snapshot.

    Raises:
        Conflict: The key was used with another input.
        NotFound: The program does not exist.
    """
    found = replayed(turn.rows, submission, workflow=False)
    if found is None:
        found = create_task(
            turn,
            submission.work,
            _descriptor(turn, submission),
            submission.scope,
            trace=submission.trace,
            correlation_key=submission.correlation_key,
            idempotency_key=submission.idempotency_key,
        )
    return task_snapshot(turn.rows, cast("Task", found))


def submit_workflow(turn: Turn, submission: Submission) -> JsonObject:
    """Start a root workflow, or recognise its key; return the current status.

    Raises:
        Conflict: The key was used with another input.
        NotFound: The program does not exist.
    """
    found = replayed(turn.rows, submission, workflow=True)
    if found is None:
        found = create_workflow(
            turn,
            submission.work,
            _descriptor(turn, submission),
            submission.scope,
            trace=submission.trace,
            correlation_key=submission.correlation_key,
            idempotency_key=submission.idempotency_key,
        )
    return workflow_status(cast("Workflow", found))


def _descriptor(turn: Turn, submission: Submission) -> Descriptor:
    descriptor = turn.programs.get(submission.program)
    if descriptor is None:
        program = submission.program
        raise NotFound(
            f"program {program.id}/{program.version} does not exist",
            hint="publish it first",
        )
    return descriptor
