"""Approvals: the stored request, its decision, its snapshot (orchestrator.md, 12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from ledgence.local._engine._check import choice, integer, message, record, text
from ledgence.local._engine._decision import WaitRequest, parse_action
from ledgence.local._engine._errors import (
    Conflict,
    NotFound,
    ObsoleteOperation,
)
from ledgence.local._engine._limits import SNAPSHOT_BYTES
from ledgence.local._engine._rows import (
    Activation,
    Approval,
    Checkpoint,
    Wait,
    Workflow,
)
from ledgence.local._engine._runs import resume
from ledgence.local._engine._scoped import find_workflow
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, pack, unpack
from ledgence.local._engine._work import Scope, parse_scope
from ledgence.worker.workflow._limits import MAX_REVISION

__all__ = ["DecideApproval", "approval_snapshot", "decide", "request_approval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideApproval:
    """A decision command, checked; ``action`` is canonical."""

    scope: Scope
    workflow_id: str
    key: str
    activation_id: str
    revision: int
    action: bytes
    decision_id: str
    decision: Literal["approve", "reject"]
    reviewer: str
    reason: str | None

    @classmethod
    def parse(cls, value: object) -> DecideApproval:
        """Read the request.

        Raises:
            InvalidInput: A member is missing, unknown or not of its form.
        """
        found = record(value, _MEMBERS)
        reason = found["reason"]
        decision = choice(found["decision"], ("approve", "reject"), path="$.decision")
        return cls(
            scope=parse_scope(found["scope"]),
            workflow_id=text(found["workflow_id"], path="$.workflow_id"),
            key=text(found["key"], path="$.key"),
            activation_id=text(found["activation_id"], path="$.activation_id"),
            revision=integer(found["revision"], 0, MAX_REVISION, path="$.revision"),
            action=parse_action(found["action"], path="$.action").data,
            decision_id=text(found["decision_id"], path="$.decision_id"),
            decision=cast('Literal["approve", "reject"]', decision),
            reviewer=text(found["reviewer"], path="$.reviewer"),
            reason=None if reason is None else message(reason, path="$.reason"),
        )

    def record(self, decided_at: int) -> JsonObject:
        """Return the record that is stored with the request."""
        return {
            "decision_id": self.decision_id,
            "decision": self.decision,
            "reviewer": self.reviewer,
            "reason": self.reason,
            "decided_at": decided_at,
        }


_MEMBERS = (
    "scope",
    "workflow_id",
    "key",
    "activation_id",
    "revision",
    "action",
    "decision_id",
    "decision",
    "reviewer",
    "reason",
)


def request_approval(
    turn: Turn, workflow: Workflow, activation: Activation, wanted: WaitRequest
) -> None:
    """Store the request of an approval wait.

    Action and proposal have 32 KiB each, a reason 24 KiB when all of it is escaped:
    the snapshot cannot pass its own limit of 96 KiB.
    """
    approval = Approval(
        workflow_id=workflow.workflow_id,
        key=wanted.key,
        activation_id=activation.activation_id,
        revision=activation.revision,
        action=wanted.action or b"{}",
        proposed=wanted.proposed,
        created_at=turn.now,
        deadline=turn.now + (wanted.duration_ms or 0),
    )
    turn.rows.add(approval)


def approval_snapshot(workflow: Workflow, approval: Approval) -> JsonObject:
    """Return what inspection, lists and wakes show of an approval."""
    decision, proposed = approval.decision, approval.proposed
    return {
        "scope": Scope(workflow.tenant_id, workflow.namespace).to_json(),
        "workflow_id": approval.workflow_id,
        "key": approval.key,
        "activation_id": approval.activation_id,
        "revision": approval.revision,
        "action": unpack(approval.action),
        "proposed_arguments": None if proposed is None else unpack(proposed),
        "created_at": approval.created_at,
        "deadline": approval.deadline,
        "status": approval.status,
        "decision": None if decision is None else unpack(decision),
        "resumed_activation_id": approval.resumed_activation_id,
    }


def decide(turn: Turn, command: DecideApproval) -> JsonObject:
    """Store a decision and resume the run, or recognise a repeated decision.

    Raises:
        NotFound: No such workflow or request.
        Conflict: Another decision is stored, or it is about another request.
        ObsoleteOperation: The request is not open any more.
    """
    workflow = find_workflow(turn.rows, command.scope, command.workflow_id)
    approval = turn.rows.get(Approval, command.workflow_id, command.key)
    if approval is None:
        raise NotFound(f"this workflow has no approval request {command.key!r}")
    same = _same_request(approval, command)
    if approval.decision is not None:
        stored = unpack(approval.decision)
        if same and command.record(stored["decided_at"]) == stored:
            return _receipt(workflow, approval, already_accepted=True)
        raise Conflict(f"approval {command.key!r} was decided otherwise already")
    if not same:
        raise Conflict(
            f"approval {command.key!r} is another request",
            details={"activation": approval.activation_id},
            hint="inspect the request and decide what it shows",
        )
    return _receipt(
        workflow, _accept(turn, workflow, approval, command), already_accepted=False
    )


def _same_request(approval: Approval, command: DecideApproval) -> bool:
    return (
        approval.activation_id == command.activation_id
        and approval.revision == command.revision
        and approval.action == command.action
    )


def _accept(
    turn: Turn, workflow: Workflow, approval: Approval, command: DecideApproval
) -> Approval:
    rows = turn.rows
    checkpoint = rows.get(Checkpoint, workflow.workflow_id)
    waits = checkpoint is not None and checkpoint.wait_key == command.key
    if approval.status != "pending" or turn.now >= approval.deadline or not waits:
        raise ObsoleteOperation(
            f"approval {command.key!r} is not open any more",
            details={"status": approval.status, "deadline": approval.deadline},
        )
    record = pack(command.record(turn.now), SNAPSHOT_BYTES).data
    approved = command.decision == "approve"
    rows.log(workflow.workflow_id, turn.now, "approval_decided", None, command.key)
    approval = rows.change(
        approval, status="approved" if approved else "rejected", decision=record
    )
    return resume_approval(turn, workflow, approval)


def resume_approval(turn: Turn, workflow: Workflow, approval: Approval) -> Approval:
    """Close the wait of a decided or expired request and resume the run."""
    rows = turn.rows
    wait = rows.need(Wait, workflow.workflow_id, approval.key)
    rows.change(wait, open=0, closed_at=turn.now, ended=approval.status)
    activation_id = turn.new_id("task")
    approval = rows.change(approval, resumed_activation_id=activation_id)
    wake = {"kind": "approval", "approval": approval_snapshot(workflow, approval)}
    resume(turn, workflow, wake=wake, activation_id=activation_id)
    return approval


def _receipt(
    workflow: Workflow, approval: Approval, *, already_accepted: bool
) -> JsonObject:
    snapshot = approval_snapshot(workflow, approval)
    return {"approval": snapshot, "already_accepted": already_accepted}
