"""An agent loop: a model proposes, tools act, and each turn is kept.

Every call of the model and of a tool is an operation with a key of its own. When the
process dies in the middle and the activation is retried, the turns that were
acknowledged come back from the journal: no token is paid twice, no tool acts twice. The
model here is a few lines of Python, so that the example needs no network.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ledgence.worker.workflow import OperationKind, WorkflowContext, workflow_context

if TYPE_CHECKING:
    from ledgence.worker.workflow import Decision

MAX_TURNS = 8
STOCK = {"bolt": 40, "nut": 12}


async def think(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Stand in for a model: look up every article of the question, then answer."""
    question = messages[0]["text"]
    known = {message["article"] for message in messages if message["role"] == "tool"}
    wanted = [article for article in STOCK if article in question]
    missing = [article for article in wanted if article not in known]
    if missing:
        return {"tools": [{"article": article} for article in missing]}
    counts = [f"{m['count']} {m['article']}s" for m in messages if m["role"] == "tool"]
    return {"answer": f"We have {' and '.join(counts) or 'nothing of that'}."}


async def look_up(article: str) -> dict[str, Any]:
    """Stand in for a tool that asks the warehouse."""
    await asyncio.sleep(0)
    return {"article": article, "count": STOCK[article]}


async def handle(event: dict[str, Any]) -> Decision:
    ctx = workflow_context()
    messages: list[dict[str, Any]] = [{"role": "user", "text": event["data"]["ask"]}]
    for turn in range(MAX_TURNS):
        thought = await ctx.operation(
            f"turn:{turn}:model",
            think,
            kind=OperationKind.MODEL,
            version="1",
            arguments={"messages": messages},
        )
        if "answer" in thought:
            return ctx.complete({"answer": thought["answer"], "turns": turn + 1})
        messages += await use_tools(ctx, turn, thought["tools"])
    return ctx.fail("no_answer", f"no answer after {MAX_TURNS} turns")


async def use_tools(
    ctx: WorkflowContext, turn: int, calls: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Run the tools of one turn side by side."""
    found = await ctx.gather(
        *(
            ctx.operation(
                f"turn:{turn}:tool:{number}",
                look_up,
                kind=OperationKind.TOOL,
                version="1",
                arguments=call,
            )
            for number, call in enumerate(calls)
        )
    )
    return [{"role": "tool", **one} for one in found]
