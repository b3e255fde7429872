"""External waits: installation, the choice of the wake, deadlines (section 11)."""

from __future__ import annotations

from ledgence.local._engine._activations import Refused
from ledgence.local._engine._approvals import request_approval, resume_approval
from ledgence.local._engine._decision import Decision, WaitRequest
from ledgence.local._engine._rows import (
    Activation,
    Approval,
    Checkpoint,
    InboxEvent,
    Wait,
    Workflow,
)
from ledgence.local._engine._runs import resume
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, unpack

__all__ = ["fire", "fire_due", "install"]


def install(
    turn: Turn,
    workflow: Workflow,
    activation: Activation,
    decision: Decision,
    wanted: WaitRequest,
) -> None:
    """Install the wait that a decision wants; it may be over at once.

    Raises:
        Refused: Its key was used before, or it cannot be stored.
    """
    _require_fresh_key(turn, workflow, wanted)
    duration = wanted.duration_ms
    wait = Wait(
        workflow_id=workflow.workflow_id,
        key=wanted.key,
        kind=wanted.kind,
        activation_id=activation.activation_id,
        installed_at=turn.now,
        deadline=None if duration is None else turn.now + duration,
    )
    turn.rows.add(wait)
    if wanted.kind == "approval":
        request_approval(turn, workflow, activation, wanted)
    turn.rows.add(
        Checkpoint(
            workflow_id=workflow.workflow_id,
            activation_id=activation.activation_id,
            continuation=decision.continuation,
            state=decision.state.data,
            until=None,
            missing=0,
            wait_key=wanted.key,
        )
    )
    turn.rows.log(
        workflow.workflow_id,
        turn.now,
        "waiting",
        activation.activation_id,
        f"{wanted.kind} {wanted.key}",
    )
    workflow = turn.rows.change(workflow, state="waiting", activation_id=None)
    fire(turn, workflow, wait)


def _require_fresh_key(turn: Turn, workflow: Workflow, wanted: WaitRequest) -> None:
    rows = turn.rows
    if rows.get(Wait, workflow.workflow_id, wanted.key) is not None:
        message = f"wait key {wanted.key!r} was used before in this workflow"
        raise Refused("decision_application_failed", message)
    if wanted.kind == "event":
        return
    if rows.get(InboxEvent, workflow.workflow_id, wanted.key) is not None:
        message = f"an event was accepted under the key {wanted.key!r}"
        raise Refused("decision_application_failed", message)


def fire(turn: Turn, workflow: Workflow, wait: Wait) -> bool:
    """Resume the run if its wait is over; return whether it was.

    An event that was accepted before the deadline wins, however late the host
    looks; at equality the deadline does.
    """
    event = None
    if wait.kind == "event":
        event = turn.rows.get(InboxEvent, wait.workflow_id, wait.key)
    if event is not None and event.pending and _in_time(event, wait):
        turn.rows.change(event, pending=0)
        _close(turn, workflow, wait, "event", _event_wake(event))
        return True
    if wait.deadline is None or turn.now < wait.deadline:
        return False
    if event is not None:
        turn.rows.change(event, pending=0)
    _expire(turn, workflow, wait)
    return True


def _in_time(event: InboxEvent, wait: Wait) -> bool:
    return wait.deadline is None or event.accepted_at < wait.deadline


def _event_wake(event: InboxEvent) -> JsonObject:
    return {
        "kind": "event",
        "key": event.key,
        "event": unpack(event.event),
        "accepted_at": event.accepted_at,
    }


def _expire(turn: Turn, workflow: Workflow, wait: Wait) -> None:
    if wait.kind == "approval":
        approval = turn.rows.need(Approval, wait.workflow_id, wait.key)
        approval = turn.rows.change(approval, status="expired")
        resume_approval(turn, workflow, approval)
        return
    kind = "timer" if wait.kind == "timer" else "timeout"
    wake = {"kind": kind, "key": wait.key, "deadline": wait.deadline}
    _close(turn, workflow, wait, kind, wake)


def _close(
    turn: Turn, workflow: Workflow, wait: Wait, ended: str, wake: JsonObject
) -> None:
    turn.rows.change(wait, open=0, closed_at=turn.now, ended=ended)
    resume(turn, workflow, wake=wake)


def fire_due(turn: Turn, limit: int) -> int:
    """Fire open waits whose deadline has come; return how many there were."""
    waits = turn.rows.due_waits(turn.now, limit)
    for wait in waits:
        fire(turn, turn.rows.need(Workflow, wait.workflow_id), wait)
    return len(waits)
