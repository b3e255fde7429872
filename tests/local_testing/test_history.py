"""Histories are read by key and kept as files."""

import json

import pytest

from ledgence.local._replay import History, HistoryError
from tests.support.local_histories import enrol, history_of, write
from tests.support.local_world import SCOPE, T0, Died, World

FLOW = """
    from ledgence.worker.workflow import OperationKind, workflow_context

    ACTION = {"name": "program:refund", "version": "1", "arguments": {"cents": 5}}


    def charge(cents):
        return {"charged": cents}


    def ask(text):
        return text.upper()


    async def handle(event):
        ctx = workflow_context()
        if ctx.continuation == "start":
            paid = await ctx.local("charge", charge, cents=5)
            await ctx.operation(
                "ask", ask, kind=OperationKind.MODEL, version="1",
                arguments={"text": "hm"},
            )
            mail = ctx.task("mail", program="leaf", version="1", queue="q", data=paid)
            return ctx.suspend(continuation="sleep", state=None, until=[mail])
        if ctx.continuation == "sleep":
            return ctx.sleep("nap", 1000, continuation="wait", state=None)
        if ctx.continuation == "wait":
            await ctx.local("again", charge, cents=1)
            return ctx.wait_event("paid", continuation="end", state=None)
        await ctx.local("again", charge, cents=2)
        return ctx.complete(ctx.wake["event"]["data"])
"""


@pytest.fixture
def world():
    return World()


@pytest.fixture
def history(world, tmp_path):
    enrol(world, "flow", write(tmp_path, FLOW))
    workflow_id = world.start("flow")
    world.run(skip=True)
    world.send(workflow_id, "paid", data="ok")
    world.send(workflow_id, "unasked", event_id="e-2")
    world.run()
    return history_of(world, workflow_id)


def test_operations_stand_in_their_order(history):
    assert [(one.key, one.kind, one.state) for one in history.operations] == [
        ("charge", "local", "committed"),
        ("ask", "model", "committed"),
        ("mail", "task", "succeeded"),
        ("nap", "timer", "timer"),
        ("again", "local", "committed"),
        ("paid", "event", "event"),
        ("again", "local", "committed"),
        ("unasked", "event", "undelivered"),
    ]


def test_an_operation_tells_what_went_in_and_came_out(history):
    charge = history.operation("charge")
    assert (charge.input, charge.output) == ({"cents": 5}, {"charged": 5})
    assert (charge.revision, charge.began_at, charge.attempts) == (0, T0, None)
    assert charge.size == len('{"cents":5}{"charged":5}')
    assert history.operation("ask").input == {"text": "hm"}
    mail = history.operation("mail")
    assert (mail.input, mail.output, mail.attempts) == (
        {"charged": 5},
        {"charged": 5},
        1,
    )
    nap = history.operation("nap")
    assert nap.ended_at - nap.began_at == 1000
    assert history.operation("paid").output["data"] == "ok"


def test_an_operation_is_json(history):
    shown = history.operation("charge").to_json()
    assert json.loads(json.dumps(shown)) == shown
    assert "raw" not in shown
    assert shown["size"] == 24


def test_a_key_that_is_used_in_several_activations_needs_one_of_them(history):
    with pytest.raises(HistoryError) as caught:
        history.operation("again")
    assert caught.value.code == "operation_ambiguous"
    assert "activation 2" in caught.value.details["operations"]
    assert history.operation("again", revision=3).input == {"cents": 2}


@pytest.mark.parametrize(
    ("key", "kind", "hint"),
    [
        ("charg", None, "did you mean 'charge'?"),
        ("zzzzzz", None, "there are 'charge', 'ask', 'mail'"),
        ("charge", "task", "'charge' is of kind local"),
    ],
    ids=["near", "far", "other kind"],
)
def test_an_unknown_key_says_what_is_near(history, key, kind, hint):
    with pytest.raises(HistoryError) as caught:
        history.operation(key, kind=kind)
    assert caught.value.code == "operation_not_found"
    assert caught.value.hint.startswith(hint)


def test_an_unknown_key_of_an_empty_history_says_so(world):
    world.program("flow", lambda job: job.complete())
    with pytest.raises(HistoryError) as caught:
        history_of(world, world.start("flow")).operation("x")
    assert caught.value.hint == "there are none at all"


def test_children_are_histories(history):
    child = history.child("mail")
    assert (child.kind, child.state, child.program) == ("task", "succeeded", "leaf")
    assert child.operations == ()
    with pytest.raises(HistoryError, match="did you mean 'mail'"):
        history.child("mial")


