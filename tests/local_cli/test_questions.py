"""Commands that look at a store or record in it; nothing is run here."""

import json

import pytest

from ledgence.local._store import SqliteStore
from tests.support.local_world import World, action

READING = [
    ("workflow", "list"),
    ("workflow", "show", "last"),
    ("workflow", "events", "last"),
    ("workflow", "cancel", "last"),
    ("task", "list"),
    ("task", "status", "last"),
    ("task", "result", "last"),
    ("task", "inspect", "last"),
    ("task", "history", "last"),
    ("task", "cancel", "last"),
    ("approval", "list"),
    ("approval", "list", "last"),
    ("approval", "inspect", "last", "k"),
    ("approval", "approve", "last", "k"),
    ("event", "send", "last", "k"),
    ("history", "export", "last"),
    ("work",),
]


def name_of(args):
    return " ".join(args)


@pytest.fixture
def world(tmp_path):
    """A store with scripted programs; ids are counted: wf_a0000001."""
    with SqliteStore(tmp_path / "w.db") as store:
        # Its clock is ahead of this machine's: no deadline passes by itself.
        found = World(store, start=4_000_000_000_000, prefix="a")
        found.program("asks", asks)
        found.program("waits", waits)
        found.program("steps", steps)
        found.program("fails", lambda job: job.fail("bad", "it is"))
        yield found


def asks(job):
    if job.wake is None:
        return job.approval("refund", "next", action(cents=5), 60_000)
    return job.complete(job.wake["approval"]["status"])


def waits(job):
    if job.wake is None:
        return job.wait_event("payment", "next", 60_000)
    return job.complete(job.wake["event"]["data"])


def steps(job):
    job.commit("one", output=[1.5, "é"])
    return job.complete({"n": 1.0})


@pytest.fixture
def at(ledgence):
    """Runs a command on the world's store and scope."""

    def run(*args):
        place = ("--store", "w.db", "--tenant", "acme", "--namespace", "billing")
        return ledgence(*args, *place)

    return run


def only(done):
    """The one line of JSON that a command has printed."""
    assert done.code == 0, done.err
    (line,) = done.out.splitlines()
    return json.loads(line)


# The store.


@pytest.mark.parametrize("args", READING, ids=name_of)
def test_a_store_that_is_not_there_is_told_and_not_made(ledgence, tmp_path, args):
    done = ledgence(*args)
    assert (done.code, done.out) == (2, "")
    assert "store_not_found" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", READING[1:12], ids=name_of)
def test_last_of_nothing_is_not_found(at, world, args):
    done = at(*args)
    if args[-1] == "list":
        assert (done.code, done.out) == (0, "")
    else:
        assert done.code == 1
        assert "not_found" in done.err


def test_a_file_of_another_kind_is_refused(ledgence, tmp_path):
    (tmp_path / "x.db").write_text("no database, but long enough to look at" * 9)
    done = ledgence("workflow", "list", "--store", "x.db")
    assert done.code == 2
    assert "store_unusable" in done.err


def test_the_store_may_be_named_by_the_environment(ledgence, world, monkeypatch):
    monkeypatch.setenv("LEDGENCE_LOCAL_STORE", "w.db")
    assert ledgence("task", "list").code == 0


def test_an_error_is_an_object_for_machines(at, world):
    done = at("workflow", "show", "wf_none", "--json")
    assert (done.code, done.out) == (1, "")
    assert json.loads(done.err)["error"] == {
        "code": "not_found",
        "message": "there is no workflow 'wf_none'",
        "hint": "list them: ledgence-local workflow list",
    }


def test_another_scope_sees_nothing(ledgence, world):
    world.start("steps")
    place = ("--store", "w.db", "--tenant", "acme", "--namespace", "other")
    assert ledgence("workflow", "show", "last", *place).code == 1


# Ids.


def test_an_id_may_be_shortened(at, world):
    run = world.start("steps")
    other = world.start("steps")
    for text in (run, run.removeprefix("wf_"), "last"):
        shown = only(at("workflow", "show", text, "--json"))
        wanted = other if text == "last" else run
        assert shown["summary"]["workflow"]["workflow_id"] == wanted
    task = world.submit()
    for text in (task, task.removeprefix("task_"), "last"):
        assert only(at("task", "status", text, "--json"))["task_id"] == task


def test_the_beginning_of_an_id_is_enough_when_it_is_the_only_one(at, world):
    task = world.submit()
    assert only(at("task", "status", task[:-1], "--json"))["task_id"] == task
    assert at("task", "status", task[:8]).code == 1  # too short to be meant


def test_a_short_id_that_means_several_is_refused_with_their_names(at, world):
    run, other = world.start("steps"), world.start("steps")
    done = at("workflow", "show", run[:-2])
    assert done.code == 2
    assert run in done.err
    assert other in done.err


