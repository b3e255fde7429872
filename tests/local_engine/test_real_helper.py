"""Programs as authors write them, on the real helper, against the engine.

Only the process and its pipes are missing: requests of the helper go to the engine
as the host would pass them on, and its decisions are reported as they come.
"""

from enum import StrEnum

import pytest

from ledgence.worker.workflow import (
    ApprovalAction,
    OperationKind,
    Workflow,
    workflow_context,
)
from tests.support.local_histories import helper
from tests.support.local_world import Died, World


@pytest.fixture
def world():
    return World()


def test_steps_tasks_and_state_go_through_the_helper(world):
    calls = []

    def fetch(n):
        calls.append(n)
        return {"n": n, "half": n / 2}

    async def handler(event):
        ctx = workflow_context()
        if ctx.continuation == "start":
            found = await ctx.local("fetch", fetch, n=event["data"]["n"])
            ref = ctx.task("leaf", program="leaf", version="1", queue="q", data=found)
            return ctx.suspend(continuation="end", state=found, until=[ref])
        return ctx.complete([ctx.state, ctx.get_result("leaf")])

    world.program("flow", helper(handler))
    workflow_id = world.start("flow", {"n": 3})
    world.run()
    found = {"n": 3, "half": 1.5}
    assert world.result(workflow_id)["output"] == [found, found]
    assert calls == [3]


def test_a_retry_replays_what_was_committed(world):
    calls, deaths = [], []

    def model(text):
        calls.append(text)
        return text.upper()

    async def handler(event):
        ctx = workflow_context()
        text = await ctx.operation(
            "m", model, kind=OperationKind.MODEL, version="1", arguments={"text": "a"}
        )
        if not deaths:
            deaths.append(1)
            raise Died
        return ctx.complete(text)

    world.program("flow", helper(handler))
    workflow_id = world.start("flow")
    world.run(skip=True)
    assert world.result(workflow_id)["output"] == "A"
    assert calls == ["a"]


class Step(StrEnum):
    START = "start"
    DOUBLE = "double"
    JOIN = "join"


def test_a_registered_program_forks_and_joins(world):
    registry = Workflow(Step)

    @registry.entrypoint(Step.START, default=True)
    async def start(event, ctx):
        branches = [
            ctx.branch(f"b{n}", entrypoint=Step.DOUBLE, queue="q", data=n)
            for n in range(3)
        ]
        fork = await ctx.fork("f", branches=branches)
        return ctx.join(fork, resume=Step.JOIN, state=None)

    @registry.entrypoint(Step.DOUBLE)
    def double(event, ctx):
        assert ctx.parent_workflow_id == ctx.root_workflow_id
        return ctx.complete(event["data"] * 2)

    @registry.entrypoint(Step.JOIN)
    def join(event, ctx):
        return ctx.complete([ctx.get_result(f"b{n}") for n in range(3)])

    world.program("flow", helper(registry.build()))
    workflow_id = world.start("flow")
    world.run()
    assert world.result(workflow_id)["output"] == [0, 2, 4]


def refund(amount, currency):
    return {"refunded": amount, "currency": currency}


@pytest.mark.parametrize(
    ("decision", "output"),
    [
        ("approve", {"refunded": 12.5, "currency": "EUR"}),
        ("reject", "rejected"),
        (None, "expired"),
    ],
    ids=["approve", "reject", "expire"],
)
def test_an_approved_action_runs_as_it_was_approved(world, decision, output):
    async def handler(event):
        ctx = workflow_context()
        if ctx.continuation == "start":
            action = ApprovalAction.for_callable(
                refund, version="1", arguments={"amount": 12.5, "currency": "EUR"}
            )
            return ctx.request_approval(
                "refund",
                action=action,
                continuation="end",
                state=None,
                timeout_ms=60_000,
                proposed_arguments={"amount": 100},
            )
        if ctx.approval.status != "approved":
            return ctx.complete(ctx.approval.status.value)
        return ctx.complete(await ctx.approved_local(refund, version="1"))

    world.program("flow", helper(handler))
    workflow_id = world.start("flow")
    world.run()
    if decision is not None:
        world.decide(workflow_id, "refund", decision)
    world.run(skip=True)
    assert world.result(workflow_id)["output"] == output


def test_timers_events_and_subworkflows(world):
    async def parent(event):
        ctx = workflow_context()
        if ctx.continuation == "start":
            return ctx.sleep("nap", 5000, continuation="call", state=None)
        if ctx.continuation == "call":
            ref = ctx.workflow("c", program="child", version="1", queue="q", data=None)
            return ctx.suspend(continuation="end", state=ctx.wake, until=[ref])
        return ctx.complete({"nap": ctx.state["kind"], "child": ctx.get_result("c")})

    async def child(event):
        ctx = workflow_context()
        if ctx.continuation == "start":
            return ctx.wait_event("go", continuation="end", state=None)
        return ctx.complete(ctx.wake["event"]["data"])

    world.program("flow", helper(parent))
    world.program("child", helper(child))
    workflow_id = world.start("flow")
    world.run(skip=True)
    world.send(world.child(workflow_id, "c"), "go", data={"ok": 1})
    world.run()
    assert world.result(workflow_id)["output"] == {"nap": "timer", "child": {"ok": 1}}
