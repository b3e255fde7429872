"""Branches, forks and joins."""

import asyncio
import dataclasses
import enum

import pytest

from ledgence.worker.workflow import BranchSpec, ForkRef, WorkflowContext
from tests.support.steps import echo, later
from tests.support.workflow import (
    EncodedHost,
    Host,
    arefused,
    canonical,
    nest,
    payload,
    play,
    refused,
    within,
)

B = {"entrypoint": "e", "queue": "q", "data": None}
C = {"program": "p", "version": "1", "queue": "q", "data": None}


class Word(enum.StrEnum):
    A = "a"


def branch_json(key, **changes):
    base = {
        "attempt_timeout_ms": 300_000,
        "data": None,
        "entrypoint": "e",
        "key": key,
        "queue": "q",
        "retry_policy": {"max_attempts": 3, "retry_delay_ms": 5000},
    }
    return {**base, **changes}


def branch_fault(key="k", **changes):
    return within(lambda ctx: refused(ctx.branch, key, **{**B, **changes}))


# branch


def test_a_branch_is_made_without_sending_anything():
    host = Host()

    def call(ctx):
        data = {"b": [1], "a": 1}
        spec = ctx.branch("a", entrypoint="left", queue="q1", data=data)
        data["b"].append(2)
        assert type(spec) is BranchSpec
        assert spec.key == "a"
        assert repr(spec) == "BranchSpec('a')"
        return spec._encoded

    wanted = branch_json("a", entrypoint="left", queue="q1", data={"b": [1], "a": 1})
    assert within(call, host=host) == canonical(wanted)
    assert host.requests == []


@pytest.mark.parametrize("value", ["", "x" * 129, "a\n", None, 1, Word.A])
@pytest.mark.parametrize("name", ["key", "entrypoint", "queue"])
def test_the_names_of_a_branch_are_texts(name, value):
    error = branch_fault(**{name: value})
    assert (error.code, error.argument) == ("invalid_text", name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data", object()),
        ("data", nest(65)),
        ("data", "x" * 131_072),
        ("retry_policy", {}),
        ("attempt_timeout_ms", 59_999),
        ("attempt_timeout_ms", None),
    ],
)
def test_other_arguments_are_checked_as_for_a_task(name, value):
    error = branch_fault(**{name: value})
    assert (error.argument, error.key) == (name, "k")


def test_a_branch_has_at_most_131072_bytes():
    room = 131_072 - len(canonical(branch_json("k", data="")))
    within(lambda ctx: ctx.branch("k", **{**B, "data": "x" * room}))
    error = branch_fault(data="x" * (room + 1))
    assert (error.code, error.size, error.limit) == ("too_large", 131_073, 131_072)


def test_a_branch_cannot_be_changed_and_is_equal_by_content_and_context():
    def call(ctx):
        spec = ctx.branch("a", **B)
        for name in ("key", "other", "_encoded"):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(spec, name, "x")
        with pytest.raises(dataclasses.FrozenInstanceError):
            del spec.key
        same = ctx.branch("a", **B)
        assert spec == same
        assert hash(spec) == hash(same)
        assert spec != ctx.branch("a", **{**B, "data": 1})
        assert spec != WorkflowContext(payload(), Host()).branch("a", **B)
        assert spec != "a"

    within(call)


# fork


def fork(ctx, key="f", *keys, **options):
    specs = [ctx.branch(name, **{**B, **options}) for name in keys or ("a",)]
    return ctx.fork(key, branches=specs)


def test_a_fork_registers_its_branches_in_order():
    host = EncodedHost()

    async def call(ctx):
        ref = await fork(ctx, 'f"', "b", "a")
        assert type(ref) is ForkRef
        return ref.key, ref.branch_keys

    assert within(call, host=host) == ('f"', ("b", "a"))
    (sent,) = host.lines
    branches = [branch_json("b"), branch_json("a")]
    assert sent == b'{"key":"f\\"","branches":' + canonical(branches) + b"}"
    plain = Host()
    within(call, host=plain)
    assert plain.requests == host.requests


def test_nothing_happens_until_a_fork_is_awaited():
    host = Host()

    async def handler(ctx):
        fork(ctx).close()
        assert asyncio.iscoroutinefunction(ctx.fork)
        return ctx.complete(None)

    play(handler, host=host)
    assert host.requests == []


def test_forks_and_commits_share_one_queue():
    host = Host(turns=3)

    async def call(ctx):
        await asyncio.gather(
            fork(ctx, "f", "a"), ctx.local("k", echo), fork(ctx, "g", "b")
        )

    within(call, host=host)
    assert len(host.requests) == 3


@pytest.mark.parametrize("key", ["", "x" * 129, "a\n", None, 1])
def test_a_fork_key_is_a_text(key):
    async def call(ctx):
        return (await arefused(fork(ctx, key))).argument

    assert within(call) == "key"


def test_a_fork_key_may_equal_a_branch_key():
    async def call(ctx):
        ctx.task("g", **C)
        return (await fork(ctx, "a", "a")).key, (await fork(ctx, "g", "b")).key

    assert within(call) == ("a", "g")


