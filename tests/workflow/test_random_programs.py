"""Random legal programs against a model of the journal and of the wire.

A program is a list of operations: start a step, await some, gather, stage a child,
fork, decide. The model knows bindings, records, commands and branch keys as plain dicts
of canonical bytes; it says for every operation whether it must be refused, and what the
host must see in which order. Every program is then run again on what the host has
stored, and again after a crash in its middle.
"""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgence.worker._exceptions import AcknowledgementError, BindingError
from ledgence.worker.workflow import OperationKind, TaskRef
from tests.support.workflow import (
    EncodedHost,
    acknowledgement,
    canonical,
    payload,
    play,
)
from tests.workflow.test_sizes import JSON

HERE = __name__


class Own(Exception):
    pass


def echo(value):
    return value


def pair(value, other=0):
    return {"pair": [value, other], "a": None}


async def slow(value):
    await asyncio.sleep(0)
    return [value]


def fails(value):
    raise Own(value)


FUNCTIONS = {"echo": echo, "pair": pair, "slow": slow, "fails": fails}
OUTPUTS = {
    "echo": lambda value: value,
    "pair": lambda value: {"pair": [value, 0], "a": None},
    "slow": lambda value: [value],
}
KEYS = st.sampled_from(["a", "b", "c", "d", 'e"\u00e9', "f"])
SMALL = st.sampled_from([0, 1, 1.0, True, None, "x", -0.0, 0.0]) | JSON
STARTS = st.tuples(
    st.just("start"),
    KEYS,
    st.sampled_from(["echo", "pair", "fails"]),
    SMALL,
    st.booleans(),  # as an operation
)
OPERATIONS = STARTS | st.one_of(
    st.tuples(st.just("await"), KEYS),
    st.tuples(st.just("gather"), st.lists(KEYS, max_size=4)),
    st.tuples(st.just("stage"), KEYS, st.booleans(), SMALL),
    st.tuples(
        st.just("fork"), KEYS, st.lists(KEYS, min_size=1, max_size=3, unique=True)
    ),
    st.tuples(st.just("turn")),
)
DECISIONS = st.sampled_from(
    ["suspend", "continue", "event", "timer", "complete", "fail"]
)


class Model:
    """What must happen, in plain dicts of canonical bytes."""

    def __init__(self, records):
        self.bindings = {
            record["key"]: (record["callable"], canonical(record["input"]))
            for record in records
        }
        self.replayed = {record["key"]: record["output"] for record in records}
        self.outputs = {}
        self.commands = {}
        self.branches = {}
        self.forks = {}
        self.wire = []

    def start(self, key, name, value, is_operation):
        """Return whether the call is refused; note what is sent for it."""
        arguments = {"value": value}
        callable_, input_, sent = f"{HERE}:{name}", arguments, None
        if is_operation:
            callable_ = f"tool:{callable_}"
            arguments = {"value": value, "other": 0} if name == "pair" else arguments
            input_ = {"v": 1, "kind": "tool", "version": "1", "arguments": arguments}
            inner = canonical(arguments)
            sent = b'{"v":1,"kind":"tool","version":"1","arguments":%b}' % inner
        binding = (callable_, canonical(input_))
        known = self.bindings.setdefault(key, binding)
        if known != binding:
            return True
        if key in self.replayed:
            self.outputs[key] = self.replayed[key]
        elif key not in self.outputs:
            if name == "fails":
                self.outputs[key] = Own
            else:
                self.outputs[key] = OUTPUTS[name](value)
                parts = canonical(key), canonical(callable_), sent or canonical(input_)
                output = canonical(self.outputs[key])
                frame = b'{"key":%b,"callable":%b,"input":%b,"output":%b}'
                self.wire.append(frame % (*parts, output))
        return False

    def stage(self, key, is_workflow, value):
        command = command_json(key, value, is_workflow=is_workflow)
        if key in self.branches or self.commands.get(key, command) != command:
            return True
        self.commands[key] = command
        return False

    def fork(self, key, names):
        branches = canonical([branch_json(name) for name in names])
        request = b'{"key":%b,"branches":%b}' % (canonical(key), branches)
        if key in self.forks:
            return self.forks[key] != request
        if any(name in self.commands or name in self.branches for name in names):
            return True
        self.forks[key] = request
        self.branches.update(dict.fromkeys(names, key))
        self.wire.append(request)
        return False


