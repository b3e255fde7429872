"""Ask a person first: a refund that runs only as it was approved.

The action names the function and its exact arguments. Only an approval of these lets
``approved_local`` run, and it runs the saved arguments, not what the program would
choose now. Rejection and silence (after a week) are ordinary outcomes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ledgence.worker.workflow import (
    ApprovalAction,
    ApprovalStatus,
    Workflow,
    WorkflowContext,
)

if TYPE_CHECKING:
    from ledgence.worker.workflow import Decision

WEEK_MS = 7 * 24 * 60 * 60 * 1000


class Entry(StrEnum):
    START = "start"
    DECIDED = "decided"


workflow = Workflow(Entry)


def refund(customer: str, cents: int) -> dict[str, Any]:
    """Pay back; runs once, however often the activation is retried."""
    return {"customer": customer, "refunded": cents}


@workflow.entrypoint(Entry.START, default=True)
def start(event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    claim = event["data"]
    action = ApprovalAction.for_callable(
        refund,
        version="1",
        arguments={"customer": claim["customer"], "cents": claim["cents"]},
    )
    return ctx.request_approval(
        "refund", action=action, resume=Entry.DECIDED, state=None, timeout_ms=WEEK_MS
    )


@workflow.entrypoint(Entry.DECIDED)
async def decided(_event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    approval = ctx.approval
    if approval is None or approval.status is not ApprovalStatus.APPROVED:
        status = "missing" if approval is None else approval.status.value
        return ctx.complete({"refunded": 0, "because": status})
    return ctx.complete(await ctx.approved_local(refund, version="1"))


handle = workflow.build()