def test_branches_are_a_list_or_tuple_of_1_to_64_distinct_ones():
    async def call(ctx):
        spec = ctx.branch("a", **B)
        many = [ctx.branch(str(i), **B) for i in range(65)]
        for value, code in (
            ([], "invalid_type"),
            ((), "invalid_type"),
            (None, "invalid_type"),
            ({spec}, "invalid_type"),
            (iter([spec]), "invalid_type"),
            ([None], "invalid_reference"),
            (["a"], "invalid_reference"),
            ([{"key": "a"}], "invalid_reference"),
            ([spec, spec], "duplicate_key"),
            (many, "too_many"),
        ):
            error = await arefused(ctx.fork("f", branches=value))
            assert (error.code, error.argument, error.key) == (code, "branches", "f")
        assert len((await ctx.fork("f", branches=tuple(many[:64]))).branch_keys) == 64

    within(call)


def test_a_fork_request_has_at_most_131072_bytes():
    request = {"key": "f", "branches": [branch_json("a", data="")]}
    room = 131_072 - len(canonical(request))

    async def call(ctx):
        error = await arefused(fork(ctx, "f", "a", data="x" * (room + 1)))
        assert (error.code, error.size, error.limit) == ("too_large", 131_073, 131_072)
        await fork(ctx, "f", "a", data="x" * room)

    within(call)


def test_a_branch_of_another_activation_is_refused():
    async def call(ctx):
        other = WorkflowContext(payload(), Host()).branch("a", **B)
        error = await arefused(ctx.fork("f", branches=[other]))
        assert error.code == "foreign_reference"
        assert "another activation" in str(error)

    within(call)


def test_the_same_fork_again_is_not_sent_again():
    host = Host(turns=3)

    async def call(ctx):
        first, second = await asyncio.gather(
            fork(ctx, "f", "a", "b"), fork(ctx, "f", "a", "b")
        )
        third = await ctx.fork(
            "f", branches=(ctx.branch("a", **B), ctx.branch("b", **B))
        )
        return first is second is third

    assert within(call, host=host)
    assert len(host.requests) == 1


def test_another_fork_under_the_key_conflicts():
    async def call(ctx):
        await fork(ctx, "f", "a", "b")
        for other in (
            fork(ctx, "f", "b", "a"),
            fork(ctx, "f", "a"),
            fork(ctx, "f", "a", "b", data=1),
        ):
            error = await arefused(other)
            assert (error.code, error.key) == ("binding_changed", "f")
            assert "different binding" in str(error)
            assert error.diff[0]["path"].startswith("$.branches")

    within(call)


def test_branches_children_and_other_forks_exclude_each_other():
    async def call(ctx):
        ctx.task("staged", **C)
        error = await arefused(fork(ctx, "f1", "staged"))
        assert (error.code, error.key) == ("key_taken", "f1")
        assert "already belongs" in str(error)
        assert "staged child" in str(error)
        await fork(ctx, "f2", "a")
        error = await arefused(fork(ctx, "f3", "b", "a"))
        assert (error.code, error.key) == ("key_taken", "f3")
        assert "already belongs" in str(error)
        for stage in (ctx.task, ctx.workflow):
            error = refused(stage, "a", **C)
            assert (error.code, error.key) == ("key_taken", "a")
            assert "already belongs" in str(error)
        ctx.task("f2", **C)
        # A refused fork has taken no key.
        ctx.task("b", **C)

    within(call)


@pytest.mark.parametrize(
    "reply",
    [
        None,
        [],
        True,
        {"committed": True},
        {"committed": 1, "key": "f", "branch_keys": ["a", "b"]},
        {"committed": True, "key": "g", "branch_keys": ["a", "b"]},
        {"committed": True, "key": "f", "branch_keys": ["b", "a"]},
        {"committed": True, "key": "f", "branch_keys": ["a"]},
        {"committed": True, "key": "f", "branch_keys": ("a", "b")},
        {"committed": True, "key": "f", "branch_keys": "ab"},
        {"committed": True, "key": "f", "branch_keys": ["a", "b"], "more": 1},
        {"committed": True, "key": None, "branch_keys": ["a", "b"]},
    ],
    ids=lambda value: str(value)[:60],
)
def test_any_other_reply_fails_the_fork_and_the_activation(reply):
    async def handler(ctx):
        error = await arefused(fork(ctx, "f", "a", "b"))
        assert error.code == "not_acknowledged"
        assert "acknowledgement" in str(error)

    assert (
        refused(play, handler, host=Host(lambda *_: reply)).code == "activation_spoiled"
    )


def test_a_fork_that_waits_behind_a_failed_exchange_is_not_sent():
    host = Host(None)

    async def handler(ctx):
        results = await asyncio.gather(
            fork(ctx, "f", "a"), fork(ctx, "g", "b"), return_exceptions=True
        )
        assert [error.code for error in results] == [
            "not_acknowledged",
            "activation_spoiled",
        ]
        assert "acknowledgement failed" in str(results[1])

    refused(play, handler, host=Host(lambda *_: None))
    refused(play, handler, host=host)
    assert len(host.requests) == 1