def command_json(key, value, *, is_workflow):
    command = {
        "key": key,
        "program": {"id": "p", "version": "1"},
        "queue": "q",
        "data": value,
        "retry_policy": {"max_attempts": 3, "retry_delay_ms": 5000},
        "attempt_timeout_ms": 300_000,
    }
    return canonical({**command, "kind": "workflow"} if is_workflow else command)


def branch_json(name):
    return {
        "key": name,
        "entrypoint": "e",
        "queue": "q",
        "data": None,
        "retry_policy": {"max_attempts": 3, "retry_delay_ms": 5000},
        "attempt_timeout_ms": 300_000,
    }


class Player:
    """Runs a program; checks every operation against the model."""

    def __init__(self, ctx, model):
        self.ctx = ctx
        self.model = model
        self.steps = {}

    async def play(self, program):
        for name, *arguments in program:
            await getattr(self, name)(*arguments)
        for key in self.steps:  # so that every failure is observed
            await self._check(key)

    async def start(self, key, name, value, is_operation):
        if self.model.start(key, name, value, is_operation):
            with pytest.raises(BindingError):
                self._call(key, name, value, is_operation)
        else:
            self.steps[key] = self._call(key, name, value, is_operation)

    def _call(self, key, name, value, is_operation):
        fn = FUNCTIONS[name]
        if not is_operation:
            return self.ctx.local(key, fn, value=value)
        return self.ctx.operation(
            key, fn, kind=OperationKind.TOOL, version="1", arguments={"value": value}
        )

    async def _check(self, key):
        wanted = self.model.outputs[key]
        if wanted is Own:
            with pytest.raises(Own):
                await self.steps[key]
        else:
            assert canonical(await self.steps[key]) == canonical(wanted)

    async def turn(self):
        await asyncio.sleep(0)

    async def _await(self, key):
        if key in self.steps:
            await self._check(key)

    async def gather(self, keys):
        keys = [key for key in keys if key in self.steps]
        wanted = [self.model.outputs[key] for key in keys]
        gathered = self.ctx.gather(*[self.steps[key] for key in keys])
        if any(value is Own for value in wanted):
            with pytest.raises(Own):
                await gathered
        else:
            assert canonical(await gathered) == canonical(wanted)

    async def stage(self, key, is_workflow, value):
        call = self.ctx.workflow if is_workflow else self.ctx.task
        child = {"program": "p", "version": "1", "queue": "q", "data": value}
        if self.model.stage(key, is_workflow, value):
            with pytest.raises(BindingError):
                call(key, **child)
        else:
            assert isinstance(call(key, **child), TaskRef)

    async def fork(self, key, names):
        specs = [
            self.ctx.branch(name, entrypoint="e", queue="q", data=None)
            for name in names
        ]
        if self.model.fork(key, names):
            with pytest.raises(BindingError):
                await self.ctx.fork(key, branches=specs)
        else:
            ref = await self.ctx.fork(key, branches=specs)
            assert ref.branch_keys == tuple(names)


setattr(Player, "await", Player._await)  # it is a keyword


