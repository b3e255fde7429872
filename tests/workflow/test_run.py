"""The door to the runner, the readable side of a context, and the public names."""

import asyncio
import gc
import json
import subprocess
import sys
from collections import Counter

import pytest

from ledgence.worker import workflow
from ledgence.worker._exceptions import ActivationError
from ledgence.worker.workflow import SCHEMA, WorkflowContext, workflow_context
from ledgence.worker.workflow._forks import Fork
from ledgence.worker.workflow._journal import Step
from ledgence.worker.workflow._run import run_activation
from tests.support.steps import Own, boom, echo, later
from tests.support.workflow import (
    EncodedHost,
    Host,
    Steps,
    canonical,
    payload,
    refused,
    task_child,
    within,
    workflow_child,
)

BRANCH = {"entrypoint": "e", "queue": "q", "data": None}
NAME = "tests.support.steps:echo"
EVENT = {"ldgtaskid": "act-1", "ldgactivationid": "act-1", "ldgworkflowid": "wf-1"}


def activate(handler, activation=None, event=None, host=None, steps=None):
    extension = {
        "schema": SCHEMA,
        "payload": payload() if activation is None else activation,
    }
    rpc = EncodedHost() if host is None else host
    main = run_activation(handler, event or EVENT, extension, rpc, steps)
    return asyncio.run(main)


def test_an_activation_gives_the_canonical_bytes_of_its_decision():
    def handler(event):
        return workflow_context().complete({"b": event["ldgtaskid"], "a": 1})

    decision = {
        "v": 1,
        "activation_id": "act-1",
        "revision": 0,
        "kind": "complete",
        "output": {"a": 1, "b": "act-1"},
    }
    assert activate(handler) == canonical(decision)


def test_a_handler_may_be_async_or_return_an_awaitable():
    async def handler(event):
        ctx = workflow_context()
        return ctx.complete(await ctx.local("k", later, value=5))

    def gives_an_awaitable(event):
        return handler(event)

    for given in (handler, gives_an_awaitable):
        assert json.loads(activate(given))["output"] == 5


def test_a_handler_may_return_a_step_that_yields_a_decision():
    def handler(event):
        ctx = workflow_context()
        return ctx.local("k", echo, value=ctx.complete("by a step"))

    assert json.loads(activate(handler))["output"] == "by a step"


@pytest.mark.parametrize(
    "changes",
    [{"activation": payload(v=2)}, {"event": {**EVENT, "ldgtaskid": "other"}}],
)
def test_an_invalid_activation_does_not_call_the_handler(changes):
    calls = []
    with pytest.raises(ActivationError):
        activate(calls.append, **changes)
    assert calls == []


def test_an_exception_of_the_handler_goes_on_when_all_work_has_ended():
    ended, kept = [], []

    async def fn():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def handler(event):
        kept.append(workflow_context())
        kept[0].local("k", fn)
        await asyncio.sleep(0)
        raise Own

    with pytest.raises(Own):
        activate(handler)
    assert ended == [True]
    assert kept[0].closed


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_other_exceptions_of_the_handler_go_on_too(error):
    kept = []

    def handler(event):
        kept.append(workflow_context())
        raise error

    with pytest.raises(type(error)):
        activate(handler)
    assert kept[0].closed


def test_a_cancelled_handler_goes_on_cancelled():
    async def handler(event):
        workflow_context().local("k", later, turns=10**6)
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        activate(handler)


def alive():
    kinds = WorkflowContext, Step, Fork, asyncio.Task
    return Counter(type(each) for each in gc.get_objects() if type(each) in kinds)


def test_an_activation_is_freed_without_the_collector():
    async def handler(event):
        ctx = workflow_context()
        await ctx.fork("f", branches=[ctx.branch("b", **BRANCH)])
        await ctx.local("new", echo, value=[1])
        return ctx.complete(await ctx.local("old", echo, value=2))

    old = {"key": "old", "callable": NAME, "input": {"value": 2}, "output": 2}
    activate(handler, payload(local_steps=[old]))  # what is loaded late stays loaded
    gc.collect()
    before = alive()
    gc.disable()
    try:
        activate(handler, payload(local_steps=[old]))
        assert alive() == before
    finally:
        gc.enable()


def test_an_unobserved_failure_and_a_bad_decision_fail_the_activation():
    def unobserved(event):
        ctx = workflow_context()
        ctx.local("k", boom)
        return ctx.complete(None)

    with pytest.raises(Own):
        activate(unobserved)
    assert refused(activate, lambda event: None).code == "not_a_decision"


def test_the_context_is_gone_after_the_activation():
    async def main():
        extension = {"schema": SCHEMA, "payload": payload()}

        def handler(event):
            return workflow_context().complete(None)

        await run_activation(handler, EVENT, extension, Host(), None)
        return refused(workflow_context).code

    assert asyncio.run(main()) == "no_activation"


def test_steps_are_observed():
    steps = Steps()

    def handler(event):
        ctx = workflow_context()
        ctx.local("k", echo)
        return ctx.complete(None)

    activate(handler, steps=steps)
    assert [(key, state) for key, _, state in steps.seen] == [("k", "returned")]


# What can be read.


