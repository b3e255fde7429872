"""A damaged or hand-edited history is refused at once, with the place of the damage."""

import json
import random

import pytest

from ledgence.local._frames import Request, Result
from ledgence.local._replay import History, HistoryError, _history, replay
from ledgence.local._replay._player import Player
from ledgence.local._replay._replay import Replay
from tests.support.local_histories import enrol, history_of, write
from tests.support.local_world import World

FLOW = """\
from ledgence.worker.workflow import ApprovalAction, OperationKind, workflow_context


def ask(text):
    return text.upper()


def refund(cents):
    return cents


async def handle(event):
    ctx = workflow_context()
    if ctx.continuation == "branch":
        return ctx.complete(None)
    if ctx.continuation == "start":
        said = await ctx.operation(
            "ask", ask, kind=OperationKind.MODEL, version="1", arguments={"text": "a"}
        )
        fork = await ctx.fork(
            "f", branches=[ctx.branch("b", entrypoint="branch", queue="q", data=1)]
        )
        return ctx.join(fork, resume="joined", state=said)
    if ctx.continuation == "joined":
        mail = ctx.task("mail", program="leaf", version="1", queue="q", data=1)
        return ctx.suspend(continuation="wait", state=None, until=[mail])
    if ctx.continuation == "wait":
        return ctx.wait_event("go", continuation="asked", state={"a": [1]})
    if ctx.continuation == "asked":
        action = ApprovalAction.for_callable(
            refund, version="1", arguments={"cents": 5}
        )
        return ctx.request_approval(
            "ok", action=action, continuation="end", state=None, timeout_ms=1000
        )
    return ctx.complete(await ctx.approved_local(refund, version="1"))
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="module")
def target(directory):
    return write(directory, FLOW)


@pytest.fixture(scope="module")
def exported(target):
    """The bytes of a history in which there is something of every kind."""
    world = World()
    enrol(world, "flow", target)
    workflow_id = world.start("flow", 1)
    world.run()
    world.send(workflow_id, "unasked", event_id="e-2")
    world.send(workflow_id, "go")
    world.run()
    world.decide(workflow_id, "ok")
    world.run()
    history = history_of(world, workflow_id)
    world.store.close()
    assert history.state == "succeeded"
    return history.dumps()


ABSENT = object()
VALUES = (ABSENT, None, 5, "x", [], {})


def edits(value, place=()):
    """Tell every place below the root with everything that is put there."""
    pairs = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for name, inner in pairs:
        for new in VALUES:
            yield (*place, name), new
        yield from edits(inner, (*place, name))


def at(data, place):
    for name in place:
        data = data[name]
    return data


class Edited:
    """A decoded history with one edit for a while."""

    def __init__(self, data, place, new):
        self.owner = at(data, place[:-1])
        self.name = place[-1]
        self.new = new
        self.before = json.dumps(self.owner)

    def __enter__(self):
        if self.new is ABSENT:
            del self.owner[self.name]
        else:
            self.owner[self.name] = json.loads(json.dumps(self.new))

    def __exit__(self, *exc):
        before = json.loads(self.before)
        if isinstance(self.owner, list):
            self.owner[:] = before
            return
        self.owner.clear()
        self.owner.update(before)


class Unchanged(Player):
    """A program that does what the history said before the edit."""

    def __init__(self, original):
        super().__init__(None, None, timeout=1, fresh=False)
        self.original = original

    def play(self, activation, place):
        self.recorded = at(self.original, place)
        return super().play(activation, place)

    def _invoke(self, invocation, answer):
        for number, one in enumerate(self.recorded["requests"], 1):
            answer(Request(number, one["operation"], one["payload"]))
        keys = [one["payload"]["key"] for one in self.recorded["requests"]]
        steps = [{"key": key} for key in keys]
        seen = {"local_steps": steps, "local_steps_truncated": False}
        return Result("success", self.recorded["decision"], None, seen)


class Comparison(Replay):
    """A replay without processes."""

    def __init__(self, original):
        super().__init__(timeout=1)
        self.original = original

    def _player(self, launch):
        return Unchanged(self.original)


def use(data, original):
    """Read and compare a history; return its differences."""
    history = History(data)
    assert repr(history)
    assert isinstance(history.program, str)
    json.dumps([one.to_json() for one in history.operations])
    for child in history.to_json()["children"]:
        history.child(child["command_key"])
    work = Comparison(original)
    work.run(history.to_json(), lambda _: "launch")
    return work.report().differences


def test_every_single_edit_is_used_or_refused_by_name(exported):
    original, data = json.loads(exported), json.loads(exported)
    assert use(data, original) == ()
    refused = differing = 0
    for place, new in edits(original):
        with Edited(data, place, new):
            try:
                differing += bool(use(data, original))
            except HistoryError as error:
                assert error.code == "history_format", place  # noqa: PT017 - most edits are no error
                assert error.details["path"].startswith("$"), place  # noqa: PT017 - as above
                refused += 1
    assert data == original
    assert refused > 1000
    assert differing > 50
