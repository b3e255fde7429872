"""Registered entrypoints."""

import asyncio
import enum

import pytest

from ledgence.worker._exceptions import RegistryError
from ledgence.worker.workflow import Workflow, workflow_context
from tests.support.ids import stable
from tests.support.steps import echo
from tests.support.workflow import arefused, payload, play, refused, within


class Entry(enum.StrEnum):
    START = "begin"
    NEXT = "next"


class Other(enum.StrEnum):
    START = "begin"
    NEXT = "next"


def handler_of(event, ctx):
    return ctx.complete("ran")


def build(entries=Entry, default=Entry.START, handler=handler_of):
    flow = Workflow(entries)
    for entry in entries:
        flow.entrypoint(entry, default=entry is default)(handler)
    return flow.build()


def run(built, activation=None):
    async def handler(ctx):
        return await built({"data": 42})

    return play(handler, activation)


def test_start_selects_the_default_and_other_continuations_the_value():
    flow = Workflow(Entry)
    seen = []

    @flow.entrypoint(Entry.START, default=True)
    def start(event, ctx):
        seen.append(
            (ctx.entrypoint, ctx.continuation, event, ctx is workflow_context())
        )
        return ctx.continue_(continuation=Entry.NEXT, state=None)

    @flow.entrypoint(Entry.NEXT)
    async def following(event, ctx):
        seen.append((ctx.entrypoint, ctx.continuation))
        return ctx.complete(ctx.state)

    built = flow.build()
    assert asyncio.iscoroutinefunction(built)
    assert run(built)["continuation"] == "next"
    assert run(built, payload(continuation="begin"))["kind"] == "continue"
    assert run(built, payload(continuation="next", state=5))["output"] == 5
    assert seen == [
        (Entry.START, "start", {"data": 42}, True),
        (Entry.START, "begin", {"data": 42}, True),
        (Entry.NEXT, "next"),
    ]


@pytest.mark.parametrize("continuation", ["missing", "NEXT", "START"])
def test_an_unknown_continuation_is_refused(continuation):
    error = refused(run, build(), payload(continuation=continuation))
    assert error.code == "unknown_entrypoint"
    assert "unknown workflow entrypoint" in str(error)
    assert continuation in str(error)


def test_handlers_are_sync_async_or_return_an_awaitable():
    async def later(event, ctx):
        return ctx.complete("later")

    def gives_an_awaitable(event, ctx):
        return later(event, ctx)

    for handler in (later, gives_an_awaitable):
        assert run(build(handler=handler))["output"] == "later"

    def fails(event, ctx):
        raise KeyError("x")

    with pytest.raises(KeyError):
        run(build(handler=fails))
    error = refused(run, build(handler=lambda event, ctx: None))
    assert error.code == "not_a_decision"


class Aliased(enum.StrEnum):
    A = "a"
    B = "a"


class Empty(enum.StrEnum):
    pass


class Newline(enum.StrEnum):
    A = "a\n"


class Blank(enum.StrEnum):
    A = ""


class Long(enum.StrEnum):
    A = "x" * 129


class Plain(enum.Enum):
    A = "a"


class Mixed(str, enum.Enum):  # noqa: UP042 # a str with members is no StrEnum
    A = "a"


class Whole(enum.IntEnum):
    A = 1


@pytest.mark.parametrize(
    "entries",
    [
        None,
        str,
        "Entry",
        enum.StrEnum,
        Plain,
        Mixed,
        Whole,
        Empty,
        Aliased,
        Newline,
        Blank,
        Long,
        Entry.START,
        [Entry],
        list[int],
    ],
    ids=stable,
)
def test_entries_are_a_str_enum_of_distinct_texts(entries):
    error = refused(Workflow, entries)
    assert isinstance(error, RegistryError)
    assert error.code == "registry_enum"


def test_the_longest_values_are_taken():
    class Longest(enum.StrEnum):
        A = "x" * 128

    assert Workflow(Longest)
    with pytest.raises(TypeError):
        Workflow()


@pytest.mark.parametrize("entry", [Other.START, "begin", None, Entry, echo], ids=stable)
def test_an_entrypoint_is_a_member_of_the_enum(entry):
    error = refused(Workflow(Entry).entrypoint, entry)
    assert error.code == "registry_entry"
    assert "enum family" in str(error)


@pytest.mark.parametrize("default", [1, None, "x"])
def test_a_default_is_an_exact_bool(default):
    flow = Workflow(Entry)
    error = refused(lambda: flow.entrypoint(Entry.START, default=default))
    assert (error.code, error.argument) == ("registry_flag", "default")
    with pytest.raises(TypeError):
        flow.entrypoint(Entry.START, True)


@pytest.mark.parametrize("handler", [None, 1, "x"])
def test_a_handler_is_callable(handler):
    error = refused(Workflow(Entry).entrypoint(Entry.START), handler)
    assert error.code == "registry_callable"
    assert "callable" in str(error)


def test_a_handler_is_returned_unchanged_and_registered_once():
    flow = Workflow(Entry)
    assert flow.entrypoint(Entry.START, default=True)(handler_of) is handler_of
    error = refused(flow.entrypoint(Entry.START), handler_of)
    assert (error.code, "duplicate" in str(error)) == ("registry_duplicate", True)
    error = refused(flow.build)
    assert (error.code, "requires a handler" in str(error)) == (
        "registry_incomplete",
        True,
    )
    assert "NEXT" in str(error)


def test_a_built_registry_is_frozen():
    flow = Workflow(Entry)
    flow.entrypoint(Entry.START, default=True)(handler_of)
    late = flow.entrypoint(Entry.NEXT)
    flow.entrypoint(Entry.NEXT)(handler_of)
    built = flow.build()
    assert flow.build() is built
    for call in (lambda: late(handler_of), lambda: flow.entrypoint(Entry.NEXT)):
        error = refused(call)
        assert (error.code, "frozen" in str(error)) == ("registry_frozen", True)


