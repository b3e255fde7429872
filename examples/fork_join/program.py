"""Fork and join: count words in parts, side by side, then add up.

Each branch is a workflow of its own that begins at the entrypoint ``count``. A fork is
registered at once, while this activation still runs; the join is the decision to sleep
until all branches are over.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ledgence.worker.workflow import Workflow, WorkflowContext

if TYPE_CHECKING:
    from ledgence.worker.workflow import Decision


class Entry(StrEnum):
    START = "start"
    COUNT = "count"
    TOTAL = "total"


workflow = Workflow(Entry)


@workflow.entrypoint(Entry.START, default=True)
async def start(event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    branches = [
        ctx.branch(
            f"page:{number}",
            entrypoint=Entry.COUNT,
            queue="counting",
            data={"text": text},
        )
        for number, text in enumerate(event["data"]["pages"], 1)
    ]
    pages = await ctx.fork("pages", branches=branches)
    return ctx.join(pages, resume=Entry.TOTAL, state={"pages": len(branches)})


@workflow.entrypoint(Entry.COUNT)
def count(event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    return ctx.complete(len(event["data"]["text"].split()))


@workflow.entrypoint(Entry.TOTAL)
def total(_event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    words = [ctx.get_result(key) for key in ctx.inputs]
    return ctx.complete({"pages": ctx.state["pages"], "words": sum(words)})


handle = workflow.build()
