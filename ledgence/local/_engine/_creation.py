"""The birth of tasks and workflows (sections 3, 5 and 10)."""

from __future__ import annotations

from ledgence.local._engine._activations import schedule
from ledgence.local._engine._rows import Payload, Task, Workflow
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._work import NO_TRACE, Descriptor, Scope, Trace, Work

__all__ = ["create_task", "create_workflow"]

START = "start"


def create_task(
    turn: Turn,
    work: Work,
    descriptor: Descriptor,
    scope: Scope,
    *,
    trace: Trace = NO_TRACE,
    correlation_key: str | None = None,
    idempotency_key: str | None = None,
    owner: Workflow | None = None,
    child_key: str | None = None,
) -> Task:
    """Queue a new task, plain or owned by a workflow."""
    task = Task(
        task_id=turn.new_id("task"),
        run_id=turn.new_id("run"),
        tenant_id=scope.tenant_id,
        namespace=scope.namespace,
        queue=work.queue,
        correlation_key=correlation_key,
        idempotency_key=idempotency_key,
        program_id=descriptor.program.id,
        program_version=descriptor.program.version,
        digest=descriptor.digest,
        size=descriptor.size,
        max_attempts=work.max_attempts,
        retry_delay_ms=work.retry_delay_ms,
        attempt_timeout_ms=work.attempt_timeout_ms,
        traceparent=trace.traceparent,
        tracestate=trace.tracestate,
        workflow_id=None if owner is None else owner.workflow_id,
        activation=0,
        child_key=child_key,
        submitted_at=turn.now,
        available_at=turn.now,
    )
    turn.rows.add(task)
    turn.rows.add(Payload(task.task_id, work.data.data))
    turn.effects.runnable = True
    return task


def create_workflow(
    turn: Turn,
    work: Work,
    descriptor: Descriptor,
    scope: Scope,
    *,
    trace: Trace = NO_TRACE,
    correlation_key: str | None = None,
    idempotency_key: str | None = None,
    owner: Workflow | None = None,
    child_key: str | None = None,
    entry: str = START,
) -> Workflow:
    """Create a run, root or owned, together with its first activation."""
    workflow = Workflow(
        workflow_id=turn.new_id("wf"),
        tenant_id=scope.tenant_id,
        namespace=scope.namespace,
        queue=work.queue,
        correlation_key=correlation_key,
        idempotency_key=idempotency_key,
        program_id=descriptor.program.id,
        program_version=descriptor.program.version,
        digest=descriptor.digest,
        size=descriptor.size,
        max_attempts=work.max_attempts,
        retry_delay_ms=work.retry_delay_ms,
        attempt_timeout_ms=work.attempt_timeout_ms,
        traceparent=trace.traceparent,
        tracestate=trace.tracestate,
        parent_workflow_id=None if owner is None else owner.workflow_id,
        root_workflow_id=_root_of(owner),
        child_key=child_key,
        depth=0 if owner is None else owner.depth + 1,
        submitted_at=turn.now,
    )
    turn.rows.add(workflow)
    turn.rows.add(Payload(workflow.workflow_id, work.data.data))
    turn.rows.log(workflow.workflow_id, turn.now, "submitted")
    return schedule(turn, workflow, continuation=entry, state=b"null")


def _root_of(owner: Workflow | None) -> str | None:
    if owner is None:
        return None
    return owner.root_workflow_id or owner.workflow_id
