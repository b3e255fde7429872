"""Decisions: what the methods make, and what a handler may return."""

import enum

import pytest

from ledgence.worker.workflow import TaskRef
from tests.support.workflow import (
    canonical,
    nest,
    payload,
    play,
    refused,
    within,
)

C = {"program": "p", "version": "1", "queue": "q", "data": None}
HEAD = {"v": 1, "activation_id": "act-1", "revision": 0}
NEXT = {"continuation": "n", "state": None}


class Word(enum.StrEnum):
    A = "a"
    WAIT = "wait"
    EVENT = "event"


def returned(value, activation=None):
    """What becomes of a value that the handler returns."""

    async def handler(ctx):
        return value(ctx) if callable(value) else value

    return play(handler, activation)


# Methods.

MADE = {
    "complete": (
        lambda ctx: ctx.complete({"b": (1,), "a": None}),
        {"kind": "complete", "output": {"a": None, "b": [1]}},
    ),
    "fail": (
        lambda ctx: ctx.fail("k", "m\n"),
        {"kind": "fail", "error": {"kind": "k", "message": "m\n"}},
    ),
    "continue": (
        lambda ctx: ctx.continue_(continuation="n", state={"s": 1}),
        {"kind": "continue", "continuation": "n", "state": {"s": 1}, "commands": []},
    ),
    "suspend": (
        lambda ctx: ctx.suspend(until=["b", TaskRef("a", ctx)], **NEXT),
        {"kind": "suspend", **NEXT, "commands": [], "until": ["b", "a"]},
    ),
    "suspend at once": (
        lambda ctx: ctx.suspend(**NEXT),
        {"kind": "suspend", **NEXT, "commands": [], "until": []},
    ),
    "event": (
        lambda ctx: ctx.wait_event("e", **NEXT),
        {
            "kind": "wait",
            **NEXT,
            "commands": [],
            "wait": {"kind": "event", "key": "e", "timeout_ms": None},
        },
    ),
    "event with a timeout": (
        lambda ctx: ctx.wait_event("e", timeout_ms=0, **NEXT),
        {
            "kind": "wait",
            **NEXT,
            "commands": [],
            "wait": {"kind": "event", "key": "e", "timeout_ms": 0},
        },
    ),
    "timer": (
        lambda ctx: ctx.sleep('s"', 31_536_000_000, **NEXT),
        {
            "kind": "wait",
            **NEXT,
            "commands": [],
            "wait": {"kind": "timer", "key": 's"', "delay_ms": 31_536_000_000},
        },
    ),
}


@pytest.mark.parametrize(("make", "wanted"), MADE.values(), ids=MADE)
def test_a_method_makes_a_plain_dict_that_is_accepted(make, wanted):
    def call(ctx):
        first, second = make(ctx), make(ctx)
        assert type(first) is dict
        assert first == second == {**HEAD, **wanted}
        assert first is not second
        assert list(first) == sorted(first)
        assert ctx._decide(first) == canonical({**HEAD, **wanted})

    within(call)
    assert returned(make) == {**HEAD, **wanted}


def test_a_decision_carries_the_identity_of_its_activation():
    activation = payload(activation_id="act-9", revision=7)
    found = returned(lambda ctx: ctx.complete(None), activation)
    assert (found["activation_id"], found["revision"]) == ("act-9", 7)


def test_a_decision_has_no_effect_until_it_is_returned():
    def handler(ctx):
        ctx.fail("k", "m")
        ctx.sleep("s", 1, **NEXT)
        ctx.complete(1)
        return ctx.continue_(continuation="n", state="kept")

    assert returned(handler)["state"] == "kept"


def test_a_decision_keeps_the_state_as_it_was_and_belongs_to_its_author():
    def call(ctx):
        state = {"a": [1]}
        decision = ctx.continue_(continuation="n", state=state)
        state["a"].append(2)
        assert decision["state"] == {"a": [1]}
        decision["state"]["a"].append(3)
        return ctx._validate_decision(decision)["state"]

    assert within(call) == {"a": [1, 3]}