def test_an_id_that_is_misspelt_gets_a_proposal(at, world):
    run = world.start("steps")
    done = at("workflow", "show", run.replace("a0", "a9"))
    assert done.code == 1
    assert f"did you mean {run}" in done.err


def test_the_id_of_another_kind_is_told_as_such(at, world):
    done = at("workflow", "show", world.submit())
    assert done.code == 2
    assert "ledgence-local task status task_a" in done.err
    done = at("task", "result", world.start("steps"))
    assert "ledgence-local workflow show wf_a" in done.err


@pytest.mark.parametrize(
    ("args", "better"),
    [
        (("workflow", "shwo", "last"), "show"),
        (("workflw",), "workflow"),
        (("approval", "aprove", "last", "k"), "approve"),
        (("task", "list", "--qeue", "x"), "--queue"),
        (("task", "list", "--state", "done"), "succeeded"),
    ],
    ids=str,
)
def test_misspelt_words_get_a_proposal(ledgence, args, better):
    done = ledgence(*args)
    assert done.code == 2
    assert better in done.err


# Workflows.


def test_workflows_are_listed_newest_first(at, world):
    world.start("steps")
    world.run()
    world.advance(1000)
    world.start("waits")
    done = at("workflow", "list")
    head, *lines = done.out.splitlines()
    assert head.split() == [
        *("WORKFLOW", "PROGRAM", "STATE", "REVISION", "SUBMITTED", "ENDED")
    ]
    assert [line.split()[1:3] for line in lines] == [
        ["waits@1", "running"],
        ["steps@1", "succeeded"],
    ]


def test_a_list_for_machines_is_a_page_of_the_service(at, world):
    runs = [world.start("steps") for _ in range(3)]
    page = only(at("workflow", "list", "--json", "--limit", "2"))
    ids = [one["workflow"]["workflow_id"] for one in page["items"]]
    assert ids == runs[:0:-1]
    more = ("--limit", "2", "--cursor", page["next_cursor"])
    page = only(at("workflow", "list", "--json", *more))
    assert [one["workflow"]["workflow_id"] for one in page["items"]] == runs[:1]
    assert page["next_cursor"] is None


def test_a_page_says_how_to_go_on(at, world):
    world.start("steps")
    world.start("steps")
    assert "more: --cursor " in at("workflow", "list", "--limit", "1").err


def test_a_list_is_filtered(at, world):
    world.start("steps", correlation_key="c")
    world.start("waits")
    world.run()
    for args, count in (
        (("--state", "waiting"), 1),
        (("--state", "failed"), 0),
        (("--correlation-key", "c"), 1),
        (("--queue", "other"), 0),
        (("--submitted-from", world.clock.now_ms() + 1), 0),
        (("--submitted-until", world.clock.now_ms() + 1), 2),
    ):
        page = only(at("workflow", "list", "--json", *args))
        assert len(page["items"]) == count, args


def test_owned_workflows_are_listed_on_request(at, world):
    def parent(job):
        child = {"key": "c", "program": {"id": "waits", "version": "1"}, "queue": "q"}
        return job.suspend("next", {**child, "data": None, "kind": "workflow"})

    world.program("parent", parent)
    world.start("parent")
    world.run()
    assert len(only(at("workflow", "list", "--json"))["items"]) == 1
    assert len(only(at("workflow", "list", "--json", "--all"))["items"]) == 2
    shown = at("workflow", "show", "last")
    assert "c      workflow    waiting" in shown.out
    assert "waits for event 'payment'" in shown.out


def test_a_waiting_workflow_shows_what_releases_it(at, world):
    run = world.start("waits")
    world.run()
    done = at("workflow", "show", "last")
    place = "--store w.db --tenant acme --namespace billing"
    command = f"ledgence-local event send {place} --data JSON {run} payment"
    assert command in done.out
    shown = only(at("workflow", "show", "last", "--json"))
    (awaited,) = shown["awaits"]
    deadline = world.clock.now_ms() + 60_000
    assert awaited["deadline"] == deadline
    assert shown["outcome"] is None


def test_a_workflow_that_is_over_shows_steps_and_output(at, world):
    world.start("steps")
    world.run()
    done = at("workflow", "show", "last")
    assert 'output     {"n":1.0}' in done.out
    row = [line.split() for line in done.out.splitlines() if " one " in line]
    assert row[0][:4] == ["0", "one", "local", "committed"]
    shown = only(at("workflow", "show", "last", "--json"))
    assert shown["operations"][0]["output"] == [1.5, "é"]
    assert shown["outcome"] == {"kind": "succeeded", "output": {"n": 1.0}}


