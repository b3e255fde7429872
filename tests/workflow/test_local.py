"""Local steps: start, awaiting, keys, arguments, outputs, and what is seen of them."""

import asyncio
import contextvars

import pytest

from ledgence.worker._exceptions import (
    ArgumentError,
    LimitError,
)
from tests.support.steps import (
    HERE,
    Own,
    boom,
    echo,
    gives_an_awaitable,
    later,
    take,
    text,
)
from tests.support.workflow import (
    Host,
    Steps,
    arefused,
    canonical,
    nest,
    payload,
    play,
    record,
    refused,
    within,
)

# Start and await.


def test_one_step_is_one_commit_and_yields_its_output():
    host = Host()
    value = within(lambda ctx: take(ctx.local("k", echo, value=(1, 2))), host=host)
    assert value == [1, 2]
    sent = {"key": "k", "callable": f"{HERE}:echo", "input": {"value": [1, 2]}}
    assert host.requests == [("local_step.commit", {**sent, "output": [1, 2]})]


def test_the_callable_runs_on_a_later_turn_awaited_or_not():
    order = []

    async def handler(ctx):
        step = ctx.local("k", lambda: order.append("ran"))
        order.append("called")
        await step
        return ctx.complete(order)

    assert play(handler)["output"] == ["called", "ran"]


def test_a_task_factory_of_the_program_cannot_begin_a_step_at_once():
    order = []

    async def handler(ctx):
        def eager(loop, coro, **kwargs):
            coro.send(None)
            raise AssertionError("the factory was asked")

        asyncio.get_running_loop().set_task_factory(eager)
        step = ctx.local("k", lambda: order.append("ran"))
        asyncio.get_running_loop().set_task_factory(None)
        order.append("called")
        await step
        return ctx.complete(None)

    play(handler)
    assert order == ["called", "ran"]


def test_an_unawaited_step_is_finished_before_the_decision():
    host = Host()

    async def handler(ctx):
        ctx.local("k", later, value=7, turns=5)
        return ctx.complete("done")

    assert play(handler, host=host)["output"] == "done"
    assert host.committed[0]["output"] == 7


@pytest.mark.parametrize(
    "fn",
    [echo, later, gives_an_awaitable],
    ids=["sync", "async", "returns one"],
)
def test_sync_and_async_callables_work(fn):
    assert within(lambda ctx: take(ctx.local("k", fn, value=5))) == 5


def test_a_step_is_neither_a_coroutine_nor_a_future():
    async def call(ctx):
        step = ctx.local("k", echo)
        assert not asyncio.iscoroutine(step)
        assert not asyncio.isfuture(step)
        with pytest.raises(TypeError):
            await asyncio.create_task(step)
        assert await asyncio.ensure_future(step) is None
        assert await asyncio.wait_for(step, 5) is None
        assert await asyncio.shield(step) is None
        assert await asyncio.gather(step, step) == [None, None]

    within(call)


def test_every_await_gives_a_fresh_copy():
    async def call(ctx):
        step = ctx.local("k", echo, value={"a": [1]})
        first = await step
        first["a"].append(2)
        second = await step
        return first, second, await ctx.local("k", echo, value={"a": [1]})

    assert within(call) == ({"a": [1, 2]}, {"a": [1]}, {"a": [1]})


def test_many_waiters_share_one_run():
    calls = []

    async def fn():
        calls.append(1)
        await asyncio.sleep(0)
        return len(calls)

    async def call(ctx):
        step = ctx.local("k", fn)
        waiters = [asyncio.ensure_future(step) for _ in range(5)]
        return await asyncio.gather(*waiters)

    assert within(call) == [1] * 5


