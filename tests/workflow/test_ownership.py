"""Gathering, draining and finishing what an activation owns."""

import asyncio

import pytest

from ledgence.worker.workflow import WorkflowContext
from tests.support.steps import Own, boom, echo, later
from tests.support.workflow import Host, arefused, payload, play, refused, until, within

BRANCH = {"entrypoint": "e", "queue": "q", "data": None}


# gather


def test_gather_keeps_the_order_of_its_arguments():
    async def call(ctx):
        return await ctx.gather(
            ctx.local("a", later, value=1, turns=5), ctx.local("b", echo, value=2)
        )

    assert within(call) == [1, 2]


def test_gather_of_nothing_is_an_empty_list():
    async def call(ctx):
        return await ctx.gather()

    assert within(call) == []


def test_gather_finishes_all_then_raises_the_first_failure_in_argument_order():
    done = []

    async def fn(value, turns):
        await later(turns=turns)
        done.append(value)
        if value < 0:
            raise Own(value)
        return value

    async def call(ctx):
        with pytest.raises(Own, match="-1"):
            await ctx.gather(
                ctx.local("a", fn, value=-1, turns=5),
                ctx.local("b", fn, value=-2, turns=1),
                ctx.local("c", fn, value=3, turns=9),
            )
        return sorted(done)

    assert within(call) == [-2, -1, 3]


def test_gather_observes_all_its_failures():
    async def handler(ctx):
        with pytest.raises(Own):
            await ctx.gather(ctx.local("a", boom), ctx.local("b", boom))
        return ctx.complete("ok")

    assert play(handler)["output"] == "ok"


def test_gather_mixes_forks_futures_coroutines_and_steps():
    async def call(ctx):
        future = asyncio.get_running_loop().create_future()
        future.set_result("future")
        fork = ctx.fork("f", branches=[ctx.branch("a", **BRANCH)])
        found = await ctx.gather(
            later("coroutine"), ctx.local("k", echo, value=1), fork, future, future
        )
        return [found[0], found[1], found[2].branch_keys, *found[3:]]

    assert within(call) == ["coroutine", 1, ("a",), "future", "future"]


def test_gather_takes_the_same_awaitable_twice():
    async def call(ctx):
        step, coroutine = ctx.local("k", echo, value=[]), later("x")
        first, second, *rest = await ctx.gather(step, step, coroutine, coroutine)
        assert first is not second
        return rest

    assert within(call) == ["x", "x"]


def test_gather_raises_the_failure_of_another_awaitable():
    async def fails():
        raise Own("other")

    async def call(ctx):
        with pytest.raises(Own, match="other"):
            await ctx.gather(ctx.local("k", echo), fails(), fails())
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ctx.gather(task)

    within(call)


def test_gather_takes_128_awaitables_and_no_more():
    async def call(ctx):
        step = ctx.local("k", echo)
        assert await ctx.gather(*[step] * 128) == [None] * 128
        error = await arefused(ctx.gather(*[step] * 128, later()))
        assert (error.code, error.size, error.limit) == ("too_many", 129, 128)

    within(call)


def test_gather_refuses_what_cannot_be_awaited():
    async def call(ctx):
        error = await arefused(ctx.gather(later(), 5))
        assert (error.code, error.argument) == ("invalid_type", "operations")

    within(call)


def test_a_cancelled_gather_leaves_its_steps_and_cancels_the_rest():
    ended = []

    async def other():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("other")

    host = Host()

    async def handler(ctx):
        waiter = asyncio.ensure_future(
            ctx.gather(ctx.local("k", later, turns=9), other())
        )
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        return ctx.complete(None)

    play(handler, host=host)
    assert ended == ["other"]
    assert len(host.requests) == 1


# Drain


def test_draining_awaits_what_is_started_meanwhile():
    host, tasks = Host(), []

    async def handler(ctx):
        async def side():
            await ctx.local("a", later, turns=3)
            await ctx.fork("f", branches=[ctx.branch("b", **BRANCH)])
            await ctx.local("c", later, turns=3)

        tasks.append(asyncio.create_task(side()))
        ctx.local("first", later, turns=20)
        await asyncio.sleep(0)
        return ctx.complete(None)

    play(handler, host=host)
    operations = [operation for operation, _ in host.requests]
    assert operations.count("local_step.commit") == 3
    assert operations.count("workflow.fork") == 1


