"""Where control calls may be made, and the queue to the host."""

import asyncio
import threading

import pytest

from ledgence.worker.workflow import (
    OperationKind,
    get_workflow_context,
    workflow_context,
)
from ledgence.worker.workflow._exchange import Exchange
from tests.support.steps import echo
from tests.support.workflow import arefused, payload, play, refused, within

CHILD = {"program": "p", "version": "1", "queue": "q", "data": None}
ACTION = {"name": "a", "version": "1", "arguments": {}}


def calls(ctx):
    """Every synchronous control call."""
    here = {"continuation": "n", "state": None}
    operation = {"kind": OperationKind.MODEL, "version": "1", "arguments": {}}
    return [
        lambda: ctx.local("n", echo),
        lambda: ctx.operation("o", echo, **operation),
        lambda: ctx.approved_local(echo, version="1"),
        lambda: ctx.task("t", **CHILD),
        lambda: ctx.workflow("w", **CHILD),
        lambda: ctx.branch("b", entrypoint="e", queue="q", data=None),
        lambda: ctx.join(None, resume="n", state=None),
        lambda: ctx.get_result("c"),
        lambda: ctx.suspend(**here),
        lambda: ctx.continue_(**here),
        lambda: ctx.wait_event("e", **here),
        lambda: ctx.sleep("s", 1, **here),
        lambda: ctx.request_approval("r", action=ACTION, timeout_ms=1, **here),
        lambda: ctx.wait_approval("r", action=ACTION, timeout_ms=1, **here),
        lambda: ctx.complete(None),
        lambda: ctx.fail("k", "m"),
    ]


def codes(ctx):
    return {refused(call).code for call in calls(ctx)}


async def codes_with_coroutines(ctx):
    found = codes(ctx)
    found.add((await arefused(ctx.gather())).code)
    found.add((await arefused(ctx.fork("f", branches=[]))).code)
    return found


def test_no_activation_is_active_outside():
    assert get_workflow_context is workflow_context
    error = refused(workflow_context)
    assert error.code == "no_activation"


def test_the_context_is_the_same_object_everywhere_in_its_activation():
    async def call(ctx):
        async def in_task():
            return workflow_context()

        found = [
            workflow_context(),
            await asyncio.create_task(in_task()),
            await asyncio.to_thread(workflow_context),
        ]
        seen = []
        await ctx.local("k", lambda: seen.append(workflow_context()))
        return all(entry is ctx for entry in found + seen)

    assert within(call)


def test_a_thread_without_the_context_finds_no_activation():
    def call(ctx):
        found = []
        thread = threading.Thread(
            target=lambda: found.append(refused(workflow_context).code)
        )
        thread.start()
        thread.join(10)
        return found

    assert within(call) == ["no_activation"]


def test_after_the_activation_its_context_is_closed_for_leftovers():
    seen, tasks = [], []

    async def leftover(ctx):
        try:
            await asyncio.sleep(60)
        finally:
            seen.extend([refused(workflow_context).code, *codes(ctx), ctx.state])

    async def handler(ctx):
        tasks.append(asyncio.create_task(leftover(ctx)))
        await asyncio.sleep(0)
        return ctx.complete(None)

    play(handler, payload(state=1))
    assert seen == ["context_closed", "context_closed", 1]


# The boundary.


def test_no_control_call_is_made_inside_a_local_callable():
    found = {}

    async def fn():
        ctx = workflow_context()
        found["inside"] = await codes_with_coroutines(ctx)
        found["task"] = await asyncio.create_task(codes_with_coroutines(ctx))
        found["thread"] = await asyncio.to_thread(codes, ctx)
        found["state"] = ctx.state
        return "done"

    assert (
        within(lambda ctx: take(ctx.local("k", fn)), payload(state={"s": 1})) == "done"
    )
    assert found.pop("state") == {"s": 1}
    assert all(value == {"inside_callable"} for value in found.values())


async def take(awaitable):
    return await awaitable


