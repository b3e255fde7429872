"""Local steps that fail, and acknowledgements that do not come."""

import asyncio

import pytest

from ledgence.worker._exceptions import (
    AcknowledgementError,
)
from ledgence.worker.workflow import TaskRef, workflow_context
from tests.support.ids import stable
from tests.support.steps import (
    Own,
    boom,
    echo,
    later,
)
from tests.support.workflow import (
    Host,
    arefused,
    payload,
    play,
    refused,
    within,
)

# Failures.


def test_an_await_raises_the_callables_own_exception():
    async def call(ctx):
        step = ctx.local("k", boom)
        found = []
        for _ in range(2):
            with pytest.raises(Own) as caught:
                await step
            found.append(caught.value)
        with pytest.raises(Own) as caught:
            await ctx.local("k", boom)
        assert found[0] is found[1] is caught.value

    within(call)


def test_a_failed_step_is_final_and_not_sent():
    calls, host = [], Host()

    def fn(value):
        calls.append(value)
        raise Own

    async def call(ctx):
        for _ in range(2):
            with pytest.raises(Own):
                await ctx.local("k", fn, value=1)
        assert refused(ctx.local, "k", fn, value=2).code == "binding_changed"

    within(call, host=host)
    assert calls == [1]
    assert host.requests == []


def test_a_failure_that_nobody_observed_fails_the_activation():
    async def handler(ctx):
        ctx.local("k", boom)
        return ctx.complete("recovered")

    with pytest.raises(Own):
        play(handler)


def test_the_first_unobserved_failure_by_start_is_raised():
    async def fails(value, turns):
        await later(turns=turns)
        raise Own(value)

    async def handler(ctx):
        step = ctx.local("observed", fails, value="0", turns=1)
        ctx.local("first", fails, value="1", turns=9)
        ctx.local("second", fails, value="2", turns=1)
        with pytest.raises(Own):
            await step
        return ctx.complete(None)

    with pytest.raises(Own, match="1"):
        play(handler)


def test_a_failure_after_the_waiter_gave_up_is_not_observed():
    async def fails():
        await later(turns=5)
        raise Own

    async def handler(ctx):
        waiter = asyncio.ensure_future(ctx.local("k", fails))
        await asyncio.sleep(0)
        waiter.cancel()
        return ctx.complete(None)

    with pytest.raises(Own):
        play(handler)


def test_a_step_that_cancels_itself_fails_the_activation_even_when_caught():
    async def cancels():
        raise asyncio.CancelledError

    async def handler(ctx):
        step = ctx.local("k", cancels)
        with pytest.raises(asyncio.CancelledError):
            await step
        return ctx.complete(None)

    error = refused(play, handler)
    assert (error.code, error.key) == ("step_cancelled", "k")
    assert "cancelled" in str(error)


def test_a_step_that_was_cancelled_before_it_began_is_settled():
    async def handler(ctx):
        step = ctx.local("k", echo)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        return ctx.complete(None)

    assert refused(play, handler).code == "step_cancelled"


def test_a_stop_iteration_of_a_callable_is_a_failure():
    def stops():
        raise StopIteration(5)

    async def call(ctx):
        with pytest.raises(RuntimeError):
            await ctx.local("k", stops)

    within(call)


class Fatal(BaseException):
    pass


def test_a_base_exception_of_a_callable_goes_on():
    def fatal():
        raise Fatal

    async def handler(ctx):
        await ctx.local("k", fatal)

    with pytest.raises(Fatal):
        play(handler)


def test_a_system_exit_of_a_callable_ends_the_loop():
    def leaves():
        raise SystemExit(3)

    async def handler(ctx):
        await ctx.local("k", leaves)

    with pytest.raises(SystemExit):
        play(handler)


# Acknowledgement.

REFUSED_REPLIES = [
    None,
    True,
    [],
    {},
    {"committed": False},
    {"committed": 1},
    {"committed": "true"},
    {"committed": True, "more": 1},
    {"more": True},
    "committed",
]


@pytest.mark.parametrize("reply", REFUSED_REPLIES, ids=stable)
def test_any_other_reply_fails_the_step_and_the_activation(reply):
    async def handler(ctx):
        error = await arefused(ctx.local("k", echo))
        assert isinstance(error, AcknowledgementError)
        assert error.code == "not_acknowledged"
        assert "acknowledgement" in str(error)
        return {
            "v": 1,
            "activation_id": "act-1",
            "revision": 0,
            "kind": "complete",
            "output": 1,
        }

    error = refused(play, handler, host=Host(lambda *_: reply))
    assert error.code == "activation_spoiled"
    assert "acknowledgement failed" in str(error)


@pytest.mark.parametrize(
    "problem", [OSError("pipe"), ValueError("x" * 900), KeyError()]
)
def test_an_exchange_error_fails_the_step_and_the_activation(problem):
    async def handler(ctx):
        error = await arefused(ctx.local("k", echo))
        assert error.code == "exchange_failed"
        assert error.__cause__ is problem
        assert type(problem).__name__ in str(error)[:200]
        return ctx.complete(1)

    assert refused(play, handler, host=Host(problem)).code == "activation_spoiled"


def test_a_cancellation_during_the_exchange_spoils_the_activation():
    async def handler(ctx):
        async def hang(operation, request):
            ctx._pending["k"][1].cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        ctx._journal.exchange._rpc.replies.append(hang)
        with pytest.raises(asyncio.CancelledError):
            await ctx.local("k", echo)
        assert refused(ctx.complete, 1).code == "activation_spoiled"
        return ctx.state

    assert refused(play, handler).code == "step_cancelled"


def test_a_base_exception_of_the_exchange_goes_on():
    async def handler(ctx):
        await ctx.local("k", echo)

    with pytest.raises(Fatal):
        play(handler, host=Host(Fatal()))


def test_after_a_failed_acknowledgement_every_call_fails_and_reads_work():
    children = {"program": "p", "version": "1", "queue": "q", "data": None}

    async def handler(ctx):
        spec = ctx.branch("free", entrypoint="e", queue="q", data=None)
        await arefused(ctx.local("k", echo))
        calls = [
            lambda: ctx.local("k", echo),
            lambda: ctx.task("t", **children),
            lambda: ctx.workflow("w", **children),
            lambda: ctx.branch("b", entrypoint="e", queue="q", data=None),
            lambda: ctx.get_result("c"),
            lambda: ctx.complete(1),
            lambda: ctx.fail("k", "m"),
            lambda: ctx.continue_(continuation="n", state=None),
            lambda: ctx.suspend(continuation="n", state=None),
            lambda: ctx.wait_event("e", continuation="n", state=None),
            lambda: ctx.sleep("s", 1, continuation="n", state=None),
        ]
        assert {refused(call).code for call in calls} == {"activation_spoiled"}
        for call in (ctx.gather(), ctx.fork("f", branches=[spec])):
            assert (await arefused(call)).code == "activation_spoiled"
        assert (ctx.state, ctx.inputs, workflow_context()) == (5, {}, ctx)
        assert isinstance(TaskRef("k", ctx), TaskRef)

    refused(play, handler, payload(state=5), Host({"committed": False}))


def test_commits_that_wait_behind_a_failed_one_are_not_sent():
    host = Host({"committed": False})

    async def handler(ctx):
        steps = [ctx.local(str(i), echo) for i in range(3)]
        errors = [await arefused(step) for step in steps]
        assert [error.code for error in errors] == [
            "not_acknowledged",
            "activation_spoiled",
            "activation_spoiled",
        ]

    refused(play, handler, host=host)
    assert len(host.requests) == 1
