"""What the end of a task means for the workflow it belongs to (section 7)."""

from __future__ import annotations

from typing import Literal

from ledgence.local._engine._apply import UnknownPrograms, apply_decision
from ledgence.local._engine._limits import (
    APPLY_GIVE_UP_MS,
    APPLY_RETRY_MOST_MS,
    APPLY_RETRY_MS,
)
from ledgence.local._engine._rows import Application, Report, Task, Workflow
from ledgence.local._engine._runs import begin_failing, child_ended
from ledgence.local._engine._status import task_outcome
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, unpack_object
from ledgence.local._engine._work import NO_TRACE, Trace

__all__ = ["end_task", "reported", "retry_application"]


def end_task(
    turn: Turn, task: Task, state: Literal["succeeded", "failed", "cancelled"]
) -> Task:
    """Make a task terminal and let its workflow know."""
    task = turn.rows.change(
        task, state=state, current_attempt_id=None, terminal_at=turn.now
    )
    turn.effects.finished.append(task.task_id)
    if task.workflow_id is None:
        return task
    if task.activation:
        _controller_ended(turn, task, task.workflow_id)
    else:
        child_ended(turn, task.workflow_id, task.child_key)
    return task


def _controller_ended(turn: Turn, task: Task, workflow_id: str) -> None:
    workflow = turn.rows.need(Workflow, workflow_id)
    if workflow.state in ("failing", "cancelling"):
        turn.effects.due = True
        turn.rows.change(workflow, drain_at=turn.now)
    elif task.state == "succeeded":
        _apply(turn, workflow, task)
    elif task.state == "cancelled":
        message = "the activation was cancelled on its own"
        begin_failing(turn, workflow, "workflow_activation_cancelled", message)
    else:
        begin_failing(turn, workflow, *_failure_of(turn, task))


def _failure_of(turn: Turn, task: Task) -> tuple[str, str]:
    """Return error kind and message of a run whose activation failed."""
    outcome = task_outcome(turn.rows, task) or {}
    failure = outcome["failure"]
    if failure["kind"] == "application":
        return failure["error"]["kind"], failure["error"]["message"]
    kind = "workflow_activation_failed"
    if failure["kind"] == "attempt_lost":
        return kind, f"attempt {task.attempt_count} was lost"
    error = failure["error"]
    return kind, f"attempt {task.attempt_count}: {error['kind']}: {error['message']}"


def _apply(turn: Turn, workflow: Workflow, task: Task) -> None:
    try:
        _apply_report(turn, workflow, task)
    except UnknownPrograms:
        # Looked up outside the transaction, by the next pass.
        turn.effects.due = True
        turn.rows.add(
            Application(task.task_id, workflow.workflow_id, turn.now, turn.now)
        )


def _apply_report(turn: Turn, workflow: Workflow, task: Task) -> None:
    report = reported(turn, task)
    trace = report.get("processing_trace")
    apply_decision(
        turn,
        workflow,
        report["result"]["output"],
        NO_TRACE
        if trace is None
        else Trace(trace["traceparent"], trace.get("tracestate")),
    )


def reported(turn: Turn, task: Task) -> JsonObject:
    """Return what was reported of a task's last attempt."""
    return unpack_object(turn.rows.need(Report, task.latest_attempt_id).body)


def retry_application(turn: Turn, due: Application) -> None:
    """Try once more to apply a decision that waits for a program to be looked up.

    ``turn.programs`` holds what could be looked up. An outage of 24 h fails the run.
    """
    application = turn.rows.get(Application, due.activation_id)
    if application is None:  # another process was faster
        return
    workflow = turn.rows.need(Workflow, due.workflow_id)
    if workflow.state != "running" or workflow.activation_id != due.activation_id:
        turn.rows.remove(application)
        return
    try:
        _apply_report(turn, workflow, turn.rows.need(Task, due.activation_id))
    except UnknownPrograms:
        _postpone(turn, workflow, application)
    else:
        turn.rows.remove(application)


def _postpone(turn: Turn, workflow: Workflow, application: Application) -> None:
    if turn.now - application.created_at >= APPLY_GIVE_UP_MS:
        turn.rows.remove(application)
        message = "the store of programs could not be asked for 24 hours"
        begin_failing(turn, workflow, "workflow_application_timeout", message)
        return
    delay = min(APPLY_RETRY_MS << min(application.tries, 16), APPLY_RETRY_MOST_MS)
    turn.rows.change(application, tries=application.tries + 1, due_at=turn.now + delay)