def test_the_error_names_the_callable_and_what_to_use():
    def fn():
        error = refused(workflow_context().complete, 1)
        assert "use the controller" in str(error)
        assert error.detail == f"inside {__name__}:{fn.__qualname__}"

    within(lambda ctx: take(ctx.local("k", fn)))


def test_the_boundary_outlives_its_callable():
    tasks = []

    async def late(ctx):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return codes(ctx)

    async def fn():
        tasks.append(asyncio.create_task(late(workflow_context())))

    async def call(ctx):
        await ctx.local("k", fn)
        return await tasks[0]

    assert within(call) == {"inside_callable"}


def test_the_boundary_is_that_of_any_activation():
    def call(outer):
        return refused(outer.complete, 1).code

    kept = []

    async def handler(ctx):
        kept.append(ctx)
        return ctx.complete(None)

    play(handler)
    assert within(lambda ctx: take(ctx.local("k", lambda: call(kept[0])))) == (
        "inside_callable"
    )


def test_an_uncaught_violation_fails_the_step():
    def fn():
        workflow_context().complete(1)

    async def handler(ctx):
        await ctx.local("k", fn)

    assert refused(play, handler).code == "inside_callable"


def test_tasks_of_the_controller_are_not_restricted():
    async def side(ctx):
        return await ctx.local("k", echo, value=3)

    assert within(lambda ctx: take(asyncio.create_task(side(ctx)))) == 3


def test_an_operation_and_an_approved_action_have_the_boundary_too():
    def fn():
        return refused(workflow_context().complete, 1).code

    async def call(ctx):
        return await ctx.operation(
            "k", fn, kind=OperationKind.TOOL, version="1", arguments={}
        )

    assert within(call) == "inside_callable"


# The loop.


def test_control_calls_need_the_loop_of_the_activation():
    async def call(ctx):
        def other():
            async def inside():
                return await codes_with_coroutines(ctx)

            return codes(ctx) | asyncio.run(inside())

        return await asyncio.to_thread(other)

    assert within(call) == {"wrong_loop"}


def test_without_a_loop_the_error_names_the_loop():
    async def call(ctx):
        async def inside():
            return str(refused(ctx.complete, 1))

        return [
            str(await asyncio.to_thread(lambda: refused(ctx.complete, 1))),
            await asyncio.to_thread(lambda: asyncio.run(inside())),
        ]

    none, another = within(call)
    assert "controller event loop" in none
    assert "no event loop is running here" in none
    assert "another event loop is running here" in another


def test_a_context_is_made_inside_a_running_loop():
    with pytest.raises(RuntimeError):
        Exchange(echo)


# The queue.


def test_turns_are_taken_in_the_order_of_the_calls():
    async def main():
        line, order = Exchange(echo), []

        async def use(name):
            await line.turn()
            order.append(name)
            await asyncio.sleep(0)
            line.release()

        await asyncio.gather(*[use(i) for i in range(5)])
        assert order == list(range(5))
        await line.turn()
        line.release()

    asyncio.run(main())


def test_after_a_failure_a_turn_is_refused_and_passed_on():
    async def main():
        line = Exchange(echo)
        await line.turn()
        waiting = [asyncio.ensure_future(line.turn()) for _ in range(3)]
        await asyncio.sleep(0)
        line.refused(None, "x")
        line.release()
        for future in waiting:
            assert (await arefused(future)).code == "activation_spoiled"
        assert (await arefused(line.turn())).code == "activation_spoiled"

    asyncio.run(main())


def test_who_has_a_request_under_way_is_known():
    async def main():
        seen = []

        async def rpc(operation, request):
            seen.append((line.holder, operation, request))
            return "reply"

        line = Exchange(rpc)
        holder = object()
        assert await line.send(holder, "op", b"", lambda: {"a": 1}) == "reply"
        assert seen == [(holder, "op", {"a": 1})]
        assert line.holder is None

    asyncio.run(main())