def test_cancelling_the_waiter_keeps_the_registration():
    host = Host(turns=3)

    async def call(ctx):
        waiter = asyncio.create_task(fork(ctx, "f", "a"))
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        return (await fork(ctx, "f", "a")).branch_keys

    assert within(call, host=host) == ("a",)
    assert len(host.requests) == 1


def test_a_fork_in_the_background_is_registered_before_the_decision():
    host = Host(turns=3)

    async def handler(ctx):
        waiter = asyncio.create_task(fork(ctx, "f", "a"))
        await asyncio.sleep(0)
        assert not waiter.done()
        return ctx.complete(None)

    play(handler, host=host)
    assert len(host.requests) == 1


def test_staged_commands_are_not_sent_with_a_fork():
    host = Host()

    async def call(ctx):
        ctx.task("t", **C)
        await fork(ctx, "f", "a")
        return len(ctx._commands)

    assert within(call, host=host) == 1
    assert list(host.committed[0]) == ["key", "branches"]


# Made by hand.


def hand_made(ctx, **changes):
    return BranchSpec(canonical({**branch_json("a"), **changes}), ctx)


def test_a_hand_made_branch_of_the_exact_shape_is_as_good():
    async def call(ctx):
        spec = hand_made(ctx)
        assert spec.key == "a"
        assert spec == ctx.branch("a", **B)
        return (await ctx.fork("f", branches=[spec])).branch_keys

    assert within(call) == ("a",)


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"[]",
        b"{}",
        None,
        b'{"key":"a"}',
        canonical({**branch_json("a"), "more": 1}),
        canonical(branch_json("")),
        canonical(branch_json("a", entrypoint="")),
        canonical(branch_json("a", queue=1)),
        canonical(branch_json("a", attempt_timeout_ms=1)),
    ],
    ids=str,
)
def test_a_hand_made_branch_of_another_shape_is_refused(encoded):
    async def call(ctx):
        await arefused(ctx.fork("f", branches=[BranchSpec(encoded, ctx)]))

    within(call)


# join


def test_a_join_suspends_until_the_branches_have_ended():
    async def handler(ctx):
        ref = await fork(ctx, "f", "b", "a")
        joined = ctx.join(ref, resume="collect", state={"s": 1})
        assert joined == ctx.suspend(
            continuation="collect", state={"s": 1}, until=ref.branch_keys
        )
        return joined

    assert play(handler)["until"] == ["b", "a"]


def test_a_join_takes_only_what_fork_returned():
    async def call(ctx):
        ref = await fork(ctx, "f", "a")
        for value in (None, "f", "a", ("a",)):
            error = refused(ctx.join, value, resume="n", state=None)
            assert (error.code, error.argument) == ("invalid_reference", "fork")
        for value in (ForkRef("f", ("a",), ctx), ForkRef("other", ("a",), ctx)):
            error = refused(ctx.join, value, resume="n", state=None)
            assert error.code == "fork_not_acknowledged"
            assert "not acknowledged" in str(error)
        other = WorkflowContext(payload(), Host())
        error = refused(ctx.join, ForkRef("f", ("a",), other), resume="n", state=None)
        assert error.code == "foreign_reference"
        assert refused(ctx.join, ref, resume="", state=None).code == "invalid_text"
        with pytest.raises(TypeError):
            ctx.join(ref, "n", None)

    within(call)


def test_a_fork_that_is_not_registered_yet_cannot_be_joined():
    async def call(ctx):
        waiter = asyncio.ensure_future(fork(ctx, "f", "a"))
        await asyncio.sleep(0)
        ref = ForkRef("f", ("a",), ctx)
        error = refused(ctx.join, ref, resume="n", state=None)
        assert error.code == "fork_not_acknowledged"
        await waiter

    within(call)


def test_a_fork_reference_is_frozen_and_no_child_reference():
    async def call(ctx):
        ref = await fork(ctx, "f", "a")
        for name in ("key", "branch_keys", "other"):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(ref, name, ())
        assert refused(ctx.get_result, ref).code == "invalid_reference"
        error = refused(ctx.suspend, continuation="n", state=None, until=[ref])
        assert error.code == "invalid_reference"
        assert repr(ref) == "ForkRef(key='f', branch_keys=('a',))"
        assert len({ref, ref, ForkRef("f", ("a",), ctx)}) == 2

    within(call)


def test_a_fork_that_was_cancelled_fails_the_activation():
    async def handler(ctx):
        waiter = asyncio.ensure_future(fork(ctx, "f", "a"))
        await asyncio.sleep(0)
        ctx._forks.owned[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        return ctx.complete(None)

    error = refused(play, handler)
    assert (error.code, error.key) == ("step_cancelled", "f")


def test_the_activation_goes_on_after_the_registration():
    host = Host()

    async def call(ctx):
        ref = await fork(ctx, "f", "a")
        value = await ctx.local("k", later, value=1)
        return ref.key, value

    assert within(call, host=host) == ("f", 1)
    assert [operation for operation, _ in host.requests] == [
        "workflow.fork",
        "local_step.commit",
    ]