def test_failures_of_steps_come_before_those_of_forks():
    async def handler(ctx):
        spec = ctx.branch("b", **BRANCH)
        waiter = asyncio.create_task(ctx.fork("f", branches=[spec]))
        await asyncio.sleep(0)
        ctx.local("k", boom)
        assert not waiter.done()
        return ctx.complete(None)

    with pytest.raises(Own):
        play(handler, host=Host(None))


# Finish


def test_a_handler_that_raises_cancels_unfinished_steps():
    log = []

    async def fn():
        try:
            log.append("started")
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    host = Host()

    async def handler(ctx):
        ctx.local("k", fn)
        await asyncio.sleep(0)
        ctx.local("never begun", lambda: log.append("ran"))
        raise Own

    with pytest.raises(Own):
        play(handler, host=host)
    assert log == ["started", "cancelled"]
    assert host.requests == []


def test_an_exchange_that_is_under_way_is_completed_first():
    answered = []

    async def reply(operation, request):
        await later(turns=5)
        answered.append(request["key"])
        return {"committed": True}

    host = Host(reply)

    async def handler(ctx):
        ctx.local("a", echo)
        ctx.local("waits behind", echo)
        await until(lambda: host.requests)
        raise Own

    with pytest.raises(Own):
        play(handler, host=host)
    assert answered == ["a"]
    assert len(host.requests) == 1


def test_a_turn_that_was_given_to_a_cancelled_step_goes_to_the_next():
    pending = {}

    def reply(operation, request):
        # This runs after the step of a has ended and given its turn to b, but before
        # b has run.
        asyncio.get_running_loop().call_soon(pending["b"][1].cancel)
        return {"committed": True}

    host = Host(reply)

    async def handler(ctx):
        steps = [ctx.local(key, echo) for key in "abc"]
        pending.update(ctx._pending)
        assert await steps[2] is None
        return ctx.complete(None)

    assert refused(play, handler, host=host).code == "step_cancelled"
    assert [sent["key"] for sent in host.committed] == ["a", "c"]


def test_a_step_that_is_cancelled_in_the_queue_leaves_it():
    release = []

    async def slow(operation, request):
        await until(lambda: release)
        return {"committed": True}

    host = Host(slow)

    async def handler(ctx):
        steps = [ctx.local(key, echo) for key in "abc"]
        await until(lambda: host.requests)
        await asyncio.sleep(0)
        ctx._pending["b"][1].cancel()
        await asyncio.sleep(0)
        release.append(True)
        await steps[2]
        return ctx.complete(None)

    assert refused(play, handler, host=host).code == "step_cancelled"
    assert [sent["key"] for sent in host.committed] == ["a", "c"]


def test_finishing_closes_at_once_raises_nothing_and_can_be_repeated():
    async def main():
        ctx = WorkflowContext(payload(), Host())
        ctx.local("a", boom)
        ctx.local("b", later, turns=5)
        finishing = asyncio.ensure_future(ctx._finish())
        await asyncio.sleep(0)
        assert ctx.closed
        assert refused(ctx.complete, 1).code == "context_closed"
        await finishing
        await ctx._finish()
        await ctx._finish(cancel=True)
        await ctx._finish(True)
        assert ctx._pending["b"][1].done()

    asyncio.run(main())


def test_finishing_may_cancel():
    async def main():
        ctx = WorkflowContext(payload(), Host())
        ctx.local("a", later, turns=10**6)
        ctx.fork("f", branches=[]).close()
        await ctx._finish(cancel=True)
        assert ctx._pending["a"][1].cancelled()

    asyncio.run(main())


def test_a_closed_context_refuses_calls_and_can_still_be_read():
    kept = []

    async def handler(ctx):
        kept.append(ctx)
        return ctx.complete(None)

    play(handler, payload(state=[1]))

    async def check(ctx):
        old = kept[0]
        for call in (
            lambda: old.complete(1),
            lambda: old.local("k", echo),
            lambda: old.get_result("c"),
        ):
            assert refused(call).code in ("context_closed", "wrong_loop")
        assert (old.state, old.activation_id, old.closed) == ([1], "act-1", True)

    within(check)


def test_draining_can_be_cancelled():
    async def main():
        ctx = WorkflowContext(payload(), Host())
        ctx.local("a", later, turns=10**6)
        draining = asyncio.ensure_future(ctx._drain())
        await asyncio.sleep(0)
        draining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await draining
        await ctx._finish(cancel=True)

    asyncio.run(main())