def test_a_workflow_that_failed_shows_its_error(at, world):
    world.start("fails")
    world.run()
    assert (
        'error      {"kind":"bad","message":"it is"}'
        in at("workflow", "show", "last").out
    )


def test_events_are_what_happened_in_order(at, world):
    run = world.start("waits")
    world.run()
    done = at("workflow", "events", run)
    assert [line.split()[3] for line in done.out.splitlines()[1:]] == [
        *("submitted", "activation_scheduled", "decision_applied", "waiting")
    ]
    lines = [json.loads(line) for line in at(
        "workflow", "events", run, "--json", "--after", "2"
    ).out.splitlines()]  # fmt: skip
    assert [one["reason"] for one in lines] == ["decision_applied", "waiting"]


def test_the_inbox_shows_events_from_outside(at, world):
    run = world.start("waits")
    world.send(run, "later", data={"n": 2})
    done = at("workflow", "events", run, "--inbox")
    assert '{"n":2}' in done.out
    assert only(at("workflow", "events", run, "--inbox", "--json"))["pending"] is True


# Tasks.


def test_a_task_is_listed_and_shown(at, world):
    task = world.submit(data={"x": 1.0}, correlation_key="order 7")
    assert task in at("task", "list").out
    assert only(at("task", "list", "--json"))["items"][0]["task_id"] == task
    status = at("task", "status", "last")
    assert "state        queued" in status.out
    assert "order 7" in status.out
    inspected = at("task", "inspect", task)
    assert 'data         {"x":1.0}' in inspected.out
    assert only(at("task", "inspect", task, "--json"))["input"]["data"] == {"x": 1.0}


def test_a_result_does_not_wait(at, world):
    task = world.submit(data=5)
    assert only(at("task", "result", task, "--json"))["outcome"] is None
    assert at("task", "result", task).code == 0
    world.run()
    assert only(at("task", "result", task, "--json"))["outcome"]["output"] == 5
    assert "output     5" in at("task", "result", task).out


def test_the_result_of_a_failed_or_cancelled_task_is_exit_1(at, world):
    from tests.support.local_world import BusinessError

    def refuse(job):
        raise BusinessError("no stock")

    world.program("refuses", refuse)
    world.submit("refuses")
    world.run()
    done = at("task", "result", "last")
    assert done.code == 1
    assert "no stock" in done.out
    world.cancel_task(world.submit())
    assert at("task", "result", "last").code == 1


def test_the_history_of_a_task_is_told_in_order(at, world):
    task = world.submit()
    world.run()
    done = at("task", "history", task)
    reasons = [line.split()[3] for line in done.out.splitlines()[1:]]
    assert reasons[0] == "submitted"
    assert reasons[-1] == "succeeded"
    after = at("task", "history", task, "--after", len(reasons) - 1, "--json")
    assert only(after)["event"]["reason"] == "succeeded"


def test_a_queued_task_is_cancelled_at_once(at, world):
    task = world.submit()
    assert only(at("task", "cancel", task, "--no-run", "--json")) == "cancelled"
    assert only(at("task", "cancel", task, "--json"))["outcome"] == {
        "kind": "cancelled"
    }
    assert at("task", "cancel", task).code == 0


# Approvals.


def test_every_pending_request_is_listed(at, world):
    run = world.start("asks")
    world.start("waits")
    world.run()
    done = at("approval", "list")
    assert done.out.count("refund") == 2  # the key, and the name of the action
    assert '{"cents":5}' in done.out
    (item,) = only(at("approval", "list", "--json"))["items"]
    assert (item["workflow_id"], item["status"]) == (run, "pending")
    world.decide(run, "refund")
    assert at("approval", "list").out == ""


def test_the_requests_of_a_workflow_come_in_pages(at, world):
    def ask(job):
        n = job.payload["revision"]
        return job.approval(f"k{n}", "next", action(n=n), 60_000)

    world.program("asks", ask)
    run = world.start("asks")
    for n in range(3):
        world.run()
        world.decide(run, f"k{n}", decision_id=f"d{n}")
    done = at("approval", "list", run, "--limit", "2")
    assert [line.split()[1] for line in done.out.splitlines()[1:]] == ["k0", "k1"]
    assert "more: --after-key k1" in done.err
    page = only(at("approval", "list", run, "--after-key", "k1", "--json"))
    assert [one["key"] for one in page["items"]] == ["k2"]
    assert at("approval", "list", run, "--limit", "11").code == 2


def test_a_request_is_inspected(at, world):
    world.start("asks")
    world.run()
    done = at("approval", "inspect", "last", "refund")
    assert 'arguments  {"cents":5}' in done.out
    assert "program:refund@1" in done.out
    assert only(at("approval", "inspect", "last", "refund", "--json"))["revision"] == 0


