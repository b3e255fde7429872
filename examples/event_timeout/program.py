"""Wait for an event, but not for ever: an order that is paid in time, or lapses.

Whoever takes the payment sends an event with the key ``payment`` to this workflow. It
may come before the workflow waits for it. After a day without one the workflow goes on
by itself; ``ctx.wake`` tells which of the two happened.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ledgence.worker.workflow import Workflow, WorkflowContext

if TYPE_CHECKING:
    from ledgence.worker.workflow import Decision

DAY_MS = 24 * 60 * 60 * 1000


class Entry(StrEnum):
    START = "start"
    SETTLE = "settle"


workflow = Workflow(Entry)


@workflow.entrypoint(Entry.START, default=True)
def start(event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    order = {"order": event["data"]["order"], "total": event["data"]["total"]}
    return ctx.wait_event(
        "payment", continuation=Entry.SETTLE, state=order, timeout_ms=DAY_MS
    )


@workflow.entrypoint(Entry.SETTLE)
def settle(_event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    order, wake = ctx.state, ctx.wake
    if wake is None or wake["kind"] == "timeout":
        return ctx.complete({"order": order["order"], "status": "lapsed"})
    paid = wake["event"]["data"]["amount"]
    if paid != order["total"]:
        return ctx.fail("wrong_amount", f"expected {order['total']}, got {paid}")
    return ctx.complete({"order": order["order"], "status": "paid"})


handle = workflow.build()
