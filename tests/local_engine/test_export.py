"""Exports hold all that a program saw and said, at one moment."""

import pytest

from ledgence.local._engine import NotFound
from ledgence.local._store import SqliteStore
from ledgence.local._store._schema import MIGRATIONS
from tests.support.local_world import SCOPE, T0, Died, World, branch, command


@pytest.fixture
def world():
    return World()


def export(world, workflow_id):
    return world.look.export_workflow({"scope": SCOPE, "workflow_id": workflow_id})


def test_an_activation_shows_event_context_requests_and_decision(world):
    def flow(job):
        if job.continuation == "start":
            job.commit("b", output=2, arguments={"n": 1})
            if job.number == 1:
                raise Died
            job.commit("a", output=1)
            return job.proceed("end", state={"s": 1.5})
        return job.complete(job.payload["state"])

    world.program("flow", flow)
    workflow_id = world.start("flow", {"n": 7})
    world.run(skip=True)
    found = export(world, workflow_id)
    first, last = found["activations"]
    died, second = world.jobs[0], world.jobs[1]
    assert [one["payload"] for one in first["requests"]] == [
        {"key": "b", "callable": "program:step", "input": {"n": 1}, "output": 2},
        {"key": "a", "callable": "program:step", "input": {}, "output": 1},
    ]
    assert [one["attempt_id"] for one in first["requests"]] == [
        died.owner.attempt_id,
        second.owner.attempt_id,
    ]
    assert {one["operation"] for one in first["requests"]} == {"local_step.commit"}
    assert {str(one["reply"]) for one in first["requests"]} == {"{'committed': True}"}
    assert first["event"] == second.event
    assert first["decision"] == second.report["result"]["output"]
    kinds = [one["failure"] and one["failure"]["kind"] for one in first["attempts"]]
    assert kinds == ["execution", None]
    expected = dict(second.payload)
    del expected["local_steps"]
    assert first["context"] == expected
    assert last["context"]["state"] == {"s": 1.5}
    assert found["input"]["data"] == {"n": 7}
    assert found["outcome"] == {"kind": "succeeded", "output": {"s": 1.5}}


def test_forks_are_shown_as_they_were_sent_with_the_histories_of_their_branches(world):
    branches = [
        branch("z", data={"n": 1}),
        branch("a", "other", queue="q", attempt_timeout_ms=60_000),
    ]

    def flow(job):
        if job.continuation == "start":
            job.fork("f", *branches)
            return job.suspend("end", until=["a", "z"])
        return job.complete(job.continuation)

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    found = export(world, workflow_id)
    (fork,) = found["activations"][0]["requests"]
    policy = {"max_attempts": 3, "retry_delay_ms": 5000}
    assert fork["payload"] == {
        "key": "f",
        "branches": [
            {**branches[0], "retry_policy": policy, "attempt_timeout_ms": 300_000},
            {**branches[1], "retry_policy": policy},
        ],
    }
    assert fork["reply"] == {"committed": True, "key": "f", "branch_keys": ["z", "a"]}
    runs = {one["command_key"]: one["history"] for one in found["children"]}
    assert runs["a"]["outcome"]["output"] == "other"
    assert [len(run["activations"]) for run in runs.values()] == [1, 1]


def test_a_fork_of_an_older_store_is_shown_without_its_branches(tmp_path):
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        world = World(store)
        world.program(
            "flow", lambda job: job.fork("f", branch("a")) and job.proceed("")
        )
        workflow_id = world.start("flow")
        world.step()
        store._db.execute("ALTER TABLE forks DROP COLUMN branch_keys")
        store._db.execute("PRAGMA user_version = 1")
    assert len(MIGRATIONS) == 2
    with SqliteStore(path) as store:
        found = export(World(store), workflow_id)
    (fork,) = found["activations"][0]["requests"]
    assert fork["payload"] == {"key": "f", "branches": []}


def test_children_carry_their_own_histories(world):
    def flow(job):
        if job.continuation == "start":
            commands = [command("t", data=3), command("w", "sub", kind="workflow")]
            return job.suspend("end", *commands)
        return job.complete()

    world.program("flow", flow)
    world.program("sub", lambda job: job.complete("inner"))
    workflow_id = world.start("flow")
    world.run()
    task, run = export(world, workflow_id)["children"]
    assert (task["command_key"], task["kind"]) == ("t", "task")
    assert task["history"]["outcome"]["output"] == 3
    assert task["history"]["input"]["data"] == 3
    assert task["history"]["attempts"][0]["state"] == "succeeded"
    assert task["history"]["event"]["data"] == 3
    assert run["history"]["outcome"]["output"] == "inner"


def test_a_run_that_only_waits_shows_what_it_waits_for(world):
    world.program("flow", lambda job: job.wait_event("go", "end", timeout_ms=10))
    workflow_id = world.start("flow")
    world.run()
    world.send(workflow_id, "later")
    found = export(world, workflow_id)
    assert [one["key"] for one in found["waits"]] == ["go"]
    assert found["waits"][0]["deadline"] == T0 + 10
    assert [one["key"] for one in found["events"]] == ["later"]
    assert found["outcome"] is None
    assert [line["reason"] for line in found["log"]][:2] == [
        "submitted",
        "activation_scheduled",
    ]


def test_an_activation_that_was_never_claimed_has_no_event_and_no_decision(world):
    world.program("flow", lambda job: job.complete())
    (only,) = export(world, world.start("flow"))["activations"]
    assert (only["event"], only["decision"], only["attempts"]) == (None, None, [])


def test_more_than_one_page_of_everything_is_exported(world, monkeypatch):
    from ledgence.local._engine import _export

    def flow(job):
        if job.payload["revision"] < 5:
            job.commit("step")
            return job.proceed("next")
        commands = [command(f"c{n}") for n in range(5)]
        if job.continuation == "next":
            return job.suspend("end", *commands)
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    whole = export(world, workflow_id)
    assert (len(whole["activations"]), len(whole["children"])) == (7, 5)
    for page in (1, 2, 5):
        monkeypatch.setattr(_export, "_PAGE", page)
        assert export(world, workflow_id) == whole


def test_a_task_is_exported_alone(world):
    task_id = world.submit("leaf", {"n": 1})
    world.run()
    found = world.look.export_task({"scope": SCOPE, "task_id": task_id})
    assert found["outcome"]["output"] == {"n": 1}
    assert found["task"]["task_id"] == task_id


def test_only_what_is_in_the_scope_is_exported(world):
    workflow_id = world.start("leaf")
    with pytest.raises(NotFound):
        world.look.export_workflow(
            {"scope": {**SCOPE, "namespace": "x"}, "workflow_id": workflow_id}
        )