@pytest.mark.parametrize(
    ("key", "said"), [("refnd", "did you mean 'refund'?"), ("x", "keys: 'refund'")]
)
def test_an_unknown_key_of_a_request_gets_a_proposal(at, world, key, said):
    world.start("asks")
    world.run()
    for verb in ("inspect", "approve"):
        done = at("approval", verb, "last", key)
        assert done.code == 1
        assert said in done.err


@pytest.mark.parametrize(
    ("verb", "status"), [("approve", "approved"), ("reject", "rejected")]
)
def test_a_decision_is_recorded_once(at, world, verb, status):
    run = world.start("asks")
    world.run()
    words = ("approval", verb, "last", "refund", "--no-run", "--json")
    receipt = only(at(*words, "--reviewer", "alice", "--reason", "it is fine"))
    assert receipt["approval"]["status"] == status
    assert receipt["approval"]["decision"]["reason"] == "it is fine"
    assert not receipt["already_accepted"]
    world.run()
    again = only(at(*words, "--reviewer", "alice", "--reason", "it is fine"))
    assert again["already_accepted"]
    other = at(*words, "--reviewer", "bob")
    assert other.code == 1
    assert json.loads(other.err)["error"]["code"] == "conflict"
    assert world.result(run) == {"kind": "succeeded", "output": status}


# Events.


def test_an_event_is_recorded(at, world):
    run = world.start("waits")
    world.run()
    sent = ("event", "send", "last", "payment", "--no-run", "--json")
    receipt = only(at(*sent, "--data", '{"n": 1.0}', "--id", "e1", "--source", "urn:x"))
    assert (receipt["event_id"], receipt["event_source"]) == ("e1", "urn:x")
    again = only(at(*sent, "--data", '{"n": 1.0}', "--id", "e1", "--source", "urn:x"))
    assert again == {**receipt, "already_accepted": True}
    world.run()
    assert world.result(run)["output"] == {"n": 1.0}
    done = at(*sent, "--data", '{"n": 1}', "--id", "e1", "--source", "urn:x")
    assert done.code == 1
    done = at("event", "send", "last", "other", "--no-run")
    assert done.code == 1
    assert "obsolete_operation" in done.err


def test_an_event_with_a_key_that_is_nearly_awaited_is_pointed_at(at, world):
    world.start("waits")
    world.run()
    done = at("event", "send", "last", "paymnet", "--no-run")
    assert done.code == 0
    assert "waits for 'payment'" in done.err
    assert "waits" not in at("event", "send", "last", "refund", "--no-run").err


def test_an_event_may_come_from_a_file(at, world, tmp_path):
    world.start("waits")
    event = {"specversion": "1.0", "id": "7", "source": "urn:s", "type": "t"}
    event |= {"datacontenttype": "application/json", "data": [1.0]}
    (tmp_path / "event.json").write_text(json.dumps(event))
    sent = ("event", "send", "last", "payment", "--no-run", "--file")
    assert at(*sent, "event.json").code == 0
    (tmp_path / "event.json").write_text("[]")
    assert at(*sent, "event.json").code == 2
    (tmp_path / "event.json").write_text("{")
    assert at(*sent, "event.json").code == 2
    assert at(*sent, "nothing.json").code == 2
    assert at(*sent, "event.json", "--data", "1").code == 2


@pytest.mark.parametrize(
    "args",
    [("--source", "not a uri"), ("--data", "{"), ("--type", ""), ("--data", "@no")],
    ids=name_of,
)
def test_an_event_that_is_not_valid_is_exit_2(at, world, args):
    world.start("waits")
    assert at("event", "send", "last", "payment", "--no-run", *args).code == 2


# Cancelling and histories.


def test_a_waiting_workflow_is_cancelled_without_a_host(at, world):
    run = world.start("waits")
    world.run()
    status = only(at("workflow", "cancel", "last", "--no-run", "--json"))
    assert status["state"] == "cancelling"
    assert world.workflow(run)["state"] == "cancelled"
    done = at("workflow", "cancel", run)
    assert done.code == 0
    assert "state     cancelled" in done.out


def test_a_history_is_exported(at, world, tmp_path):
    run = world.start("steps")
    task = world.submit()
    world.run()
    history = json.loads(at("history", "export", "last").out)
    assert history["format"] == "ledgence.history"
    assert history["workflow"]["workflow_id"] == run
    assert json.loads(at("history", "export", task).out)["kind"] == "task"
    done = at("history", "export", run, "-o", "h.json")
    assert (done.code, done.out) == (0, "")
    assert json.loads((tmp_path / "h.json").read_text()) == history
    assert at("history", "export", run, "-o", "no/h.json").code == 2
