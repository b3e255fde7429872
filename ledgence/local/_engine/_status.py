"""The shapes of status, result and snapshot answers (http-api.md, sections 4 and 5)."""

from __future__ import annotations

from ledgence.local._engine._invocation import task_data
from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import Attempt, Child, Payload, Report, Task, Workflow
from ledgence.local._engine._values import JsonObject, unpack, unpack_object
from ledgence.local._engine._work import Descriptor, Program, Scope, Trace

__all__ = [
    "TERMINAL",
    "child_input",
    "descriptor_of",
    "task_outcome",
    "task_result",
    "task_snapshot",
    "task_status",
    "workflow_outcome",
    "workflow_result",
    "workflow_status",
]

TERMINAL = frozenset(("succeeded", "failed", "cancelled"))


def task_status(task: Task) -> JsonObject:
    """Return the status of a task."""
    status: JsonObject = {
        "scope": Scope(task.tenant_id, task.namespace).to_json(),
        "task_id": task.task_id,
        "run_id": task.run_id,
        "queue": task.queue,
        "correlation_key": task.correlation_key,
        "state": task.state,
        "attempt_count": task.attempt_count,
        "current_attempt_id": task.current_attempt_id,
        "latest_attempt_id": task.latest_attempt_id,
        "submitted_at": task.submitted_at,
        "available_at": task.available_at,
        "terminal_at": task.terminal_at,
        "cancel_requested_at": task.cancel_requested_at,
    }
    if task.workflow_id is not None:
        status["workflow_id"] = task.workflow_id
    if task.activation:
        status["workflow_activation_id"] = task.task_id
    return status


def task_result(rows: Rows, task: Task) -> JsonObject:
    """Return status and outcome of a task."""
    return {"task": task_status(task), "outcome": task_outcome(rows, task)}


def task_outcome(rows: Rows, task: Task) -> JsonObject | None:
    """Return the outcome of a task, None until it is terminal."""
    if task.state not in TERMINAL:
        return None
    if task.state == "cancelled":
        return {"kind": "cancelled"}
    attempt = rows.need(Attempt, task.latest_attempt_id)
    outcome: JsonObject = {
        "kind": task.state,
        "attempt_id": attempt.attempt_id,
        "quiescence": attempt.quiescence or "unconfirmed",
        "execution_may_have_started": attempt.dispatched_at is not None,
    }
    report = rows.get(Report, attempt.attempt_id)
    if report is None:
        outcome["failure"] = {"kind": "attempt_lost"}
        return outcome
    result = unpack_object(report.body)["result"]
    name = "output" if task.state == "succeeded" else "failure"
    outcome[name] = result[name]
    return outcome


def task_snapshot(rows: Rows, task: Task) -> JsonObject:
    """Return the snapshot that a submission answers (http-api.md, section 4.1)."""
    status = task_status(task)
    program = descriptor_of(task)
    taken: JsonObject = {
        "tenant_id": task.tenant_id,
        "namespace": task.namespace,
        "queue": task.queue,
        "program": program.program.to_json(),
        "data": task_data(rows, task),
        "retry_policy": {
            "max_attempts": task.max_attempts,
            "retry_delay_ms": task.retry_delay_ms,
        },
        "attempt_timeout_ms": task.attempt_timeout_ms,
    }
    if task.correlation_key is not None:
        taken["correlation_key"] = task.correlation_key
    snapshot: JsonObject = {
        "task_id": task.task_id,
        "run_id": task.run_id,
        # Owned tasks have a key of the host's own making; no submission has it.
        "idempotency_key": task.idempotency_key or f"owned:{task.task_id}",
        "input": taken,
        "descriptor": program.to_json(),
        "origin_trace": Trace(task.traceparent, task.tracestate).to_json(),
    }
    for name in _SNAPSHOT:
        snapshot[name] = status[name]
    for name in ("workflow_id", "workflow_activation_id"):
        if name in status:
            snapshot[name] = status[name]
    return snapshot


_SNAPSHOT = (
    "state",
    "submitted_at",
    "available_at",
    "terminal_at",
    "current_attempt_id",
    "attempt_count",
    "cancel_requested_at",
)


def workflow_status(workflow: Workflow) -> JsonObject:
    """Return the status of a workflow; a root has no lineage members."""
    status: JsonObject = {
        "workflow_id": workflow.workflow_id,
        "scope": Scope(workflow.tenant_id, workflow.namespace).to_json(),
        "state": workflow.state,
        "revision": workflow.revision,
        "activation_id": workflow.activation_id,
        "submitted_at": workflow.submitted_at,
        "terminal_at": workflow.terminal_at,
        "correlation_key": workflow.correlation_key,
    }
    if workflow.parent_workflow_id is not None:
        status["parent_workflow_id"] = workflow.parent_workflow_id
        status["root_workflow_id"] = workflow.root_workflow_id
    return status


def workflow_result(rows: Rows, workflow: Workflow) -> JsonObject:
    """Return status and outcome of a workflow."""
    outcome = workflow_outcome(rows, workflow)
    return {"workflow": workflow_status(workflow), "outcome": outcome}


def workflow_outcome(rows: Rows, workflow: Workflow) -> JsonObject | None:
    """Return the outcome of a workflow, None until it is terminal."""
    if workflow.state == "cancelled":
        return {"kind": "cancelled"}
    if workflow.state == "failed":
        error = {"kind": workflow.error_kind, "message": workflow.error_message}
        return {"kind": "failed", "error": error}
    if workflow.state == "succeeded":
        output = rows.need(Payload, workflow.workflow_id).output or b"null"
        return {"kind": "succeeded", "output": unpack(output)}
    return None


def child_input(rows: Rows, child: Child) -> JsonObject:
    """Return what the parent's activation sees of a terminal child."""
    if child.kind == "task":
        task = rows.need(Task, child.target_id)
        outcome = task_outcome(rows, task)
        return {"task_id": task.task_id, "state": task.state, "outcome": outcome}
    workflow = rows.need(Workflow, child.target_id)
    return {
        "kind": "workflow",
        "workflow_id": workflow.workflow_id,
        "state": workflow.state,
        "outcome": workflow_outcome(rows, workflow),
    }


def descriptor_of(owner: Task | Workflow) -> Descriptor:
    """Return the pinned descriptor."""
    program = Program(owner.program_id, owner.program_version)
    return Descriptor(program, owner.digest, owner.size)
