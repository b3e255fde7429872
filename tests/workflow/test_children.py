"""Tasks and subworkflows: commands, staging, references, results."""

import enum
import inspect

import pytest

from ledgence.worker.workflow import TaskRef, WorkflowContext, WorkflowRef
from tests.support.ids import stable
from tests.support.workflow import (
    Host,
    canonical,
    failed_child,
    nest,
    payload,
    play,
    refused,
    task_child,
    within,
    workflow_child,
)

C = {"program": "p", "version": "1", "queue": "q", "data": None}
POLICY = {"max_attempts": 3, "retry_delay_ms": 5000}


class Word(enum.StrEnum):
    A = "a"


def policy(attempts, delay):
    return {"max_attempts": attempts, "retry_delay_ms": delay}


def staged(*calls):
    """The commands that some calls stage."""

    def call(ctx):
        for stage in calls:
            stage(ctx)
        return ctx._commands

    return within(call)


def stages(key="k", kind="task", **changes):
    return lambda ctx: getattr(ctx, kind)(key, **{**C, **changes})


def fault(**changes):
    return within(lambda ctx: refused(stages(**changes), ctx))


def test_a_task_command_has_all_members_with_the_defaults():
    assert staged(
        stages(program="invoice-issuer", version="1.0.0", data={"b": 1, "a": (2,)})
    ) == [
        {
            "key": "k",
            "program": {"id": "invoice-issuer", "version": "1.0.0"},
            "queue": "q",
            "data": {"a": [2], "b": 1},
            "retry_policy": POLICY,
            "attempt_timeout_ms": 300_000,
        }
    ]


def test_a_workflow_command_has_the_kind_as_well():
    (command,) = staged(
        stages(kind="workflow", retry_policy=policy(1, 0), attempt_timeout_ms=60_000)
    )
    assert command["kind"] == "workflow"
    assert command["retry_policy"] == policy(1, 0)
    assert command["attempt_timeout_ms"] == 60_000


def test_a_command_is_kept_in_canonical_bytes():
    def call(ctx):
        stages('k"é', "workflow", queue='q"', data=[1.0])(ctx)
        return ctx._children.encoded(), ctx._commands

    encoded, commands = within(call)
    assert encoded == canonical(commands)


def test_references_have_a_key_and_are_not_awaitable():
    def call(ctx):
        task, workflow = ctx.task("t", **C), ctx.workflow("w", **C)
        assert (type(task), type(workflow)) == (TaskRef, WorkflowRef)
        assert isinstance(workflow, TaskRef)
        assert (task.key, workflow.key) == ("t", "w")
        assert not inspect.isawaitable(task)
        assert repr(workflow) == "WorkflowRef('w')"
        assert task != ctx.task("t", **C)
        assert ctx.task("t", **C).key == "t"

    within(call)


def test_a_reference_can_be_subscripted_in_annotations():
    assert TaskRef[int] is not None
    assert isinstance(WorkflowRef[dict]("k", None), TaskRef)


@pytest.mark.parametrize("name", ["program", "version"])
@pytest.mark.parametrize(
    "value",
    ["", ".", "..", "A", "a b", "a/b", "a\n", "é", "a" * 129, None, 1, Word.A, b"a"],
    ids=stable,
)
def test_program_and_version_are_slugs(name, value):
    error = fault(**{name: value})
    assert (error.code, error.argument, error.key) == ("invalid_text", name, "k")


@pytest.mark.parametrize("value", ["a", "0", "-", "_", "...", "a" * 128, ".a"])
def test_other_programs_and_versions_are_taken(value):
    assert staged(stages(program=value, version=value))


@pytest.mark.parametrize("value", ["", "x" * 129, "a\n", None, 1, "\ufdd0", "\ud800"])
def test_key_and_queue_are_texts(value):
    assert fault(key=value).argument == "key"
    assert fault(queue=value).argument == "queue"