@pytest.mark.parametrize("value", ["", "x" * 129, "a\n", "\ufdd0", None, 1, Word.A])
def test_an_unregistered_target_is_a_text(value):
    def call(ctx):
        here = {"continuation": value, "state": None}
        return {
            refused(ctx.continue_, **here).code,
            refused(ctx.suspend, **here).code,
            refused(ctx.wait_event, "e", **here).code,
            refused(ctx.sleep, "s", 1, **here).code,
        }

    assert within(call) == {"invalid_text"}


def test_a_state_has_65536_bytes_and_64_levels():
    def call(ctx):
        for state in ("x" * 65_534, nest(64), "é" * 32_767, [1e-8] * 10_922):
            ctx.continue_(continuation="n", state=state)
        for state in ("x" * 65_535, nest(65), [1e-8] * 10_923, object(), {1: 1}):
            error = refused(ctx.suspend, continuation="n", state=state)
            assert error.argument == "state"

    within(call)


@pytest.mark.parametrize("key", [None, "", "x" * 129, "a\n", 1])
def test_the_key_of_a_wait_is_a_text(key):
    def call(ctx):
        assert refused(ctx.wait_event, key, **NEXT).argument == "key"
        assert refused(ctx.sleep, key, 1, **NEXT).argument == "key"

    within(call)


@pytest.mark.parametrize("value", [-1, 31_536_000_001, True, 1.0, "1"])
def test_times_of_waits_are_at_most_a_year(value):
    def call(ctx):
        assert (
            refused(ctx.wait_event, "e", timeout_ms=value, **NEXT).argument
            == "timeout_ms"
        )
        assert refused(ctx.sleep, "s", value, **NEXT).argument == "delay_ms"
        assert refused(ctx.sleep, "s", None, **NEXT).argument == "delay_ms"

    within(call)


