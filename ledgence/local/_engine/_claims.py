"""Claims, dispatch and renewals (orchestrator.md, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ledgence.local._engine._activations import build_context
from ledgence.local._engine._authority import (
    Owner,
    has_lease,
    may_work,
    owned,
    require_activation,
)
from ledgence.local._engine._errors import OwnershipLost
from ledgence.local._engine._invocation import build_event
from ledgence.local._engine._limits import GRACE_MS, LEASE_MS
from ledgence.local._engine._rows import Activation, Attempt, Task
from ledgence.local._engine._status import descriptor_of
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject
from ledgence.local._engine._work import Descriptor, Scope
from ledgence.worker.workflow._limits import SCHEMA

__all__ = ["Assignment", "Lease", "activation_extension", "claim", "renew"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One attempt that a host has to carry out.

    Attributes:
        owner: What to show in every further call for this attempt.
        number: 1 for the first attempt of the task.
        event: The invocation event.
        descriptor: The pinned program.
        scope: Whose task it is.
        activation: Whether it is an activation of a workflow controller.
        workflow_id: The workflow that owns the task or that the activation enters.
        claimed_at: The time of the claim.
        deadline: When the program must have ended; preparation counts.
        authority_deadline: When the last report is taken.
        lease_expires_at: When the lease ends unless it is renewed.
        dispatched: Whether program code may run already.
    """

    owner: Owner
    number: int
    event: JsonObject
    descriptor: Descriptor
    scope: Scope
    activation: bool
    workflow_id: str | None
    claimed_at: int
    deadline: int
    authority_deadline: int
    lease_expires_at: int
    dispatched: bool


@dataclass(frozen=True, slots=True)
class Lease:
    """What a renewal grants.

    Attributes:
        expires_at: When the lease ends.
        budget_ms: What is left for the program; with 0 it must be stopped.
    """

    expires_at: int
    budget_ms: int


def claim(
    turn: Turn,
    *,
    host_id: str,
    scope: Scope | None = None,
    queues: Sequence[str] | None = None,
    dispatch: bool = False,
) -> Assignment | None:
    """Begin the next attempt of the first task that is available.

    Args:
        turn: The turn.
        host_id: The host that will carry it out.
        scope: Only tasks of this scope.
        queues: Only tasks of these queues.
        dispatch: Also authorise its execution, for a host whose process is warm.

    Returns:
        None when nothing is available now.
    """
    task = turn.rows.claimable(turn.now, scope, queues)
    if task is None:
        return None
    deadline = turn.now + task.attempt_timeout_ms
    attempt = Attempt(
        attempt_id=turn.new_id("att"),
        task_id=task.task_id,
        number=task.attempt_count + 1,
        lease_id=turn.new_id("lease"),
        event_id=turn.new_id("evt"),
        host_id=host_id,
        claimed_at=turn.now,
        deadline=deadline,
        authority_deadline=deadline + GRACE_MS,
        lease_expires_at=min(turn.now + LEASE_MS, deadline + GRACE_MS),
        dispatched_at=turn.now if dispatch else None,
    )
    turn.rows.add(attempt)
    task = turn.rows.change(
        task,
        state="active",
        attempt_count=attempt.number,
        current_attempt_id=attempt.attempt_id,
        latest_attempt_id=attempt.attempt_id,
    )
    return _assignment(turn, task, attempt)


def _assignment(turn: Turn, task: Task, attempt: Attempt) -> Assignment:
    return Assignment(
        owner=Owner(task.task_id, attempt.attempt_id, attempt.lease_id),
        number=attempt.number,
        event=build_event(turn.rows, task, attempt),
        descriptor=descriptor_of(task),
        scope=Scope(task.tenant_id, task.namespace),
        activation=bool(task.activation),
        workflow_id=task.workflow_id,
        claimed_at=attempt.claimed_at,
        deadline=attempt.deadline,
        authority_deadline=attempt.authority_deadline,
        lease_expires_at=attempt.lease_expires_at,
        dispatched=attempt.dispatched_at is not None,
    )


def renew(turn: Turn, owner: Owner, *, dispatch: bool = False) -> Lease:
    """Prolong a lease; with ``dispatch`` also authorise the execution.

    A dispatch with nothing left for the program authorises nothing: the host sees
    ``budget_ms`` 0 and reports without having run any program code.

    Raises:
        OwnershipLost: The lease has ended.
    """
    task, attempt = owned(turn, owner)
    if not has_lease(turn, attempt):
        raise OwnershipLost(
            "the lease has ended",
            details={"attempt": attempt.attempt_id, "state": attempt.state},
        )
    expires_at = min(turn.now + LEASE_MS, attempt.authority_deadline)
    working = may_work(turn, task, attempt)
    changes: dict[str, object] = {
        "lease_expires_at": expires_at,
        "renewed_at": turn.now,
    }
    if dispatch and working and attempt.dispatched_at is None:
        changes["dispatched_at"] = turn.now
    turn.rows.change(attempt, **changes)
    return Lease(expires_at, attempt.deadline - turn.now if working else 0)


def activation_extension(turn: Turn, owner: Owner) -> JsonObject:
    """Return the runtime extension of an activation's invocation.

    Raises:
        OwnershipLost: The attempt has no live authority.
    """
    task, _, workflow = require_activation(turn, owner, dispatched=False)
    activation = turn.rows.need(Activation, task.task_id)
    return {"schema": SCHEMA, "payload": build_context(turn.rows, workflow, activation)}