def decide(ctx, kind, state):
    here = {"continuation": "n", "state": state}
    if kind == "complete" and not ctx._commands:
        return ctx.complete(state), {"kind": "complete", "output": state}
    if kind in ("complete", "fail"):
        return ctx.fail("k", "m"), {
            "kind": "fail",
            "error": {"kind": "k", "message": "m"},
        }
    made, more = {
        "suspend": lambda: (ctx.suspend(until=["a"], **here), {"until": ["a"]}),
        "continue": lambda: (ctx.continue_(**here), {}),
        "event": lambda: (
            ctx.wait_event("e", **here),
            {"wait": {"kind": "event", "key": "e", "timeout_ms": None}},
        ),
        "timer": lambda: (
            ctx.sleep("t", 5, **here),
            {"wait": {"kind": "timer", "key": "t", "delay_ms": 5}},
        ),
    }[kind]()
    kind = "wait" if kind in ("event", "timer") else kind
    return made, {"kind": kind, **here, "commands": ctx._commands, **more}


def run(program, kind, state, records, host):
    """Run a program once; return model, decision and what was stored."""
    model = Model(records)
    wanted = {}

    async def handler(ctx):
        await Player(ctx, model).play(program)
        assert list(map(canonical, ctx._commands)) == list(model.commands.values())
        made, expected = decide(ctx, kind, state)
        wanted.update(expected)
        sizes = ctx.sizes()
        assert sizes["commands"]["size"] == len(canonical(ctx._commands))
        assert sizes["journal"]["size"] == len(canonical(list(ctx._records.values())))
        return made

    decision = play(handler, payload(local_steps=records), host)
    head = {"v": 1, "activation_id": "act-1", "revision": 0}
    assert canonical(decision) == canonical({**head, **wanted})
    return model, decision


def committed(host):
    return [request for name, request in host.requests if name == "local_step.commit"]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=st.lists(OPERATIONS, max_size=14), kind=DECISIONS, state=SMALL)
def test_the_wire_shows_what_the_model_says_and_a_replay_shows_nothing(
    program, kind, state
):
    host = EncodedHost()
    model, decision = run(program, kind, state, [], host)
    # Callables that do not wait finish, and are sent, in the order of their starts.
    assert host.lines == model.wire

    again = EncodedHost()
    records = committed(host)
    replay, repeated = run(program, kind, state, records, again)
    assert canonical(repeated) == canonical(decision)
    assert again.lines == replay.wire
    assert [line for line in again.lines if b'"branches"' not in line] == []


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    program=st.lists(OPERATIONS, min_size=1, max_size=12),
    kind=DECISIONS,
    data=st.data(),
)
def test_after_a_crash_the_rest_is_done_and_nothing_is_stored_twice(
    program, kind, data
):
    host = EncodedHost()
    _, decision = run(program, kind, None, [], host)
    survivors = data.draw(st.integers(0, max(len(host.lines) - 1, 0)))
    if not host.lines:
        return

    async def handler(ctx):
        model = Model([])
        await Player(ctx, model).play(program)
        return decide(ctx, kind, None)[0]

    broken = EncodedHost(*[acknowledgement] * survivors, OSError("crash"))
    with pytest.raises(AcknowledgementError):
        play(handler, payload(), broken)
    acknowledged = broken.lines[:survivors]
    commits = sum(b'"branches"' not in line for line in acknowledged)
    records = committed(broken)[:commits]
    rest = EncodedHost()
    _, repeated = run(program, kind, None, records, rest)
    assert canonical(repeated) == canonical(decision)
    keys = [request["key"] for request in [*records, *committed(rest)]]
    assert len(keys) == len(set(keys))
    assert sorted(keys) == sorted(request["key"] for request in committed(host))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    turns=st.lists(st.integers(0, 6), min_size=1, max_size=10), host=st.integers(0, 4)
)
def test_steps_are_sent_once_each_in_the_order_in_which_they_finish(turns, host):
    finished, line = [], EncodedHost(turns=host)

    async def fn(number, turns):
        for _ in range(turns):
            await asyncio.sleep(0)
        finished.append(str(number))
        return number

    async def handler(ctx):
        steps = [
            ctx.local(str(number), fn, number=number, turns=count)
            for number, count in enumerate(turns)
        ]
        return ctx.complete(await ctx.gather(*steps))

    assert play(handler, host=line)["output"] == list(range(len(turns)))
    assert [request["key"] for _, request in line.requests] == finished