def test_what_failed_and_what_is_open_is_told(world):
    def flow(job):
        from tests.support.local_world import action, branch, command

        if job.continuation == "start":
            job.fork("f", branch("b", "branch"))
            return job.suspend("ask", command("bad", "dying"))
        if job.continuation == "branch":
            return job.fail("no", "never")
        return job.approval("ok", "end", action(cents=1), 1000)

    def dying(job):
        raise Died

    world.program("flow", flow)
    world.program("dying", dying)
    workflow_id = world.start("flow")
    world.run(skip=True, horizon_ms=5000)
    history = history_of(world, workflow_id)
    bad = history.operation("bad")
    assert (bad.state, bad.attempts, bad.output) == ("failed", 3, None)
    assert bad.error["error"]["kind"] == "runtime"
    assert history.operation("b").error == {"kind": "no", "message": "never"}
    assert history.operation("b").kind == "branch"
    assert history.operation("f").kind == "fork"


def test_an_approval_shows_its_action_and_its_decision(world):
    from tests.support.local_world import action

    world.program("flow", lambda job: job.approval("ok", "end", action(n=1), 1000))
    workflow_id = world.start("flow")
    world.run()
    asked = history_of(world, workflow_id).operation("ok")
    assert (asked.state, asked.ended_at, asked.output) == ("waiting", None, None)
    assert asked.input["arguments"] == {"n": 1}
    world.decide(workflow_id, "ok")
    decided = history_of(world, workflow_id).operation("ok")
    assert decided.state == "approved"
    assert decided.output["reviewer"] == "alice"


def test_a_module_that_is_called_like_a_kind_makes_no_operation(world):
    def flow(job):
        job.commit("a", name="model:fetch", arguments={"kind": "tool"})
        job.commit("_approval:b", name="program:refund")
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    kinds = [one.kind for one in history_of(world, workflow_id).operations]
    assert kinds == ["local", "approved"]


def test_a_file_holds_exactly_the_history(history, tmp_path):
    file = tmp_path / "history.json"
    history.save(file)
    again = History.load(file)
    assert again.to_json() == history.to_json()
    assert again.dumps() == file.read_text()
    assert (again.id, again.state) == (history.id, "succeeded")
    assert repr(again) == f"<History of workflow {history.id}: succeeded>"


def test_numbers_keep_their_class_in_a_file(world, tmp_path):
    data = [1, 1.0, -0.0, 2**64 - 1, 1e-7, "Zoë"]
    task_id = world.submit("leaf", data)
    world.run()
    file = tmp_path / "task.json"
    History.of_task(world.look, {"scope": SCOPE, "task_id": task_id}).save(file)
    again = History.load(file).outcome["output"]
    assert list(map(repr, again)) == list(map(repr, data))


def test_members_that_are_not_known_are_kept(history, tmp_path):
    data = {**history.to_json(), "note": {"by": "me"}}
    data["activations"][0]["extra"] = 1
    file = tmp_path / "history.json"
    History(data).save(file)
    again = History.load(file)
    assert again.to_json()["note"] == {"by": "me"}
    assert again.activations[0]["extra"] == 1


CASES = {
    "no object": ([], "history_format"),
    "another format": ({"format": "x"}, "history_format"),
    "no version": ({"format": "ledgence.history"}, "history_format"),
    "version true": ({"format": "ledgence.history", "version": True}, "history_format"),
    "version 0": ({"format": "ledgence.history", "version": 0}, "history_format"),
    "version 2": ({"format": "ledgence.history", "version": 2}, "history_newer"),
    "no kind": ({"format": "ledgence.history", "version": 1}, "history_format"),
    "no body": (
        {"format": "ledgence.history", "version": 1, "kind": "task"},
        "history_format",
    ),
}


@pytest.mark.parametrize(("data", "code"), CASES.values(), ids=CASES)
def test_what_is_no_history_is_refused(tmp_path, data, code):
    file = tmp_path / "history.json"
    file.write_text(json.dumps(data))
    with pytest.raises(HistoryError) as caught:
        History.load(file)
    assert caught.value.code == code


def test_a_history_from_which_something_was_deleted_is_refused(history):
    data = json.loads(history.dumps())
    del data["children"][0]["history"]
    with pytest.raises(HistoryError) as caught:
        History(data)
    assert caught.value.code == "history_format"
    assert caught.value.details == {
        "path": "$.children[0].history",
        "expected": "a member",
        "got": "(absent)",
    }


@pytest.mark.parametrize("text", [None, "{", "\udcff"], ids=["missing", "cut", "bytes"])
def test_what_cannot_be_read_is_refused(tmp_path, text):
    file = tmp_path / "history.json"
    if text is not None:
        file.write_text(text, errors="surrogateescape")
    with pytest.raises(HistoryError) as caught:
        History.load(file)
    assert caught.value.code == "history_unreadable"
    assert caught.value.details["path"] == str(file)
