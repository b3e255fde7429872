"""The workflows that ``bench.local_host`` measures, told apart by their data."""

from ledgence.worker.workflow import workflow_context


def step(n):
    return {"n": n, "text": "x" * 50}


async def steps(ctx, data):
    for number in range(data["steps"]):
        await ctx.local(f"step:{number}", step, n=number)
    return ctx.complete(data["steps"])


async def event(ctx, data):
    if ctx.continuation == "start":
        return ctx.wait_event("go", continuation="end", state=None)
    return ctx.complete(ctx.wake["event"]["data"])


async def parent(ctx, data):
    if ctx.continuation == "end":
        return ctx.complete(sum(ctx.get_result(key) for key in ctx.inputs))
    children = [
        ctx.workflow(
            f"child:{number}",
            program="bench",
            version="1",
            queue="q",
            data={"do": "steps", "steps": 1},
        )
        for number in range(data["children"])
    ]
    return ctx.suspend(continuation="end", state=None, until=children)


async def sleeper(ctx, data):
    if ctx.continuation == "start":
        return ctx.sleep("nap", delay_ms=data["ms"], continuation="end", state=None)
    return ctx.complete(None)


async def rounds(ctx, data):
    if ctx.revision + 1 < data["rounds"]:
        state = {"round": ctx.revision, "text": "x" * 100}
        return ctx.continue_(continuation="next", state=state)
    return ctx.complete(None)


WORKFLOWS = {
    "steps": steps,
    "event": event,
    "parent": parent,
    "sleeper": sleeper,
    "rounds": rounds,
}


async def handle(event):
    data = event["data"]
    if data["do"] == "task":
        return data.get("n")
    return await WORKFLOWS[data["do"]](workflow_context(), data)