@pytest.mark.parametrize(
    ("until", "code"),
    [
        (None, "invalid_type"),
        ("ab", "invalid_type"),
        ({"a"}, "invalid_type"),
        (["a", "a"], "duplicate_key"),
        ([""], "invalid_text"),
        (["x" * 129], "invalid_text"),
        ([None], "invalid_reference"),
        ([["a"]], "invalid_reference"),
        ([str(i) for i in range(65)], "too_many"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_until_is_a_list_of_at_most_64_distinct_keys(until, code):
    error = within(lambda ctx: refused(ctx.suspend, until=until, **NEXT))
    assert (error.code, error.argument) == (code, "until")


def test_until_takes_64_keys_and_tuples():
    keys = tuple(str(i) for i in range(64))
    assert within(lambda ctx: ctx.suspend(until=keys, **NEXT))["until"] == list(keys)


def test_an_output_nests_64_deep_and_the_decision_has_262144_bytes():
    frame = len(canonical({**HEAD, "kind": "complete", "output": ""}))

    def call(ctx):
        assert ctx.complete(nest(64))["output"] == nest(64)
        error = refused(ctx.complete, nest(65))
        assert (error.code, error.argument, error.path) == (
            "too_deep",
            "output",
            "$" + "[0]" * 64,
        )
        assert ctx.complete("x" * (262_144 - frame))
        error = refused(ctx.complete, "x" * (262_144 - frame + 1))
        assert (error.code, error.argument, error.path) == ("too_large", "output", "$")
        assert (error.size, error.limit) == (262_145, 262_144)
        error = refused(ctx.complete, {"a": [object()]})
        assert (error.code, error.argument, error.path) == (
            "not_json",
            "output",
            "$.a[0]",
        )

    within(call)


def test_the_whole_of_a_checkpoint_has_262144_bytes():
    def size(ctx):
        return len(canonical(ctx.continue_(continuation="n", state="")))

    def call(ctx):
        ctx.task("k", **{**C, "data": "x" * 250_000})
        room = 262_144 - size(ctx)
        ctx.continue_(continuation="n", state="x" * room)
        error = refused(ctx.continue_, continuation="n", state="x" * (room + 1))
        assert (error.code, error.size, error.limit) == ("too_large", 262_145, 262_144)

    within(call)


@pytest.mark.parametrize(
    "message", ["x" * 4097, "é" * 2049, None, 1, b"m", Word.A, "\ud800"], ids=ascii
)
def test_a_failure_has_a_text_kind_and_a_message_of_4096_bytes(message):
    def call(ctx):
        assert refused(ctx.fail, "k", message).argument == "message"
        for kind in ("", "x" * 129, "a\n", None, 1, Word.A):
            assert refused(ctx.fail, kind, "m").argument == "kind"
        for good in ("", "x" * 4096, "é" * 2048, "\x00"):
            assert ctx.fail("x" * 128, good)["error"]["message"] == good

    within(call)


def test_complete_is_refused_while_commands_are_staged():
    def call(ctx):
        early = ctx.complete(1)
        ctx.task("k", **C)
        error = refused(ctx.complete, 1)
        assert error.code == "commands_dropped"
        assert "staged child commands" in str(error)
        assert refused(ctx._decide, early).code == "commands_dropped"
        assert ctx._decide(ctx.fail("k", ""))

    within(call)


def test_a_decision_that_was_made_before_a_staging_is_stale():
    def call(ctx):
        old = [
            ctx.suspend(**NEXT),
            ctx.continue_(**NEXT),
            ctx.wait_event("e", **NEXT),
            ctx.sleep("s", 1, **NEXT),
        ]
        ctx.task("late", **C)
        for decision in old:
            error = refused(ctx._decide, decision)
            assert error.code == "stale_decision"
            assert "staged child commands" in str(error)
        assert ctx._decide(ctx.continue_(**NEXT))

    within(call)


def test_a_changed_command_is_stale():
    def call(ctx):
        ctx.task("k", **{**C, "data": {"n": 1}})
        for change in (
            lambda commands: commands.clear(),
            lambda commands: commands.append(commands[0]),
            lambda commands: commands[0].update(queue="other"),
            lambda commands: commands[0]["data"].update(n=1.0),
            lambda commands: commands[0]["data"].update(n=object()),
        ):
            decision = ctx.continue_(**NEXT)
            change(decision["commands"])
            assert refused(ctx._decide, decision).code == "stale_decision"
        decision = ctx.continue_(**NEXT)
        decision["commands"] = tuple(decision["commands"])
        assert ctx._decide(decision) == canonical(decision)

    within(call)


# What the handler returns.

ACTION = {"name": "a", "version": "1", "arguments": {}}


def hand(kind, **members):
    return {**HEAD, "kind": kind, **members}


def hand_wait(**wait):
    return hand("wait", **NEXT, commands=[], wait=wait)


GOOD = {
    "complete": hand("complete", output=(1, 2)),
    "fail": hand("fail", error={"any": ["json"]}),
    "continue": hand("continue", **NEXT, commands=()),
    "suspend": hand("suspend", **NEXT, commands=[], until={"any": "json"}),
    "deep until": hand("suspend", **NEXT, commands=[], until=nest(95)),
    "deep error": hand("fail", error=nest(95)),
    "timer": hand_wait(kind="timer", key="s", delay_ms=0),
    "event": hand_wait(kind="event", key="e", timeout_ms=None),
    "approval": hand_wait(kind="approval", key="k", action=ACTION, timeout_ms=1),
    "null proposal": hand_wait(
        kind="approval", key="k", action=ACTION, timeout_ms=1, proposed_arguments=None
    ),
    "proposal": hand_wait(
        kind="approval",
        key="k",
        action=ACTION,
        timeout_ms=1,
        proposed_arguments={"a": 1},
    ),
}


@pytest.mark.parametrize("value", GOOD.values(), ids=GOOD)
def test_a_hand_built_decision_of_the_exact_shape_is_as_good(value):
    def call(ctx):
        return ctx._decide(value), ctx._validate_decision(value)

    encoded, copied = within(call)
    assert encoded == canonical(value)
    assert canonical(copied) == encoded


class Mapping(dict):
    pass


NO_DECISIONS = [
    None,
    1,
    "x",
    [],
    True,
    {},
    {"kind": 1},
    {"kind": "other"},
    {"kind": []},
    Mapping(GOOD["complete"]),
    [GOOD["complete"]],
    {**GOOD["complete"], "kind": Word.A},
]


@pytest.mark.parametrize("value", NO_DECISIONS, ids=lambda value: str(value)[:40])
def test_anything_else_is_no_decision(value):
    error = refused(returned, lambda ctx: value)
    assert error.code == "not_a_decision"


BAD = {
    "identity only": hand("complete"),
    "extra": hand("complete", output=1, more=1),
    "continue until": hand("continue", **NEXT, commands=[], until=[]),
    "suspend without": hand("suspend", **NEXT, commands=[]),
    "enum name": {**{k: v for k, v in GOOD["continue"].items() if k != "state"}}
    | {type("S", (str,), {})("state"): None},
    "version": {**GOOD["complete"], "v": 2},
    "version bool": {**GOOD["complete"], "v": True},
    "version float": {**GOOD["complete"], "v": 1.0},
    "revision": {**GOOD["complete"], "revision": 1},
    "revision bool": {**GOOD["complete"], "revision": False},
    "revision float": {**GOOD["complete"], "revision": 0.0},
    "activation": {**GOOD["complete"], "activation_id": "other"},
    "activation none": {**GOOD["complete"], "activation_id": None},
    "no json": {**GOOD["complete"], "output": float("nan")},
    "empty target": {**GOOD["continue"], "continuation": ""},
    "enum target": {**GOOD["continue"], "continuation": Word.A},
    "state": {**GOOD["continue"], "state": object()},
    "until no json": {**GOOD["suspend"], "until": object()},
    "error no json": {**GOOD["fail"], "error": {1: 2}},
    "no wait": {**GOOD["timer"], "wait": None},
    "unknown wait": hand_wait(kind="other", key="k"),
    "enum wait": hand_wait(kind=Word.EVENT, key="e", timeout_ms=None),
    "timer none": hand_wait(kind="timer", key="s", delay_ms=None),
    "timer extra": hand_wait(kind="timer", key="s", delay_ms=1, more=1),
    "event without": hand_wait(kind="event", key="e"),
    "event key": hand_wait(kind="event", key="", timeout_ms=1),
    "approval none": hand_wait(
        kind="approval", key="k", action=ACTION, timeout_ms=None
    ),
    "approval action": hand_wait(kind="approval", key="k", action={}, timeout_ms=1),
    "approval proposal": hand_wait(
        kind="approval", key="k", action=ACTION, timeout_ms=1, proposed_arguments=[]
    ),
    "approval without": hand_wait(kind="approval", key="k", timeout_ms=1),
}


@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
def test_a_decision_of_another_shape_is_not_valid(value):
    error = refused(returned, lambda ctx: value)
    assert error.code in ("invalid_decision", "not_json")


LARGE = {
    "output": {**GOOD["complete"], "output": "x" * 262_144},
    "deep output": {**GOOD["complete"], "output": nest(65)},
    "error": {**GOOD["fail"], "error": "x" * 262_144},
    "deep error": {**GOOD["fail"], "error": nest(96)},
    "state": {**GOOD["continue"], "state": "x" * 65_535},
    "deep state": {**GOOD["continue"], "state": nest(65)},
    "until": {**GOOD["suspend"], "until": "x" * 262_144},
    "until with the rest": {**GOOD["suspend"], "until": "x" * 262_100},
    "deep until": {**GOOD["suspend"], "until": nest(96)},
}


@pytest.mark.parametrize("value", LARGE.values(), ids=LARGE)
def test_a_decision_beyond_the_limits_is_refused(value):
    error = refused(returned, lambda ctx: value)
    assert error.code in ("too_large", "too_deep")
    assert error.limit is not None


def test_an_approval_action_object_in_a_hand_built_wait_is_no_json():
    from ledgence.worker.workflow import ApprovalAction

    action = ApprovalAction("a", version="1", arguments={})
    value = hand_wait(kind="approval", key="k", action=action, timeout_ms=1)
    assert refused(returned, lambda ctx: value).code == "invalid_decision"


def test_a_harmless_copy_is_accepted():
    assert returned(lambda ctx: dict(ctx.complete(1)))["output"] == 1


def test_a_long_activation_id_is_no_part_of_the_output():
    activation = payload(activation_id="é" * 64)
    assert (
        returned(lambda ctx: ctx.complete(1), activation)["activation_id"] == "é" * 64
    )