def test_the_longest_and_the_approval_key_are_taken():
    assert staged(stages("x" * 128, queue="x" * 128), stages("_approval:x"))


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"max_attempts": 1},
        {**policy(1, 0), "more": 1},
        policy(0, 0),
        policy(1001, 0),
        policy(1, -1),
        policy(1, 86_400_001),
        policy(True, 0),
        policy(1, False),
        policy(1.0, 0),
        policy("1", 0),
        policy(None, 0),
        [],
        "x",
        5,
        type("D", (dict,), {})(policy(1, 0)),
        {**policy(1, 0), "x" * 2000: 1},
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_retry_policy_has_two_bounded_integers(value):
    error = fault(retry_policy=value)
    assert error.argument.startswith("retry_policy")


@pytest.mark.parametrize("value", [policy(1, 0), policy(1000, 86_400_000), None])
def test_policies_within_the_bounds_are_taken(value):
    assert staged(stages(retry_policy=value))[0]["retry_policy"] == (value or POLICY)


@pytest.mark.parametrize(
    "value", [59_999, 86_400_001, 0, -1, True, 60_000.0, "60000", None]
)
def test_an_attempt_timeout_is_a_minute_to_a_day(value):
    assert fault(attempt_timeout_ms=value).argument == "attempt_timeout_ms"


@pytest.mark.parametrize("value", [60_000, 86_400_000])
def test_timeouts_within_the_bounds_are_taken(value):
    assert staged(stages(attempt_timeout_ms=value))[0]["attempt_timeout_ms"] == value


@pytest.mark.parametrize(
    "data", [object(), float("nan"), nest(65), {1: 2}, 2**64, "\ud800"], ids=stable
)
def test_data_is_json_of_64_levels(data):
    error = fault(data=data)
    assert (error.argument, error.key) == ("data", "k")
    assert staged(stages(data=nest(64)))


def test_the_call_shape_is_pythons():
    def call(ctx):
        with pytest.raises(TypeError):
            ctx.task("k", "p", "1", "q", None)
        for name in C:
            with pytest.raises(TypeError):
                ctx.workflow("k", **{k: v for k, v in C.items() if k != name})

    within(call)


def test_data_is_frozen_at_the_call():
    def call(ctx):
        data, retry = {"v": [1]}, policy(2, 7)
        ctx.task("k", **{**C, "data": data}, retry_policy=retry)
        data["v"].append(2)
        retry["max_attempts"] = 9
        return ctx._commands[0]

    command = within(call)
    assert command["data"] == {"v": [1]}
    assert command["retry_policy"] == policy(2, 7)


def test_the_same_command_is_staged_once():
    assert (
        len(
            staged(
                stages(data={"a": 1, "b": 2}),
                stages(
                    data={"b": 2, "a": 1},
                    retry_policy=POLICY,
                    attempt_timeout_ms=300_000,
                ),
            )
        )
        == 1
    )


