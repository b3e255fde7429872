# ruff: noqa: RUF006, T201 # the mistakes are the point
"""Mistakes that mypy and pyright both find, on every line that says so; never run."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Any

from ledgence.worker.workflow import (
    ApprovalAction,
    Decision,
    OperationKind,
    TaskRef,
    Workflow,
    WorkflowContext,
    workflow_context,
)


def count(text: str) -> int:
    """Count."""
    return len(text)


async def fetch(user_id: int) -> dict[str, str]:
    """Fetch."""
    return {"id": str(user_id)}


async def steps(ctx: WorkflowContext) -> Decision:
    """Misuse steps."""
    wrong: str = await ctx.local("a", count, text="x")  # wrong
    other: dict[str, int] = await ctx.local("b", fetch, user_id=1)  # wrong
    asyncio.create_task(ctx.local("c", count, text="x"))  # wrong
    forgotten: int = ctx.local("d", count, text="x")  # wrong
    ctx.local(5, count)  # wrong
    ctx.local("e", "count")  # wrong
    ctx.operation("f", count, kind="tool", version="1", arguments={})  # wrong
    ctx.operation("g", count, kind=OperationKind.TOOL, version="1")  # wrong
    ctx.operation("h", count, OperationKind.TOOL, "1", {})  # wrong
    return ctx.complete([wrong, other, forgotten])


async def children(ctx: WorkflowContext) -> Decision:
    """Misuse children."""
    ctx.task("k", "program", "1", "q", None)  # wrong
    ctx.task("k", program="p", version="1", queue="q")  # wrong
    ref: TaskRef[int] = ctx.task("k", program="p", version="1", queue="q", data=None)
    await ref  # wrong
    text: str = ctx.get_result(ref)  # wrong
    ctx.suspend(continuation="n", state=None, until=[5])  # wrong
    ctx.suspend("n", None)  # wrong
    return ctx.complete(text)


async def forks(ctx: WorkflowContext) -> Decision:
    """Misuse forks."""
    fork = ctx.fork("f", branches=[])
    ctx.join(fork, resume="n", state=None)  # wrong
    ref = await fork
    ref.key = "other"  # wrong
    ctx.get_result(ref)  # wrong
    return ctx.join(ref, resume="n", state=None)


def decisions(ctx: WorkflowContext) -> Decision:
    """Misuse decisions."""
    decision = ctx.continue_(continuation="n", state=None)
    decision["until"] = []  # wrong
    decision["kind"] = "suspend"  # wrong
    print(ctx.complete(1)["state"])  # wrong
    ctx.sleep("s", continuation="n", state=None)  # wrong
    ctx.sleep("s", "1", continuation="n", state=None)  # wrong
    ctx.fail("kind")  # wrong
    ctx.state = 5  # wrong
    return None  # wrong


def approvals(ctx: WorkflowContext) -> Decision:
    """Misuse approvals."""
    action = ApprovalAction("a", "1", {})  # wrong
    action.name = "b"  # wrong
    print(ctx.approval.key)  # wrong
    ctx.request_approval("k", action=action, state=None, resume="n")  # wrong
    return ctx.complete(None)


class Entry(StrEnum):
    """The entrypoints."""

    BEGIN = "begin"


class Other(StrEnum):
    """The entrypoints of another program."""

    BEGIN = "begin"


flow = Workflow(Entry)
Workflow("Entry")  # wrong


@flow.entrypoint(Other.BEGIN)  # wrong
def begin(event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    """Begin."""
    return ctx.complete(event)


@flow.entrypoint(Entry.BEGIN)  # wrong
def no_decision(event: dict[str, Any], ctx: WorkflowContext) -> int:
    """Return something else."""
    return len(event) + ctx.revision


print(workflow_context().unknown)  # wrong
