"""The life of a workflow run: going on, failing, cancelling, the end.

States and the rules of ``revision`` and ``activation_id``: orchestrator.md, section 6;
failing, cancelling and trees: section 14. What is owned is stopped by later passes
(``_cancellation``); this module only marks that they are due.
"""

from __future__ import annotations

from ledgence.local._engine._activations import Refused, schedule
from ledgence.local._engine._rows import (
    Approval,
    Checkpoint,
    Child,
    Payload,
    Workflow,
    WorkflowState,
)
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, unpack
from ledgence.worker.workflow._fields import is_text
from ledgence.worker.workflow._limits import MESSAGE_BYTES

__all__ = ["begin_cancelling", "begin_failing", "child_ended", "finish", "resume"]


def resume(
    turn: Turn,
    workflow: Workflow,
    *,
    wake: JsonObject | None = None,
    activation_id: str | None = None,
) -> Workflow:
    """Let a waiting run go on with a wake, or with the children it waited for.

    A context that is too large fails the run and schedules nothing.
    """
    checkpoint = turn.rows.need(Checkpoint, workflow.workflow_id)
    keys = () if checkpoint.until is None else unpack(checkpoint.until)
    try:
        with turn.all_or_nothing():
            turn.rows.remove(checkpoint)
            return schedule(
                turn,
                workflow,
                continuation=checkpoint.continuation,
                state=checkpoint.state,
                children=turn.rows.children(workflow.workflow_id, keys),
                wake=wake,
                activation_id=activation_id,
            )
    except Refused as refusal:
        return begin_failing(turn, workflow, refusal.kind, refusal.message)


def child_ended(turn: Turn, workflow_id: str, key: str | None) -> None:
    """Take notice that a child has become terminal."""
    child = turn.rows.need(Child, workflow_id, key)
    workflow = turn.rows.need(Workflow, workflow_id)
    turn.rows.change(child, terminal_at=turn.now)
    turn.rows.log(workflow_id, turn.now, "child_ended", None, key)
    if workflow.state in ("failing", "cancelling"):
        _drain_soon(turn, workflow)
    elif workflow.state == "waiting":
        _one_child_less(turn, workflow, child.key)


def _one_child_less(turn: Turn, workflow: Workflow, key: str) -> None:
    checkpoint = turn.rows.need(Checkpoint, workflow.workflow_id)
    if checkpoint.until is None or key not in unpack(checkpoint.until):
        return
    checkpoint = turn.rows.change(checkpoint, missing=checkpoint.missing - 1)
    if checkpoint.missing == 0:
        resume(turn, workflow)


def finish(
    turn: Turn, workflow: Workflow, state: WorkflowState, output: bytes | None = None
) -> Workflow:
    """Make a run terminal and tell its parent; nothing it owns is alive."""
    if output is not None:
        payload = turn.rows.need(Payload, workflow.workflow_id)
        turn.rows.change(payload, output=output)
    workflow = turn.rows.change(
        workflow,
        state=state,
        activation_id=None,
        terminal_at=turn.now,
        drain_at=None,
    )
    turn.rows.discard_events(workflow.workflow_id)
    turn.rows.log(workflow.workflow_id, turn.now, state)
    turn.effects.finished.append(workflow.workflow_id)
    if workflow.parent_workflow_id is not None:
        child_ended(turn, workflow.parent_workflow_id, workflow.child_key)
    return workflow


def begin_failing(turn: Turn, workflow: Workflow, kind: str, message: str) -> Workflow:
    """Let a running or waiting run fail; what it owns is stopped first."""
    workflow = turn.rows.change(
        workflow,
        state="failing",
        error_kind=kind if is_text(kind) else "application_error",
        error_message=_clip(message),
    )
    turn.rows.log(workflow.workflow_id, turn.now, "failing", None, workflow.error_kind)
    return _stop_waiting(turn, workflow)


def begin_cancelling(turn: Turn, workflow: Workflow) -> Workflow:
    """Let a run be cancelled; a terminal or cancelling one stays as it is."""
    if workflow.state not in ("running", "waiting", "failing"):
        return workflow
    workflow = turn.rows.change(
        workflow, state="cancelling", error_kind=None, error_message=None
    )
    turn.rows.log(workflow.workflow_id, turn.now, "cancelling")
    return _stop_waiting(turn, workflow)


def _stop_waiting(turn: Turn, workflow: Workflow) -> Workflow:
    rows = turn.rows
    wait = rows.open_wait(workflow.workflow_id)
    if wait is not None:
        rows.change(wait, open=0, closed_at=turn.now, ended="cancelled")
        approval = rows.get(Approval, workflow.workflow_id, wait.key)
        if approval is not None and approval.status == "pending":
            late = turn.now >= approval.deadline
            rows.change(approval, status="expired" if late else "cancelled")
    checkpoint = rows.get(Checkpoint, workflow.workflow_id)
    if checkpoint is not None:
        rows.remove(checkpoint)
    rows.discard_events(workflow.workflow_id)
    return _drain_soon(turn, workflow)


def _drain_soon(turn: Turn, workflow: Workflow) -> Workflow:
    turn.effects.due = True
    return turn.rows.change(workflow, drain_at=turn.now)


def _clip(message: str) -> str:
    """Return at most 4096 bytes of a message, in whole characters, never none."""
    text = message.encode(errors="replace")[:MESSAGE_BYTES].decode(errors="ignore")
    return text or "no message was given"
