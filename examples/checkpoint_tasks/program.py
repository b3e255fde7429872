"""A checkpoint with tasks: ask two suppliers, sleep until both answered, choose.

The first activation normalises the order in a local step, stages one task for each
supplier and suspends. The process may end here: the state and the tasks are kept by the
host. When both tasks are over, whatever came of them, a second activation chooses.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ledgence.worker.workflow import Workflow, WorkflowContext

if TYPE_CHECKING:
    from ledgence.worker.workflow import Decision

SUPPLIERS = ("north", "south")


class Entry(StrEnum):
    START = "start"
    CHOOSE = "choose"


workflow = Workflow(Entry)


def normalise(article: str) -> dict[str, str]:
    """Prepare the order; as a local step it runs once, also when we are retried."""
    return {"article": article.strip().lower()}


@workflow.entrypoint(Entry.START, default=True)
async def start(event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    order = await ctx.local("order", normalise, article=event["data"]["article"])
    quotes = [
        ctx.task(
            f"quote:{supplier}",
            program="price-quote",
            version="1.0.0",
            queue="quotes",
            data={"supplier": supplier, **order},
        )
        for supplier in SUPPLIERS
    ]
    return ctx.suspend(continuation=Entry.CHOOSE, state=order, until=quotes)


@workflow.entrypoint(Entry.CHOOSE)
def choose(_event: dict[str, Any], ctx: WorkflowContext) -> Decision:
    # A task that failed is an input like any other: this workflow goes on without it.
    quotes = [
        ctx.get_result(key)
        for key, child in ctx.inputs.items()
        if child["state"] == "succeeded"
    ]
    offers = [quote for quote in quotes if quote["price"] is not None]
    if not offers:
        return ctx.fail("no_offer", f"nobody offers {ctx.state['article']}")
    return ctx.complete(min(offers, key=lambda quote: quote["price"]))


handle = workflow.build()
