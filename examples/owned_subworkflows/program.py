"""Owned subworkflows: close the books of a company, region by region.

Each region is a whole workflow with its own steps, owned by this one: it is cancelled
with its parent and its outcome is an input of the parent. Here parent and child are the
same program, told apart by the data.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ledgence.worker.workflow import Workflow, WorkflowContext

if TYPE_CHECKING:
    from ledgence.worker.workflow import Decision


class Entry(StrEnum):
    START = "start"
    REPORT = "report"


workflow = Workflow(Entry)


def close_region(region: str, sales: list[int]) -> dict[str, Any]:
    """Add up one region."""
    return {"region": region, "total": sum(sales)}


@workflow.entrypoint(Entry.START, default=True)
async def start(event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    data = event["data"]
    if "region" in data:
        books = await ctx.local("close", close_region, **data)
        return ctx.complete(books)
    regions = [
        ctx.workflow(
            f"region:{region}",
            program="owned-subworkflows",
            version="1.0.0",
            queue="books",
            data={"region": region, "sales": sales},
        )
        for region, sales in sorted(data["regions"].items())
    ]
    return ctx.suspend(continuation=Entry.REPORT, state=None, until=regions)


@workflow.entrypoint(Entry.REPORT)
def report(_event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    closed, open_regions = {}, []
    for key, child in ctx.inputs.items():
        if child["state"] == "succeeded":
            books = ctx.get_result(key)
            closed[books["region"]] = books["total"]
        else:
            open_regions.append(key)
    return ctx.complete({"closed": closed, "open": open_regions})


handle = workflow.build()
