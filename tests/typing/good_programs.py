"""Programs that mypy and pyright accept in strict mode; never run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from enum import StrEnum
from typing import Any, TypedDict, assert_type

from ledgence.worker.workflow import (
    Approval,
    ApprovalAction,
    BranchSpec,
    CompleteDecision,
    Decision,
    ForkRef,
    LimitError,
    OperationKind,
    SuspendDecision,
    TaskRef,
    WaitDecision,
    Workflow,
    WorkflowContext,
    WorkflowError,
    WorkflowRef,
    workflow_context,
)


class Invoice(TypedDict):
    """What a child gives."""

    number: str


def count(text: str, *, twice: bool = False) -> int:
    """Count."""
    return len(text) * (2 if twice else 1)


async def fetch(user_id: int) -> dict[str, str]:
    """Fetch."""
    return {"id": str(user_id)}


def later(user_id: int) -> Awaitable[bytes]:
    """Fetch by and by."""
    return asyncio.sleep(0, str(user_id).encode())


async def steps(ctx: WorkflowContext) -> Decision:
    """Run steps of every kind."""
    assert_type(await ctx.local("a", count, text="x"), int)
    assert_type(await ctx.local("b", fetch, user_id=1), dict[str, str])
    assert_type(await ctx.local("c", later, user_id=1), bytes)
    assert_type(ctx.local("d", fetch, user_id=1), Awaitable[dict[str, str]])
    assert_type(await ctx.local("e", lambda: 5), int)
    found = await ctx.operation(
        "f", fetch, kind=OperationKind.TOOL, version="1", arguments={"user_id": 1}
    )
    assert_type(found, dict[str, str])
    both = await ctx.gather(
        ctx.local("g", count, text="x"), ctx.local("h", count, text="y")
    )
    assert_type(both, list[int])
    return ctx.complete({"count": sum(both)})


async def children(ctx: WorkflowContext) -> Decision:
    """Start and read children."""
    invoice: TaskRef[Invoice] = ctx.task(
        "invoice", program="invoice", version="1.0.0", queue="billing", data={"n": 3}
    )
    sub: WorkflowRef = ctx.workflow(
        "sub", program="sub", version="1", queue="q", data=None, retry_policy=None
    )
    if "invoice" in ctx.inputs:
        assert_type(ctx.get_result(invoice), Invoice)
        assert_type(ctx.get_result(invoice)["number"], str)
        anything: dict[str, int] = ctx.get_result("invoice")
        return ctx.complete([anything, ctx.get_result(sub)])
    return ctx.suspend(continuation="collect", state=None, until=[invoice, sub, "key"])


async def forks(ctx: WorkflowContext) -> SuspendDecision:
    """Fork and join."""
    spec = ctx.branch("a", entrypoint="double", queue="q", data=[1])
    assert_type(spec, BranchSpec)
    fork = await ctx.fork("f", branches=[spec])
    assert_type(fork, ForkRef)
    assert_type(fork.branch_keys, tuple[str, ...])
    return ctx.join(fork, resume="collect", state=None)


def waits(ctx: WorkflowContext) -> WaitDecision:
    """Wait; a decision is a plain dict that can be changed."""
    decision = ctx.wait_event("e", continuation="n", state={"a": 1}, timeout_ms=5)
    decision["continuation"] = "other"
    decision["commands"].clear()
    assert_type(decision["revision"], int)
    if decision["wait"]["kind"] == "event":
        assert_type(decision["wait"]["timeout_ms"], int | None)
    return decision


def asks(ctx: WorkflowContext) -> Decision:
    """Ask for an approval and look at the answer."""
    approval = ctx.approval
    if approval is None:
        action = ApprovalAction.for_callable(
            count, version="1", arguments={"text": "x"}
        )
        return ctx.request_approval(
            "k", action=action, state=None, timeout_ms=5, resume="n"
        )
    assert_type(approval, Approval)
    reviewer = approval.decision.reviewer if approval.decision else None
    assert_type(reviewer, str | None)
    return ctx.complete(reviewer)


def by_hand(ctx: WorkflowContext) -> CompleteDecision:
    """Build a decision by hand."""
    return {
        "v": 1,
        "activation_id": ctx.activation_id,
        "revision": ctx.revision,
        "kind": "complete",
        "output": 1,
    }


class Entry(StrEnum):
    """The entrypoints."""

    BEGIN = "begin"
    NEXT = "next"


flow = Workflow(Entry)


@flow.entrypoint(Entry.BEGIN, default=True)
def begin(event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    """Begin."""
    return ctx.continue_(continuation=Entry.NEXT, state=event["data"])


@flow.entrypoint(Entry.NEXT)
async def following(_: dict[str, Any], ctx: WorkflowContext) -> dict[str, Any]:
    """Go on; a hand-built dict is as good."""
    return dict(ctx.complete(ctx.state))


handle = flow.build()


def errors() -> None:
    """Catch by class, look at code and attributes."""
    try:
        workflow_context().complete("x")
    except LimitError as error:
        assert_type(error.limit, int | None)
    except WorkflowError as error:
        assert_type(error.code, str)
        assert_type(error.diff, tuple[dict[str, str], ...] | None)


def sizes(ctx: WorkflowContext) -> int:
    """Read the size meter."""
    return ctx.sizes()["state"]["limit"] - ctx.sizes()["state"]["size"]
