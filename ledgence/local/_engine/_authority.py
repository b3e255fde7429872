"""Who may act for an attempt, and until when (orchestrator.md, sections 4 and 7)."""

from __future__ import annotations

from dataclasses import dataclass

from ledgence.local._engine._errors import OwnershipLost
from ledgence.local._engine._rows import Attempt, Task, Workflow
from ledgence.local._engine._turn import Turn

__all__ = ["Owner", "has_lease", "may_work", "owned", "require_activation"]


@dataclass(frozen=True, slots=True)
class Owner:
    """What a worker shows to act for an attempt.

    Attributes:
        task_id: The task; for a workflow controller this is the activation.
    """

    task_id: str
    attempt_id: str
    lease_id: str


def owned(turn: Turn, owner: Owner) -> tuple[Task, Attempt]:
    """Return task and attempt of an owner.

    Raises:
        OwnershipLost: The three identifiers do not belong together.
    """
    attempt = turn.rows.get(Attempt, owner.attempt_id)
    if (
        attempt is None
        or attempt.task_id != owner.task_id
        or attempt.lease_id != owner.lease_id
    ):
        raise OwnershipLost(
            "these identifiers belong to no attempt",
            details={"task": owner.task_id, "attempt": owner.attempt_id},
        )
    return turn.rows.need(Task, owner.task_id), attempt


def has_lease(turn: Turn, attempt: Attempt) -> bool:
    """Tell whether an attempt is open and its lease lives; equality is expired."""
    return attempt.state == "active" and turn.now < attempt.lease_expires_at


def may_work(turn: Turn, task: Task, attempt: Attempt) -> bool:
    """Tell whether the program of an attempt may do work for its task."""
    return (
        has_lease(turn, attempt)
        and task.current_attempt_id == attempt.attempt_id
        and attempt.reported_at is None
        and task.cancel_requested_at is None
        and turn.now < attempt.deadline
    )


def require_activation(
    turn: Turn, owner: Owner, *, dispatched: bool = True
) -> tuple[Task, Attempt, Workflow]:
    """Return the rows of an activation whose attempt has live authority.

    Args:
        turn: The turn.
        owner: The attempt.
        dispatched: Whether the dispatch renewal is needed too.

    Raises:
        OwnershipLost: It has not, or no longer.
    """
    task, attempt = owned(turn, owner)
    workflow = turn.rows.get(Workflow, task.workflow_id or "")
    if (
        workflow is not None
        and task.activation
        and workflow.state == "running"
        and workflow.activation_id == task.task_id
        and may_work(turn, task, attempt)
        and (attempt.dispatched_at is not None or not dispatched)
    ):
        return task, attempt, workflow
    raise OwnershipLost(
        "this attempt has no authority over the activation any more",
        details={
            "activation": task.task_id,
            "attempt": attempt.attempt_id,
            "attempt state": attempt.state,
            "workflow state": None if workflow is None else workflow.state,
        },
    )