def test_the_values_of_the_activation_can_be_read():
    wake = {"kind": "timer", "key": "k", "deadline": 1}
    activation = payload(
        revision=3,
        continuation="later",
        state={"b": 1, "a": [1]},
        inputs={"d": workflow_child(1), "c": task_child(None)},
        wake=wake,
        parent_workflow_id="p",
        root_workflow_id="r",
    )

    def call(ctx):
        assert (ctx.workflow_id, ctx.activation_id) == ("wf-1", "act-1")
        assert (ctx.revision, ctx.continuation, ctx.entrypoint) == (3, "later", "later")
        assert (ctx.parent_workflow_id, ctx.root_workflow_id) == ("p", "r")
        assert (ctx.state, ctx.inputs, ctx.wake) == (
            activation["state"],
            activation["inputs"],
            wake,
        )
        assert list(ctx.state) == ["a", "b"]
        assert list(ctx.inputs) == ["c", "d"]
        assert ctx.approval is None

    within(call, activation)


def test_every_read_is_a_fresh_copy_that_the_payload_does_not_share():
    activation = payload(
        state={"a": [1]},
        inputs={"c": task_child({"n": [1]})},
        wake={"kind": "timer", "key": "k", "deadline": 1},
    )

    def call(ctx):
        ctx.state["a"].append(9)
        ctx.inputs["c"]["outcome"]["output"]["n"].append(9)
        ctx.wake["key"] = "changed"
        activation["state"]["a"].append(9)
        activation["inputs"].clear()
        activation["wake"]["key"] = "changed"
        assert ctx.state == {"a": [1]}
        assert ctx.inputs["c"]["outcome"]["output"] == {"n": [1]}
        assert ctx.wake["key"] == "k"
        assert ctx.state is not ctx.state

    within(call, activation)


@pytest.mark.parametrize(
    "name",
    ["state", "inputs", "wake", "approval", "entrypoint", "workflow_id", "revision"],
)
def test_what_can_be_read_cannot_be_assigned(name):
    def call(ctx):
        with pytest.raises(AttributeError):
            setattr(ctx, name, 1)
        with pytest.raises(AttributeError):
            ctx.another = 1

    within(call)


def test_an_invalid_payload_makes_no_context():
    async def main():
        with pytest.raises(ActivationError):
            WorkflowContext({}, Host())

    asyncio.run(main())


# Names.

LIMITS = {
    "MAX_CONTEXT_BYTES": 655_360,
    "MAX_STATE_BYTES": 65_536,
    "MAX_COMMANDS": 64,
    "MAX_DECISION_BYTES": 262_144,
    "MAX_EVENT_BYTES": 65_536,
    "MAX_STEPS": 128,
    "MAX_RECORDS_BYTES": 262_144,
    "MAX_RECORD_BYTES": 131_072,
    "MAX_FORK_BYTES": 131_072,
    "MAX_APPROVAL_BYTES": 32_768,
    "MAX_WAIT_MS": 31_536_000_000,
    "MAX_TIMESTAMP": 253_402_300_799_999,
}
NAMES = [
    "SCHEMA",
    "WorkflowError",
    "OperationKind",
    "ApprovalStatus",
    "ApprovalAction",
    "ApprovalDecision",
    "Approval",
    "workflow_context",
    "get_workflow_context",
    "TaskRef",
    "WorkflowRef",
    "BranchSpec",
    "ForkRef",
    "Workflow",
    "WorkflowContext",
]
LATE = [
    "Command",
    "CompleteDecision",
    "ContinueDecision",
    "Decision",
    "FailDecision",
    "RetryPolicy",
    "Sizes",
    "SuspendDecision",
    "WaitDecision",
]


def test_the_public_names_are_those_of_the_contract():
    assert sorted(workflow.__all__) == sorted([*NAMES, *LIMITS])
    assert workflow.SCHEMA == "ledgence.workflow.activation.v1"
    for name in workflow.__all__:
        assert getattr(workflow, name) is not None


@pytest.mark.parametrize("name", LIMITS)
def test_the_limits_have_the_values_of_the_contract(name):
    assert getattr(workflow, name) == LIMITS[name]


@pytest.mark.parametrize("name", LATE)
def test_the_shapes_of_decisions_can_be_imported(name):
    assert getattr(workflow, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Unknown"):
        workflow.Unknown  # noqa: B018 # asking for it is the test


def test_tool_builders_encode_and_freeze_by_the_rules():
    value = {"b": (1,), "a": [1e-08]}
    assert workflow._encode(value, 100) == b'{"a":[1e-08],"b":[1]}'
    assert workflow._freeze(value, 100) == {"a": [1e-08], "b": [1]}
    assert list(workflow._freeze(value, 100)) == ["a", "b"]
    assert refused(workflow._encode, value, 20).code == "too_large"
    assert workflow._encode(value, 20, authoritative=True)
    assert refused(workflow._freeze, value, 100, 1).code == "too_deep"
    assert workflow._freeze(value, 20, max_depth=2, authoritative=True) == {
        "a": [1e-08],
        "b": [1],
    }


@pytest.mark.parametrize(
    "name", ["asyncio", "inspect", "typing", "dataclasses", "logging", "re", "hashlib"]
)
def test_importing_the_api_loads_no_heavy_module(name):
    code = (
        "import sys; before = set(sys.modules); import enum\n"
        f"seen = {name!r} in sys.modules\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import ledgence.worker.workflow\n"
        f"sys.exit({name!r} in sys.modules and not seen)"
    )
    from pathlib import Path

    root = Path(workflow.__file__).parents[3]
    command = [sys.executable, "-I", "-S", "-c", code, str(root)]
    assert subprocess.run(command, timeout=60).returncode == 0


def test_a_huge_text_is_refused_without_a_copy():
    import tracemalloc

    def call(ctx):
        value = "x" * (8 << 20)
        tracemalloc.start()
        try:
            error = refused(ctx.local, "k", echo, value=value)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert (error.code, error.argument) == ("too_large", "value")
        return peak

    assert within(call) < 256 * 1024
