"""The whole history of a workflow or of a task as one JSON object.

A workflow::

    {"workflow": STATUS, "descriptor": DESCRIPTOR, "input": INPUT, "outcome": OUTCOME,
     "activations": [ACTIVATION, ...], "children": [CHILD, ...], "waits": [...],
     "events": [...], "approvals": [...], "log": [...]}

An activation holds all that its program saw and said: ``event`` is that of its last
attempt, ``context`` the payload without ``local_steps``, ``requests`` what it asked
for over all attempts, in that order and with the replies (the records of the commits
are the journal), and ``decision`` what it returned, or None::

    {"activation_id", "revision", "continuation", "scheduled_at", "applied_at",
     "error", "state", "attempts": [ATTEMPT, ...], "event", "context",
     "requests": [{"operation", "payload", "reply", "attempt_id", "at"}, ...],
     "decision"}

A child is as inspection shows it, and ``history`` is that of the task or workflow
behind it. A task::

    {"task": STATUS, "descriptor": DESCRIPTOR, "input": INPUT, "outcome": OUTCOME,
     "event": {...}, "attempts": [ATTEMPT, ...]}

Times are Unix milliseconds of the host's clock, which may have been skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ledgence.local._engine._activations import build_context
from ledgence.local._engine._approvals import approval_snapshot
from ledgence.local._engine._history import attempt_summary
from ledgence.local._engine._invocation import build_event, task_data
from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import (
    Activation,
    Attempt,
    Child,
    Fork,
    LocalStep,
    LogEntry,
    Payload,
    Report,
    Task,
    Workflow,
)
from ledgence.local._engine._status import (
    descriptor_of,
    task_outcome,
    task_status,
    workflow_outcome,
    workflow_status,
)
from ledgence.local._engine._summary import child_view, event_view, wait_view
from ledgence.local._engine._values import JsonObject, unpack, unpack_object

__all__ = ["task_export", "workflow_export"]

T = TypeVar("T")
_PAGE = 500


def workflow_export(rows: Rows, run: Workflow) -> JsonObject:
    """Return the history of a workflow with the histories of its children."""
    log = _all(lambda after: rows.list_log(run.workflow_id, after, _PAGE), _number, 0)
    return {
        "workflow": workflow_status(run),
        "descriptor": descriptor_of(run).to_json(),
        "input": _input(run, unpack(rows.need(Payload, run.workflow_id).data)),
        "outcome": workflow_outcome(rows, run),
        "activations": _activations(rows, run, log),
        "children": [_child(rows, child) for child in _children(rows, run)],
        **_outside(rows, run),
        "log": [_line(entry) for entry in log],
    }


def task_export(rows: Rows, task: Task) -> JsonObject:
    """Return the history of a task."""
    attempts = rows.attempts_of(task.task_id)
    return {
        "task": task_status(task),
        "descriptor": descriptor_of(task).to_json(),
        "input": _input(task, task_data(rows, task)),
        "outcome": task_outcome(rows, task),
        "event": _last_event(rows, task, attempts),
        "attempts": [_attempt(rows, attempt) for attempt in attempts],
    }


A = TypeVar("A", int, str)


def _all(fetch: Callable[[A], list[T]], key: Callable[[T], A], first: A) -> list[T]:
    """Return what stands on all pages."""
    found: list[T] = []
    after = first
    while page := fetch(after):
        found += page
        if len(page) < _PAGE:
            break
        after = key(page[-1])
    return found


def _number(entry: LogEntry) -> int:
    return entry.sequence


def _line(entry: LogEntry) -> JsonObject:
    return {
        "sequence": entry.sequence,
        "at": entry.at,
        "reason": entry.reason,
        "activation_id": entry.activation_id,
        "subject": entry.subject,
    }


def _input(owner: Task | Workflow, data: object) -> JsonObject:
    """Return what was submitted, with all defaults filled in."""
    return {
        "queue": owner.queue,
        "program": descriptor_of(owner).program.to_json(),
        "data": data,
        "retry_policy": {
            "max_attempts": owner.max_attempts,
            "retry_delay_ms": owner.retry_delay_ms,
        },
        "attempt_timeout_ms": owner.attempt_timeout_ms,
    }


def _outside(rows: Rows, run: Workflow) -> JsonObject:
    """Return what came, or is to come, from outside."""
    run_id = run.workflow_id
    waits = _all(lambda key: rows.list_waits(run_id, key, _PAGE), lambda w: w.key, "")
    inbox = _all(lambda key: rows.list_inbox(run_id, key, _PAGE), lambda e: e.key, "")
    approvals = _all(
        lambda key: rows.list_approvals(run_id, key, _PAGE), lambda a: a.key, ""
    )
    return {
        "waits": [wait_view(run, wait) for wait in waits],
        "events": [event_view(run, event) for event in inbox],
        "approvals": [approval_snapshot(run, approval) for approval in approvals],
    }


def _children(rows: Rows, run: Workflow) -> list[Child]:
    run_id = run.workflow_id
    return _all(lambda key: rows.list_children(run_id, key, _PAGE), lambda c: c.key, "")


def _child(rows: Rows, child: Child) -> JsonObject:
    if child.kind == "task":
        history = task_export(rows, rows.need(Task, child.target_id))
    else:
        history = workflow_export(rows, rows.need(Workflow, child.target_id))
    return {**child_view(rows, child), "history": history}


def _attempt(rows: Rows, attempt: Attempt) -> JsonObject:
    report = rows.get(Report, attempt.attempt_id)
    result = None if report is None else unpack_object(report.body)["result"]
    failure = None if result is None else result.get("failure")
    return {**attempt_summary(attempt), "failure": failure}


def _last_event(rows: Rows, task: Task, attempts: list[Attempt]) -> JsonObject | None:
    return build_event(rows, task, attempts[-1]) if attempts else None


def _activations(rows: Rows, run: Workflow, log: list[LogEntry]) -> list[JsonObject]:
    ids: list[str] = []
    while page := rows.list_activations(run.workflow_id, len(ids) - 1, _PAGE):
        ids += page
    asked: dict[str, list[LogEntry]] = {one: [] for one in ids}
    for entry in log:
        if entry.reason in ("step_committed", "fork_accepted") and entry.activation_id:
            asked[entry.activation_id].append(entry)
    return [_activation(rows, run, one, asked[one]) for one in ids]


def _activation(
    rows: Rows, run: Workflow, activation_id: str, asked: list[LogEntry]
) -> JsonObject:
    activation = rows.need(Activation, activation_id)
    task = rows.need(Task, activation_id)
    attempts = rows.attempts_of(activation_id)
    context = build_context(rows, run, activation)
    del context["local_steps"]  # they stand in the requests
    outcome = task_outcome(rows, task)
    return {
        "activation_id": activation_id,
        "revision": activation.revision,
        "continuation": activation.continuation,
        "scheduled_at": activation.scheduled_at,
        "applied_at": activation.applied_at,
        "error": activation.error_kind,
        "state": task.state,
        "attempts": [_attempt(rows, attempt) for attempt in attempts],
        "event": _last_event(rows, task, attempts),
        "context": context,
        "requests": [_request(rows, run, entry) for entry in asked],
        "decision": None if outcome is None else outcome.get("output"),
    }


def _request(rows: Rows, run: Workflow, entry: LogEntry) -> JsonObject:
    if entry.reason == "step_committed":
        step = rows.need(LocalStep, entry.activation_id, entry.subject)
        operation, attempt_id = "local_step.commit", step.attempt_id
        payload, reply = unpack(step.record), {"committed": True}
    else:
        fork = rows.need(Fork, run.workflow_id, entry.subject)
        operation, attempt_id = "workflow.fork", fork.attempt_id
        payload, reply = _fork(rows, fork)
    return {
        "operation": operation,
        "payload": payload,
        "reply": reply,
        "attempt_id": attempt_id,
        "at": entry.at,
    }


def _fork(rows: Rows, fork: Fork) -> tuple[JsonObject, JsonObject]:
    """Return a fork as it was sent, from what became of it, and its reply.

    Forks of older stores do not tell their branches; they are shown without.
    """
    keys: list[str] = unpack(fork.branch_keys or b"[]")
    children = rows.children(fork.workflow_id, keys)
    branches = [_branch(rows, child) for child in children]
    reply: JsonObject = {"committed": True, "key": fork.key, "branch_keys": keys}
    return {"key": fork.key, "branches": branches}, reply


def _branch(rows: Rows, child: Child) -> JsonObject:
    run = rows.need(Workflow, child.target_id)
    (first,) = rows.list_activations(run.workflow_id, -1, 1)
    found = _input(run, unpack(rows.need(Payload, run.workflow_id).data))
    del found["program"]
    entry = rows.need(Activation, first).continuation
    return {"key": child.key, "entrypoint": entry, **found}