def test_cancelling_a_waiter_does_not_touch_the_step():
    host = Host()

    async def call(ctx):
        release = asyncio.Event()

        async def fn():
            await release.wait()
            return 5

        step = ctx.local("k", fn)
        waiters = [asyncio.ensure_future(step) for _ in range(2)]
        await asyncio.sleep(0)
        waiters[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiters[0]
        release.set()
        return await waiters[1], await step

    assert within(call, host=host) == (5, 5)
    assert len(host.requests) == 1


def test_arguments_are_copied_at_the_call_and_for_the_callable():
    def fn(items):
        seen = list(items)
        items.append("callable")
        return seen

    host = Host()

    async def call(ctx):
        data = [1]
        step = ctx.local("k", fn, items=data)
        data.append("later")
        return await step

    assert within(call, host=host) == [1]
    assert host.committed[0]["input"] == {"items": [1]}


def test_a_step_runs_in_a_copy_of_the_callers_context():
    var = contextvars.ContextVar("var", default="none")

    def fn():
        found = var.get()
        var.set("callable")
        return found

    async def call(ctx):
        var.set("caller")
        found = await ctx.local("k", fn)
        return found, var.get()

    assert within(call) == ("caller", "caller")


def test_nobody_sees_an_output_before_its_acknowledgement():
    order = []

    async def reply(operation, request):
        await asyncio.sleep(0)
        order.append("acknowledged")
        return {"committed": True}

    async def call(ctx):
        await ctx.local("k", echo)
        order.append("seen")

    within(call, host=Host(reply))
    assert order == ["acknowledged", "seen"]


def test_the_call_shape_is_pythons():
    def call(ctx):
        for arguments, names in (
            (("k",), {}),
            (("k", echo, 1), {}),
            (("k", echo), {"key": 1}),
            (("k", echo), {"fn": 1}),
            (("k", echo), {"self": 1}),
        ):
            with pytest.raises(TypeError):
                ctx.local(*arguments, **names)

    within(call)


def test_a_call_that_does_not_fit_fails_when_it_runs():
    async def call(ctx):
        step = ctx.local("k", echo, other=1)
        with pytest.raises(TypeError):
            await step

    within(call)


def test_defaults_are_not_recorded():
    host = Host()
    within(lambda ctx: take(ctx.local("k", echo)), host=host)
    assert host.committed[0]["input"] == {}


# Keys, callables, arguments.


@pytest.mark.parametrize("key", ["", "x" * 129, "a\n", "\ufdd0", None, 1, b"k", ["k"]])
def test_a_key_is_a_text(key):
    error = within(lambda ctx: refused(ctx.local, key, echo))
    assert (error.code, error.argument) == ("invalid_text", "key")


@pytest.mark.parametrize(
    "key", ["x" * 128, " ", "_approval", "_Approval:x", "a_approval:"]
)
def test_other_keys_are_taken(key):
    within(lambda ctx: take(ctx.local(key, echo)))


@pytest.mark.parametrize("key", ["_approval:", "_approval:x"])
def test_the_reserved_prefix_is_refused(key):
    error = within(lambda ctx: refused(ctx.local, key, echo))
    assert (error.code, error.key) == ("reserved_key", key)


def test_a_callable_needs_a_name():
    error = within(lambda ctx: refused(ctx.local, "k", [].append))
    assert (error.code, error.key) == ("invalid_callable", "k")


@pytest.mark.parametrize(
    ("arguments", "argument", "path"),
    [
        ({"value": object()}, "value", "$"),
        ({"value": [{"a": object()}]}, "value", "$[0].a"),
        ({"value": 1, "a b": [object()]}, "a b", "$[0]"),
        ({"value": nest(64)}, "value", "$" + "[0]" * 63),
        ({"value": {1: 2}}, "value", "$"),
        ({"value" * 20: [object()]}, "value" * 20, "$[0]"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_refused_argument_is_named_with_the_place_inside_it(
    arguments, argument, path
):
    error = within(lambda ctx: refused(ctx.local, "k", echo, **arguments))
    assert (error.key, error.argument) == ("k", argument)
    assert error.path == path
    assert len(str(error).splitlines()[0]) < 200


def test_an_argument_may_nest_63_deep():
    assert within(lambda ctx: take(ctx.local("k", echo, value=nest(63)))) == nest(63)


def test_key_callable_and_input_fit_a_record_before_the_step_starts():
    def call(ctx):
        frame = {"key": "k", "callable": f"{HERE}:echo", "input": {"value": ""}}
        room = 131_072 - len(canonical(frame))
        error = refused(ctx.local, "k", echo, value="x" * (room + 1))
        assert (error.code, error.size, error.limit) == ("too_large", 131_073, 131_072)
        error = refused(ctx.local, "k", echo, value="x" * 131_072)
        assert error.code == "too_large"
        assert error.largest[0]["path"] == "$.value"
        return ctx.local("k", echo, value="x" * room)

    async def handler(ctx):
        error = await arefused(call(ctx))  # no output fits beside it
        assert (error.code, error.key) == ("too_large", "k")
        return ctx.complete(None)

    play(handler)


# Outputs.


@pytest.mark.parametrize(
    "value",
    [object(), float("nan"), 2**64, {1: 2}, "\ud800", nest(65), b"", (x for x in ())],
    ids=lambda value: str(value)[:20],
)
def test_an_output_that_is_no_json_fails_the_step_and_is_not_sent(value):
    host = Host()
    error = within(lambda ctx: arefused(ctx.local("k", lambda: value)), host=host)
    assert (error.key, error.argument) == ("k", "output")
    assert host.requests == []


def test_a_record_has_at_most_131072_bytes():
    frame = {
        "key": "k",
        "callable": f"{HERE}:text",
        "input": {"n": 100_000},
        "output": "",
    }
    room = 131_072 - len(canonical(frame))
    within(lambda ctx: take(ctx.local("k", text, n=room)))
    error = within(lambda ctx: arefused(ctx.local("k", text, n=room + 1)))
    assert isinstance(error, LimitError)
    assert (error.size, error.limit) == (131_073, 131_072)


def test_the_journal_has_at_most_262144_bytes_at_a_commit():
    host = Host()

    async def call(ctx):
        await ctx.local("a", text, n=100_000)
        await ctx.local("b", text, n=100_000)
        error = await arefused(ctx.local("c", text, n=100_000))
        assert (error.code, error.key, error.limit) == ("too_large", "c", 262_144)
        used = ctx.sizes()["journal"]["size"]
        frame = {"key": "d", "callable": f"{HERE}:text", "input": {"n": 60000}}
        room = 262_144 - used - 1 - len(canonical({**frame, "output": ""}))
        await ctx.local("d", text, n=room)
        assert ctx.sizes()["journal"]["size"] == 262_144
        await arefused(ctx.local("e", echo))

    within(call, host=host)
    assert [sent["key"] for sent in host.committed] == ["a", "b", "d"]


def test_replayed_records_count_strictly_for_a_new_commit():
    floats = [record(str(i), output=[1e-08] * 21_000) for i in range(2)]
    assert len(canonical(floats)) < 262_144
    more = [*floats, record("2", output=[1e-08] * 3_000)]
    assert len(canonical(more)) > 262_144

    async def call(ctx):
        return (await arefused(ctx.local("new", echo))).code

    assert within(call, payload(local_steps=more)) == "too_large"
    within(lambda ctx: take(ctx.local("new", echo)), payload(local_steps=floats))


# Observation.


def test_steps_are_observed_with_their_states():
    steps = Steps()
    journal = [record("old", callable_=f"{HERE}:echo")]

    async def cancels():
        raise asyncio.CancelledError

    async def handler(ctx):
        await ctx.local("old", echo)
        await ctx.local("old", echo)
        await ctx.local("new", echo)
        with pytest.raises(Own):
            await ctx.local("bad", boom)
        await arefused(ctx.local("no json", object))
        with pytest.raises(asyncio.CancelledError):
            await ctx.local("gone", cancels)

    refused(play, handler, payload(local_steps=journal), steps=steps)
    assert [(key, state) for key, _, state in steps.seen] == [
        ("old", "replayed"),
        ("new", "returned"),
        ("bad", "failed"),
        ("no json", "failed"),
        ("gone", "cancelled"),
    ]
    assert steps.seen[1][1] == f"{HERE}:echo"


def test_arguments_are_refused_before_anything_is_observed():
    steps = Steps()

    async def handler(ctx):
        assert isinstance(refused(ctx.local, "k", echo, value=object()), ArgumentError)
        return ctx.complete(None)

    play(handler, steps=steps)
    assert steps.seen == []


# For tool builders.


def test_the_pending_steps_the_records_and_the_commands_can_be_seen():
    async def call(ctx):
        step = ctx.local("k", later, value=1)
        binding, task = ctx._pending["k"]
        assert binding == canonical(
            {"key": "k", "callable": f"{HERE}:later", "input": {"value": 1}}
        )
        assert not task.done()
        await step
        await asyncio.wait([task], timeout=5)
        assert task.done()
        assert task.exception() is None
        assert ctx._records == {
            "k": {
                **record(callable_=f"{HERE}:later"),
                "input": {"value": 1},
                "output": 1,
            }
        }
        assert list(ctx._records["k"]) == ["key", "callable", "input", "output"]

    within(call)
