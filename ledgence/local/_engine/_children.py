"""Children of a workflow: registration, comparison, limits (orchestrator.md, 10)."""

from __future__ import annotations

from ledgence.local._engine._creation import create_task, create_workflow
from ledgence.local._engine._limits import DEPTH, LIVE_WORKFLOWS
from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import Child, ChildKind, Payload, Task, Workflow
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._work import Descriptor, Scope, Trace, Work

__all__ = ["owned_by", "register", "same_work", "trouble_with_workflows"]

Owned = Task | Workflow


def register(
    turn: Turn,
    owner: Workflow,
    *,
    key: str,
    kind: ChildKind,
    work: Work,
    descriptor: Descriptor,
    activation_id: str,
    trace: Trace,
    entry: str | None = None,
) -> None:
    """Create a child under a new key and queue its first task."""
    scope = Scope(owner.tenant_id, owner.namespace)
    if kind == "task":
        target_id = create_task(
            turn,
            work,
            descriptor,
            scope,
            trace=trace,
            correlation_key=owner.correlation_key,
            owner=owner,
            child_key=key,
        ).task_id
    else:
        target_id = create_workflow(
            turn,
            work,
            descriptor,
            scope,
            trace=trace,
            correlation_key=owner.correlation_key,
            owner=owner,
            child_key=key,
            entry=entry or "start",
        ).workflow_id
    turn.rows.add(
        Child(
            workflow_id=owner.workflow_id,
            key=key,
            kind=kind,
            target_id=target_id,
            activation_id=activation_id,
            revision=owner.revision,
            registered_at=turn.now,
        )
    )
    turn.rows.log(owner.workflow_id, turn.now, "child_registered", activation_id, key)


def owned_by(turn: Turn, child: Child) -> Owned:
    """Return the task or workflow behind a child."""
    if child.kind == "task":
        return turn.rows.need(Task, child.target_id)
    return turn.rows.need(Workflow, child.target_id)


def same_work(rows: Rows, target: Owned, work: Work) -> bool:
    """Tell whether a child was registered with exactly this queue, data and policy."""
    return (
        target.queue == work.queue
        and target.max_attempts == work.max_attempts
        and target.retry_delay_ms == work.retry_delay_ms
        and target.attempt_timeout_ms == work.attempt_timeout_ms
        and rows.need(Payload, _payload_id(target)).data == work.data.data
    )


def _payload_id(target: Owned) -> str:
    return target.task_id if isinstance(target, Task) else target.workflow_id


def trouble_with_workflows(turn: Turn, owner: Workflow, new: int) -> str | None:
    """Say why a workflow cannot own this many more workflows, or None if it can."""
    if not new:
        return None
    if owner.depth + 1 > DEPTH:
        return f"an owned workflow would have depth {owner.depth + 1}, limit {DEPTH}"
    live = turn.rows.live_workflows(owner.workflow_id)
    if live + new > LIVE_WORKFLOWS:
        return f"{live + new} owned workflows would be alive, limit {LIVE_WORKFLOWS}"
    return None
