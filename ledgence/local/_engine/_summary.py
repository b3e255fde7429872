"""The parts of a workflow as inspection shows them (http-api.md, section 10)."""

from __future__ import annotations

from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import (
    Activation,
    Checkpoint,
    Child,
    InboxEvent,
    Task,
    Wait,
    Workflow,
)
from ledgence.local._engine._status import descriptor_of, workflow_status
from ledgence.local._engine._values import JsonObject, unpack

__all__ = [
    "activation_view",
    "child_view",
    "event_view",
    "listed_view",
    "summary",
    "wait_view",
]


def listed_view(workflow: Workflow) -> JsonObject:
    """Return a workflow as a list shows it."""
    return {
        "workflow": workflow_status(workflow),
        "controller": descriptor_of(workflow).to_json(),
        "queue": workflow.queue,
    }


def summary(rows: Rows, workflow: Workflow) -> JsonObject:
    """Return what a workflow does now, and what it waits for.

    ``child_wait`` names the children that a suspended run waits for, ``missing`` how
    many of them are not terminal; ``external_wait`` is its open wait.
    """
    checkpoint = rows.get(Checkpoint, workflow.workflow_id)
    wait = rows.open_wait(workflow.workflow_id)
    current = rows.get(Activation, workflow.activation_id or "")
    continuation = None if current is None else current.continuation
    if checkpoint is not None:
        continuation = checkpoint.continuation
    return {
        "summary": listed_view(workflow),
        "continuation": continuation,
        "external_wait_key": None if wait is None else wait.key,
        "external_wait": None if wait is None else wait_view(workflow, wait),
        "child_wait": _child_wait(checkpoint),
    }


def _child_wait(checkpoint: Checkpoint | None) -> JsonObject | None:
    if checkpoint is None or checkpoint.until is None:
        return None
    return {
        "activation_id": checkpoint.activation_id,
        "command_keys": unpack(checkpoint.until),
        "missing": checkpoint.missing,
    }


def child_view(rows: Rows, child: Child) -> JsonObject:
    """Return a child of a workflow."""
    is_task = child.kind == "task"
    task = rows.need(Task, child.target_id) if is_task else None
    run = None if is_task else rows.need(Workflow, child.target_id)
    return {
        "workflow_id": child.workflow_id,
        "command_key": child.key,
        "kind": "task" if is_task else "workflow",
        "branch": child.kind == "branch",
        "target_id": child.target_id,
        "task_state": None if task is None else task.state,
        "workflow_state": None if run is None else run.state,
        "consumed": bool(child.consumed),
        "creating_activation_id": child.activation_id,
        "creating_revision": child.revision,
        "registered_at": child.registered_at,
        "terminal_at": child.terminal_at,
    }


def activation_view(rows: Rows, activation_id: str) -> JsonObject:
    """Return an activation of a workflow."""
    activation = rows.need(Activation, activation_id)
    task = rows.need(Task, activation_id)
    return {
        "workflow_id": activation.workflow_id,
        "activation_id": activation_id,
        "task_id": activation_id,
        "revision": activation.revision,
        "continuation": activation.continuation,
        "state": task.state,
        "attempt_count": task.attempt_count,
        "scheduled_at": activation.scheduled_at,
        "decision": activation.decision,
        "applied_at": activation.applied_at,
        "error": activation.error_kind,
    }


def wait_view(workflow: Workflow, wait: Wait) -> JsonObject:
    """Return an external wait of a workflow."""
    return {
        "workflow_id": workflow.workflow_id,
        "key": wait.key,
        "kind": wait.kind,
        "activation_id": wait.activation_id,
        "installed_at": wait.installed_at,
        "deadline": wait.deadline,
        "open": bool(wait.open),
        "closed_at": wait.closed_at,
        "ended": wait.ended,
    }


def event_view(workflow: Workflow, event: InboxEvent) -> JsonObject:
    """Return an accepted event of a workflow; ``pending`` until a wait takes it."""
    return {
        "workflow_id": workflow.workflow_id,
        "key": event.key,
        "event_id": event.event_id,
        "event_source": event.source,
        "accepted_at": event.accepted_at,
        "pending": bool(event.pending),
        "bytes": event.size,
        "event": unpack(event.event),
    }