CHANGES = {
    "number class": {"data": {"a": 1.0}},
    "bool": {"data": {"a": True}},
    "program": {"program": "x"},
    "version": {"version": "2"},
    "queue": {"queue": "x"},
    "timeout": {"attempt_timeout_ms": 60_000},
    "policy": {"retry_policy": policy(1, 0)},
    "kind": {"kind": "workflow"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_command_under_the_key_conflicts(change):
    def call(ctx):
        stages(data={"a": 1})(ctx)
        error = refused(stages(**{"data": {"a": 1}, **change}), ctx)
        assert len(ctx._commands) == 1
        return error

    error = within(call)
    assert (error.code, error.key) == ("binding_changed", "k")
    assert "different binding" in str(error)
    assert error.diff


def test_at_most_64_commands_of_both_kinds_are_staged():
    def call(ctx):
        for i in range(64):
            stages(str(i), "workflow" if i % 2 else "task")(ctx)
        error = refused(stages("more"), ctx)
        assert (error.code, error.limit, error.key) == ("too_many", 64, "more")
        assert "too many" in str(error)
        stages("0")(ctx)

    within(call)


def test_all_commands_have_at_most_262144_bytes():
    frame = len(canonical(staged(stages(data=""))))
    room = 262_144 - frame
    assert staged(stages(data="x" * room))
    error = fault(data="x" * (room + 1))
    assert (error.code, error.size, error.limit) == ("too_large", 262_145, 262_144)

    def call(ctx):
        stages("a", data="x" * 100_000)(ctx)
        stages("b", data="x" * 100_000)(ctx)
        assert refused(stages("c", data="x" * 100_000), ctx).code == "too_large"
        return [command["key"] for command in ctx._commands]

    assert within(call) == ["a", "b"]


def test_a_decision_carries_the_commands_in_the_order_of_first_staging():
    async def handler(ctx):
        stages("b")(ctx)
        stages("a", "workflow")(ctx)
        stages("b")(ctx)
        return ctx.continue_(continuation="n", state=None)

    assert [c["key"] for c in play(handler)["commands"]] == ["b", "a"]


# Results.


def inputs(**children):
    return payload(inputs=children)


def test_a_result_is_a_fresh_copy_of_the_output():
    def call(ctx):
        first = ctx.get_result("c")
        first["n"].append(2)
        return ctx.get_result("c")

    assert within(call, inputs(c=task_child({"n": [1]}))) == {"n": [1]}


def test_a_result_may_be_longer_here():
    value = [1e-08] * 50_000
    assert within(lambda ctx: ctx.get_result("c"), inputs(c=task_child(value))) == value


def test_a_reference_reads_a_child_of_its_kind():
    def call(ctx):
        task, workflow = ctx.task("t", **C), ctx.workflow("w", **C)
        assert (ctx.get_result(task), ctx.get_result(workflow)) == (1, 2)
        for ref in (TaskRef("w", ctx), WorkflowRef("t", ctx)):
            error = refused(ctx.get_result, ref)
            assert (error.code, error.key) == ("child_kind", ref.key)
            assert "kind does not match" in str(error)

    within(call, inputs(t=task_child(1), w=workflow_child(2)))


def test_an_unknown_child_has_no_result():
    error = within(lambda ctx: refused(ctx.get_result, "c"))
    assert (error.code, error.key) == ("child_unknown", "c")


APPLICATION = {"kind": "application", "error": {"kind": "K", "message": "m" * 500}}
WORKFLOW_FAILED = {
    "kind": "workflow",
    "workflow_id": "w",
    "state": "failed",
    "outcome": {"kind": "failed", "error": {"kind": "K", "message": "why"}},
}
CANCELLED = {"task_id": "t", "state": "cancelled", "outcome": {"kind": "cancelled"}}


@pytest.mark.parametrize(
    ("child", "words"),
    [
        (failed_child(APPLICATION), "failed, K: " + "m" * 200),
        (
            failed_child({"kind": "attempt_lost"}, quiescence="unconfirmed"),
            "failed, attempt_lost",
        ),
        (WORKFLOW_FAILED, "failed, K: why"),
        (CANCELLED, ": cancelled"),
    ],
    ids=["application", "lost", "workflow", "cancelled"],
)
def test_a_child_that_did_not_succeed_has_no_result(child, words):
    error = within(lambda ctx: refused(ctx.get_result, "c"), inputs(c=child))
    assert (error.code, error.key) == ("child_not_succeeded", "c")
    assert "did not succeed" in str(error)
    assert words in str(error).splitlines()[0]


@pytest.mark.parametrize("ref", [None, 1, ("c",), b"c", Word.A], ids=stable)
def test_only_references_and_keys_name_a_child(ref):
    error = within(lambda ctx: refused(ctx.get_result, ref))
    assert (error.code, error.argument) == ("invalid_reference", "ref")


@pytest.mark.parametrize("key", ["", "x" * 129, "a\n"])
def test_a_key_is_a_text_also_in_a_reference(key):
    def call(ctx):
        assert refused(ctx.get_result, key).code == "invalid_text"
        assert refused(ctx.get_result, TaskRef(key, ctx)).code == "invalid_text"

    within(call)


def test_a_reference_of_another_activation_is_refused():
    def call(ctx):
        other = WorkflowContext(payload(), Host())
        ref = other.task("c", **C)
        for refusing in (
            lambda: ctx.get_result(ref),
            lambda: ctx.suspend(continuation="n", state=None, until=[ref]),
        ):
            error = refused(refusing)
            assert (error.code, error.key) == ("foreign_reference", "c")
            assert "another activation" in str(error)

    within(call, inputs(c=task_child()))
