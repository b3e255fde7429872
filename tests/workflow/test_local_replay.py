"""Local steps that are in the journal, the number of keys, and what is sent."""

import pytest

from ledgence.worker._exceptions import (
    BindingError,
)
from tests.support.steps import HERE, Own, boom, echo, later
from tests.support.workflow import (
    EncodedHost,
    Host,
    payload,
    record,
    refused,
    within,
)

# Replay.


def test_a_record_answers_without_running_or_sending():
    host = Host()
    journal = [
        record(callable_=f"{HERE}:boom", input_={"value": {"b": 2, "a": 1}}, output=[1])
    ]

    async def call(ctx):
        first = await ctx.local("k", boom, value={"a": 1, "b": 2})
        first.append(2)
        return await ctx.local("k", boom, value={"b": 2, "a": 1})

    assert within(call, payload(local_steps=journal), host) == [1]
    assert host.requests == []


CHANGED = {
    "bool": {"value": True},
    "float": {"value": 1.0},
    "other": {"value": 2},
    "text": {"value": "1"},
    "more": {"value": 1, "more": 0},
    "none": {},
}


@pytest.mark.parametrize("arguments", CHANGED.values(), ids=CHANGED)
def test_a_record_of_another_input_conflicts(arguments):
    journal = [record(callable_=f"{HERE}:boom", input_={"value": 1})]
    error = within(
        lambda ctx: refused(ctx.local, "k", boom, **arguments),
        payload(local_steps=journal),
    )
    assert isinstance(error, BindingError)
    assert (error.code, error.key) == ("binding_changed", "k")
    assert "different binding" in str(error)
    assert all(entry["path"].startswith("$.input") for entry in error.diff)


def test_a_conflict_says_field_by_field_what_differs():
    journal = [record(callable_="old:fn", input_={"value": {"a": [1, 2]}})]
    error = within(
        lambda ctx: refused(ctx.local, "k", echo, value={"a": [1, 3], "b": "x"}),
        payload(local_steps=journal),
    )
    assert error.diff == (
        {"path": "$.callable", "expected": '"old:fn"', "got": f'"{HERE}:echo"'},
        {"path": "$.input.value.a[1]", "expected": "2", "got": "3"},
        {"path": "$.input.value.b", "expected": "(absent)", "got": '"x"'},
    )


def test_a_used_key_conflicts_the_same_way_pending_or_done():
    async def call(ctx):
        step = ctx.local("k", echo, value=1)
        assert refused(ctx.local, "k", echo, value=2).code == "binding_changed"
        assert refused(ctx.local, "k", boom, value=1).code == "binding_changed"
        await step
        assert refused(ctx.local, "k", echo, value=2).code == "binding_changed"
        assert ctx.local("k", echo, value=1) is step

    within(call)


def test_a_journalled_argument_may_be_longer_here_but_a_new_one_not():
    value = [1e-08] * 30_000
    journal = [record(input_={"value": value}, callable_=f"{HERE}:boom", output="done")]

    async def call(ctx):
        assert refused(ctx.local, "new", boom, value=value).code == "too_large"
        return await ctx.local("k", boom, value=value)

    assert within(call, payload(local_steps=journal)) == "done"


def test_a_refused_call_has_no_effect():
    host = Host()

    async def call(ctx):
        refused(ctx.local, "k", echo, value=object())
        await ctx.local("k", echo, value=1)

    within(call, host=host)
    assert len(host.requests) == 1


# The number of keys.


def test_an_activation_has_at_most_128_keys():
    def call(ctx):
        for i in range(128):
            ctx.local(str(i), echo)
        error = refused(ctx.local, "more", echo)
        assert (error.code, error.limit) == ("too_many", 128)
        assert "too many" in str(error)
        ctx.local("5", echo)

    within(call)


def test_journalled_keys_count_once():
    journal = [record(str(i), callable_=f"{HERE}:echo") for i in range(3)]

    async def call(ctx):
        for i in range(128):
            ctx.local(str(i), echo)
        assert refused(ctx.local, "more", echo).code == "too_many"

    within(call, payload(local_steps=journal))


def test_a_failed_step_keeps_its_place():
    async def call(ctx):
        for i in range(128):
            step = ctx.local(str(i), boom)
            with pytest.raises(Own):
                await step
        assert refused(ctx.local, "more", echo).code == "too_many"

    within(call)


# Sending.


def test_commits_are_sent_in_the_order_in_which_callables_finish():
    host = Host(turns=3)

    async def call(ctx):
        turns = {"a": 9, "b": 1, "c": 5}
        await ctx.gather(*[ctx.local(k, later, turns=n) for k, n in turns.items()])

    within(call, host=host)
    assert [sent["key"] for sent in host.committed] == ["b", "c", "a"]


def test_a_host_that_takes_bytes_gets_the_bytes_of_the_wire():
    host = EncodedHost()

    async def call(ctx):
        await ctx.local('k"', echo, value={"b": (1, 1.0), "a": "é"})

    within(call, host=host)
    assert host.lines == [
        b'{"key":"k\\"","callable":"%b:echo","input":{"value":{"a":"\xc3\xa9","b":[1,1.0]}},'
        b'"output":{"a":"\xc3\xa9","b":[1,1.0]}}' % HERE.encode()
    ]


def test_both_ways_of_sending_give_the_same_request():
    async def call(ctx):
        await ctx.local("k", echo, value={"b": 1, "a": [None, True]})

    plain, encoded = Host(), EncodedHost()
    within(call, host=plain)
    within(call, host=encoded)
    assert plain.requests == encoded.requests
    assert [list(r) for _, r in plain.requests] == [
        list(r) for _, r in encoded.requests
    ]
