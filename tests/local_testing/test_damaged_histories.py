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
    data = history.to_json()
    return History({**data, "log": data["log"][:1]}).dumps()  # nothing reads the log


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


def refusal_of(data, original):
    """Return how a history is refused, or None, and whether it differs."""
    try:
        return None, bool(use(data, original))
    except HistoryError as error:
        return error, False


def test_every_single_edit_is_used_or_refused_by_name(exported):
    original, data = json.loads(exported), json.loads(exported)
    assert use(data, original) == ()
    refused = differing = 0
    for place, new in edits(original):
        with Edited(data, place, new):
            error, differs = refusal_of(data, original)
        differing += differs
        if error is not None:
            newer = (place, new) == (("version",), 5)
            assert error.code == ("history_newer" if newer else "history_format")
            assert newer or error.details["path"].startswith("$"), place
            refused += 1
    assert data == original
    assert refused > 1000
    assert differing > 50


def test_a_sample_of_edits_is_played_to_a_real_runner(exported, target):
    original, data = json.loads(exported), json.loads(exported)
    rng = random.Random(14)  # the same sample in every run
    everything = list(edits(original))
    played = 0
    while played < 12:
        place, new = rng.choice(everything)
        with Edited(data, place, new):
            error, differs = refusal_of(data, original)
            if error is not None:
                with pytest.raises(HistoryError):
                    replay(data, target)
                continue
            report = replay(data, target)
        # More may differ: the real program reads what was edited.
        assert report.differences or not differs, place
        played += 1


STEP = ("activations", 0, "requests", 0, "payload")
DAMAGES = {
    "a member": (("activations", 0, "context"), ABSENT, "a member", "(absent)"),
    "a type": (("children", 0, "registered_at"), True, "an integer", "True"),
    "a request": (
        ("activations", 0, "requests", 0, "operation"),
        "x",
        "local_step.commit or workflow.fork",
        "'x'",
    ),
    "an empty key": ((*STEP, "key"), "", "a text", "''"),
    "a number": ((*STEP, "output"), 2**64, "JSON", "an int outside"),
    "a text": ((*STEP, "output"), "\ud800", "JSON", "a text with a lone surrogate"),
    "a child": (
        ("children", 0, "history", "activations"),
        {},
        "a list",
        "a dict of 0",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_the_place_is_told(exported, tmp_path, damage):
    place, new, expected, got = damage
    data = json.loads(exported)
    with Edited(data, place, new):
        text = json.dumps(data)
    file = tmp_path / "h.json"
    file.write_text(text)
    with pytest.raises(HistoryError) as caught:
        History.load(file)
    assert caught.value.code == "history_format"
    details = caught.value.details
    names = [f"[{one}]" if type(one) is int else f".{one}" for one in place]
    assert (details["file"], details["path"]) == (str(file), "".join(["$", *names]))
    assert details["expected"] == expected
    assert details["got"].startswith(got)


PLAYED = {
    "no event": ("event", lambda one: None, ".event"),
    "another event": ("event", lambda one: {**one, "ldgtaskid": "x"}, ".event"),
    "a number": ("event", lambda one: {**one, "data": 2**64}, ""),
    "no inputs": ("context", lambda one: {**one, "inputs": None}, ".context.inputs"),
    "a member": ("context", lambda one: {**one, "more": 1}, ".context"),
    "a step twice": ("requests", lambda one: [one[0], one[0]], ".requests"),
}


@pytest.mark.parametrize("damage", PLAYED.values(), ids=PLAYED)
@pytest.mark.parametrize("here", [True, False], ids=["here", "process"])
def test_what_no_runner_can_have_seen_is_no_difference(exported, target, damage, here):
    name, change, path = damage
    data = json.loads(exported)
    activation = data["activations"][0]
    activation[name] = change(activation[name])
    with pytest.raises(HistoryError) as caught:
        replay(data, target, in_process=here)
    assert caught.value.code == "history_format"
    assert caught.value.details["path"] == f"$.activations[0]{path}"


def test_the_place_inside_a_child_is_told(exported, target):
    data = json.loads(exported)
    data["children"][0]["history"]["activations"][0]["context"] = {}
    with pytest.raises(HistoryError) as caught:
        replay(data, target)
    place = "$.children[0].history.activations[0].context"
    assert caught.value.details["path"] == place


def test_other_members_and_shorter_histories_are_good(exported, target):
    data = json.loads(exported)
    for owner in (data, data["activations"][0], data["activations"][0]["requests"][0]):
        owner["more"] = {"by": "me"}
    for name in ("waits", "events", "approvals", "log"):
        del data[name]
    history = History(data)
    assert history.operation("ask").output == "A"
    assert replay(history, target).differences == ()


def test_children_without_an_end_are_refused(exported):
    data = json.loads(exported)
    child = next(one for one in data["children"] if one["kind"] == "workflow")
    child["history"]["children"].append(child)
    with pytest.raises(HistoryError) as caught:
        History(data)
    assert caught.value.details["got"] == "too many"


def test_a_step_called_like_a_model_may_have_any_input(exported):
    data = json.loads(exported)
    step = at(data, STEP)
    assert step["callable"].startswith("model:")
    for given in ([], {"kind": "model"}, "model"):
        step["input"] = given
        found = History(data).operation("ask")
        assert (found.kind, found.input) == ("local", given)


# The size of a file.


def test_a_file_may_have_just_so_many_bytes(exported, tmp_path, monkeypatch):
    assert _history.FILE_BYTES == 256 * 1024 * 1024
    file = tmp_path / "h.json"
    file.write_text(exported)
    size = file.stat().st_size
    for limit in (size + 1, size):
        monkeypatch.setattr(_history, "FILE_BYTES", limit)
        assert History.load(file).kind == "workflow"
    monkeypatch.setattr(_history, "FILE_BYTES", size - 1)
    with pytest.raises(HistoryError, match=f"more than {size - 1} bytes") as caught:
        History.load(file)
    assert caught.value.code == "history_unreadable"
    assert caught.value.details == {"path": str(file)}


def test_a_file_without_an_end_is_not_read_for_ever(monkeypatch):
    monkeypatch.setattr(_history, "FILE_BYTES", 3_000_000)
    with pytest.raises(HistoryError, match="more than 3000000 bytes"):
        History.load("/dev/zero")