@pytest.mark.parametrize(
    "defaults", [(), (Entry.START, Entry.NEXT)], ids=["none", "two"]
)
def test_exactly_one_default_is_required(defaults):
    flow = Workflow(Entry)
    for entry in Entry:
        flow.entrypoint(entry, default=entry in defaults)(handler_of)
    error = refused(flow.build)
    assert error.code == "registry_default"
    assert "exactly one default" in str(error)


def test_a_refused_build_can_be_completed():
    flow = Workflow(Entry)
    flow.entrypoint(Entry.NEXT)(handler_of)
    refused(flow.build)
    flow.entrypoint(Entry.START, default=True)(handler_of)
    assert run(flow.build())["output"] == "ran"


class Literal(enum.StrEnum):
    START = "start"
    B = "b"


def test_a_member_with_the_value_start_must_be_the_default():
    error = refused(build, Literal, Literal.B)
    assert error.code == "registry_start"
    assert "start entrypoint must be the default" in str(error)
    assert run(build(Literal, Literal.START))["output"] == "ran"
    assert (
        run(build(Literal, Literal.START), payload(continuation="b"))["output"] == "ran"
    )


ACTION = {"name": "a", "version": "1", "arguments": {}}


@pytest.mark.parametrize("value", [Other.NEXT, "next", 1, "", None], ids=stable)
def test_a_registered_context_takes_only_members_of_its_enum(value):
    codes = []

    async def handler(event, ctx):
        spec = ctx.branch("x", entrypoint=Entry.NEXT, queue="q", data=None)
        ref = await ctx.fork("f", branches=[spec])
        here = {"continuation": value, "state": None}
        ask = {"action": ACTION, "state": None, "timeout_ms": 1}
        codes.extend(
            refused(call).code
            for call in (
                lambda: ctx.continue_(**here),
                lambda: ctx.suspend(**here),
                lambda: ctx.wait_event("e", **here),
                lambda: ctx.sleep("s", 1, **here),
                lambda: ctx.branch("b", entrypoint=value, queue="q", data=None),
                lambda: ctx.join(ref, resume=value, state=None),
            )
        )
        error = refused(lambda: ctx.request_approval("r", continuation=value, **ask))
        assert error.argument == "continuation"
        return ctx.continue_(continuation=Entry.NEXT, state=None)

    assert run(build(handler=handler))["continuation"] == "next"
    assert set(codes) == {"invalid_target"}


def test_the_error_of_a_wrong_target_names_the_enum():
    def handler(event, ctx):
        error = refused(ctx.continue_, continuation="next", state=None)
        assert "enum family" in str(error)
        assert "a member of Entry" in str(error)
        return ctx.complete(None)

    run(build(handler=handler))


@pytest.mark.parametrize(
    ("value", "code"),
    [("begin", None), ("start", "invalid_decision"), ("missing", "invalid_decision")],
)
def test_a_hand_changed_continuation_must_be_registered(value, code):
    def handler(event, ctx):
        return {
            **ctx.continue_(continuation=Entry.NEXT, state=None),
            "continuation": value,
        }

    if code is None:
        assert run(build(handler=handler))["continuation"] == value
    else:
        assert refused(run, build(handler=handler)).code == code


def test_a_branch_of_before_must_be_registered_when_it_is_forked():
    async def handler(event, ctx):
        error = await arefused(ctx.fork("f", branches=[kept[0]]))
        assert (error.code, error.argument) == ("invalid_target", "branches")
        await ctx.fork("g", branches=[kept[1]])
        return ctx.complete(None)

    built, kept = build(handler=handler), []

    async def outer(ctx):
        kept.append(ctx.branch("a", entrypoint="free", queue="q", data=None))
        kept.append(ctx.branch("b", entrypoint="next", queue="q", data=None))
        return await built(None)

    play(outer)


def test_one_built_handler_runs_in_an_activation():
    first, second = build(), build(Other, Other.START)

    async def handler(ctx):
        decision = await first(None)
        for built in (first, second):
            assert (await arefused(built(None))).code == "registry_bound"
        assert ctx.entrypoint is Entry.START
        return decision

    for _ in range(2):
        assert play(handler)["output"] == "ran"


def test_an_unknown_entrypoint_binds_nothing():
    async def handler(ctx):
        assert (await arefused(build(Literal, Literal.START)(None))).code == (
            "unknown_entrypoint"
        )
        return await build()(None)

    assert play(handler, payload(continuation="next"))["output"] == "ran"


def test_a_built_handler_needs_an_active_workflow():
    with pytest.raises(RegistryError.__mro__[2]):
        asyncio.run(build()(None))


def test_a_built_handler_is_a_control_call():
    built = build()

    async def inside():
        return (await arefused(built(None))).code

    async def handler(ctx):
        assert await ctx.local("k", inside) == "inside_callable"
        assert await asyncio.to_thread(lambda: asyncio.run(inside())) == "wrong_loop"
        assert ctx.entrypoint == "start"
        return await built(None)

    assert play(handler)["output"] == "ran"


def test_nothing_of_a_registry_stays_in_the_process():
    assert run(build())["output"] == "ran"

    def call(ctx):
        assert ctx.entrypoint == "start"
        assert type(ctx.entrypoint) is str
        return ctx.continue_(continuation="free", state=None)["continuation"]

    assert within(call) == "free"


def test_a_workflow_can_be_subscripted_in_annotations():
    assert Workflow[Entry] is not None
