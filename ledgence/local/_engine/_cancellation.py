"""Cancelling tasks and workflows, and draining what a workflow owns (section 14)."""

from __future__ import annotations

from dataclasses import dataclass

from ledgence.local._engine._check import record, text
from ledgence.local._engine._endings import end_task
from ledgence.local._engine._limits import DRAIN_PASS, GRACE_MS
from ledgence.local._engine._rows import Attempt, Child, Task, Workflow
from ledgence.local._engine._runs import begin_cancelling, finish
from ledgence.local._engine._scoped import find_task, find_workflow
from ledgence.local._engine._status import TERMINAL, workflow_status
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject
from ledgence.local._engine._work import Scope, parse_scope

__all__ = ["Cancel", "cancel_task", "cancel_workflow", "drain", "drain_due"]


@dataclass(frozen=True, slots=True)
class Cancel:
    """A cancellation, checked; ``subject`` is a task or a workflow."""

    scope: Scope
    subject: str

    @classmethod
    def parse(cls, value: object, member: str) -> Cancel:
        """Read the request; ``member`` is ``task_id`` or ``workflow_id``."""
        found = record(value, ("scope", member))
        return cls(parse_scope(found["scope"]), text(found[member], path=f"$.{member}"))


def cancel_task(turn: Turn, command: Cancel) -> str:
    """Cancel a task and return its state after that.

    Raises:
        NotFound: No such task.
    """
    task = find_task(turn.rows, command.scope, command.subject)
    return _cancel(turn, task).state


def _cancel(turn: Turn, task: Task) -> Task:
    if task.state in TERMINAL or task.cancel_requested_at is not None:
        return task
    task = turn.rows.change(task, cancel_requested_at=turn.now)
    if task.state == "queued":
        return end_task(turn, task, "cancelled")
    attempt = turn.rows.need(Attempt, task.current_attempt_id)
    limit = turn.now + GRACE_MS
    turn.rows.change(
        attempt,
        authority_deadline=min(attempt.authority_deadline, limit),
        lease_expires_at=min(attempt.lease_expires_at, limit),
    )
    turn.effects.stop.append(attempt.attempt_id)
    return task


def cancel_workflow(turn: Turn, command: Cancel) -> JsonObject:
    """Begin to cancel a workflow and return its status.

    Raises:
        NotFound: No such workflow.
    """
    workflow = find_workflow(turn.rows, command.scope, command.subject)
    return workflow_status(begin_cancelling(turn, workflow))


def drain_due(turn: Turn, limit: int) -> int:
    """Make a pass over failing and cancelling workflows; return how many."""
    workflows = turn.rows.due_drains(turn.now, limit)
    for workflow in workflows:
        # Its parent may have cancelled it in this very pass.
        drain(turn, turn.rows.need(Workflow, workflow.workflow_id))
    return len(workflows)


def drain(turn: Turn, workflow: Workflow) -> None:
    """Stop some of what a failing or cancelling run owns, or end the run."""
    rows = turn.rows
    rows.change(workflow, drain_at=None)
    controller = None
    if workflow.activation_id is not None:
        controller = _cancel(turn, rows.need(Task, workflow.activation_id))
    children = rows.children_to_cancel(workflow.workflow_id, DRAIN_PASS)
    for child in children:
        _stop(turn, child)
    if len(children) == DRAIN_PASS:
        turn.effects.due = True
        rows.change(workflow, drain_at=turn.now)
    elif _owns_nothing_alive(turn, workflow, controller):
        cancelling = workflow.state == "cancelling"
        finish(turn, workflow, "cancelled" if cancelling else "failed")
    # What is still alive brings the run back here when it ends.


def _owns_nothing_alive(
    turn: Turn, workflow: Workflow, controller: Task | None
) -> bool:
    if controller is not None and controller.state not in TERMINAL:
        return False
    return not turn.rows.has_unfinished_child(workflow.workflow_id)


def _stop(turn: Turn, child: Child) -> None:
    turn.rows.change(child, cancel_sent=1)
    if child.kind == "task":
        _cancel(turn, turn.rows.need(Task, child.target_id))
    else:
        begin_cancelling(turn, turn.rows.need(Workflow, child.target_id))
