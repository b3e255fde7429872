"""The workflows of the crash test with real processes, told apart by their data.

What a runner knows to be done it appends to a file, which outlives everybody: before a
step runs, and after its commit or a fork was acknowledged.
"""

import json
import os

from ledgence.worker import current_invocation
from ledgence.worker.workflow import ApprovalAction, RetryPolicy, workflow_context

YEAR_MS = 31_536_000_000
PATIENT = {"max_attempts": 1000, "retry_delay_ms": 100}


def tell(path, *words):
    """Append one line in one write."""
    me = current_invocation()
    line = (
        json.dumps([words[0], me.task_id, me.attempt_no, *words[1:]]).encode() + b"\n"
    )
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, line)
    finally:
        os.close(file)


def work(path, name, output):
    tell(path, "ran", name)
    return output


def act(n):
    return n


async def step(ctx, path, key, output):
    """Run a local step and tell that its record was acknowledged."""
    found = await ctx.local(key, work, path=path, name=key, output=output)
    tell(path, "record", key, found)
    return found


def child(ctx, make, key, path, do, **data):
    return make(
        key,
        program="crash",
        version="1",
        queue="q",
        data={"do": do, "path": path, **data},
        retry_policy=RetryPolicy(**PATIENT),
    )


async def steps(ctx, path, data):
    total = ctx.state or 0
    for number in range(3):
        total += await step(ctx, path, f"s{number}", number)
    if ctx.revision < 2:
        return ctx.continue_(continuation="more", state=total)
    return ctx.complete(total)


async def family(ctx, path, data):
    if ctx.continuation == "start":
        refs = [child(ctx, ctx.workflow, "w", path, "steps")]
        refs += [child(ctx, ctx.task, f"t{n}", path, "echo", n=n) for n in range(2)]
        return ctx.suspend(continuation="end", state=None, until=refs)
    return ctx.complete({key: ctx.get_result(key) for key in ctx.inputs})


async def event(ctx, path, data):
    if ctx.continuation == "start":
        await step(ctx, path, "before", "x")
        return ctx.wait_event("go", continuation="end", state=None)
    return ctx.complete(ctx.wake["event"]["data"])


async def ask(ctx, path, data):
    if ctx.continuation == "start":
        action = ApprovalAction.for_callable(act, version="1", arguments={"n": 1})
        return ctx.request_approval(
            "may", action=action, resume="end", state=None, timeout_ms=YEAR_MS
        )
    return ctx.complete(ctx.approval.status.value)


async def forks(ctx, path, data):
    if ctx.continuation == "branch":
        return ctx.complete(data["n"])
    if ctx.continuation == "join":
        return ctx.complete(sum(ctx.get_result(key) for key in ctx.inputs))
    branches = [
        ctx.branch(
            f"b{n}",
            entrypoint="branch",
            queue="q",
            data={"do": "forks", "path": path, "n": n},
            retry_policy=RetryPolicy(**PATIENT),
        )
        for n in range(2)
    ]
    refs = await ctx.fork("f", branches=branches)
    tell(path, "fork", ctx.workflow_id, ["b0", "b1"])
    await step(ctx, path, "beside", 1)
    return ctx.join(refs, resume="join", state=None)


async def sleeper(ctx, path, data):
    if ctx.continuation == "start":
        return ctx.sleep("nap", delay_ms=5000, continuation="end", state=None)
    return ctx.complete("slept")


WORKFLOWS = {
    "steps": (steps, 9),
    "family": (family, {"w": 9, "t0": 0, "t1": 1}),
    "event": (event, [1.0, "data"]),
    "ask": (ask, "approved"),
    "forks": (forks, 1),
    "sleeper": (sleeper, "slept"),
}


async def handle(event):
    data = event["data"]
    if data["do"] == "echo":
        return data["n"]
    workflow, _ = WORKFLOWS[data["do"]]
    return await workflow(workflow_context(), data["path"], data)
