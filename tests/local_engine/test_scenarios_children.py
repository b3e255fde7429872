"""Scenarios S24 to S30: decisions and children."""

import pytest

from tests.support.local_world import (
    BusinessError,
    World,
    command,
)


@pytest.fixture
def world():
    return World()


def error_kind(world, workflow_id):
    return world.result(workflow_id)["error"]["kind"]


def test_S24_an_unknown_until_key_rolls_everything_back(world):
    def flow(job):
        return job.suspend("end", command("x"), command("y"), until=["z"])

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    assert error_kind(world, workflow_id) == "decision_application_failed"
    assert world.workflow(workflow_id)["revision"] == 0
    assert world.children(workflow_id) == {}
    assert len(world.jobs) == 1


def test_S25_one_activation_gets_all_outcomes_in_their_shapes(world):
    def flow(job):
        if job.continuation == "start":
            return job.suspend(
                "end",
                command("a", "failing"),
                command("b", "waiting", kind="workflow"),
                command("c", data=[1.0]),
            )
        return job.complete(job.inputs)

    def failing(job):
        raise BusinessError("no")

    world.program("flow", flow)
    world.program("failing", failing)
    world.program("waiting", lambda job: job.wait_event("never", "end"))
    workflow_id = world.start("flow")
    world.run()
    assert world.workflow(workflow_id)["state"] == "waiting"
    world.cancel(world.child(workflow_id, "b"))
    world.run()
    entered = [job for job in world.jobs if job.payload and job.continuation == "end"]
    assert len(entered) == 1
    inputs = world.result(workflow_id)["output"]
    attempt = {
        job.event["ldgtaskid"]: job.owner.attempt_id
        for job in world.jobs
        if job.payload is None
    }
    common = {"quiescence": "confirmed", "execution_may_have_started": True}
    a, c = world.child(workflow_id, "a"), world.child(workflow_id, "c")
    error = {"kind": "business_error", "message": "no"}
    assert inputs == {
        "a": {
            "task_id": a,
            "state": "failed",
            "outcome": {
                "kind": "failed",
                "attempt_id": attempt[a],
                "failure": {"kind": "application", "error": error},
                **common,
            },
        },
        "b": {
            "kind": "workflow",
            "workflow_id": world.child(workflow_id, "b"),
            "state": "cancelled",
            "outcome": {"kind": "cancelled"},
        },
        "c": {
            "task_id": c,
            "state": "succeeded",
            "outcome": {
                "kind": "succeeded",
                "attempt_id": attempt[c],
                "output": [1.0],
                **common,
            },
        },
    }


def test_S26_suspend_delivers_exactly_the_listed_children(world):
    def flow(job):
        step = job.continuation
        if step == "start":
            return job.suspend("two", command("a"), command("b"))
        if step == "two":
            # Carried in these inputs and so consumed when this is applied.
            return job.suspend("three", command("c"), command("d"), until=["c", "d"])
        if step == "three":
            return job.suspend("four", until=["a"])
        if step == "four":
            return job.proceed("five", command("e"))
        return job.complete()

    world.program("flow", flow)
    world.start("flow")
    world.run()
    seen = {job.continuation: set(job.inputs) for job in world.jobs if job.payload}
    assert seen["two"] == {"a", "b"}
    assert seen["three"] == {"c", "d"}
    assert seen["four"] == {"a"}
    assert seen["five"] == set()


def test_S26_an_unlisted_terminal_child_appears_only_in_a_later_continue(world):
    def flow(job):
        step = job.continuation
        if step == "start":
            return job.wait_event("go", "two", commands=[command("a"), command("b")])
        if step == "two":
            return job.suspend("three", until=["a"])
        if step == "three":
            return job.proceed("four")
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    world.send(workflow_id, "go")
    world.run()
    seen = [(job.continuation, set(job.inputs)) for job in world.jobs if job.payload]
    assert seen == [
        ("start", set()),
        ("two", set()),
        ("three", {"a"}),
        ("four", {"b"}),
    ]


def test_S27_an_empty_until_is_ready_at_once_with_no_inputs(world):
    states = []

    def flow(job):
        if job.continuation == "start":
            return job.wait_event("go", "two", commands=[command("a")])
        if job.continuation == "two":
            return job.suspend("three", until=[])
        states.append(job.world.workflow(job.payload["workflow_id"])["state"])
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    assert world.children(workflow_id)["a"]["task_state"] == "succeeded"
    world.send(workflow_id, "go")
    world.step()
    assert world.workflow(workflow_id)["state"] == "running"
    world.run()
    assert world.jobs[-1].inputs == {}


def test_S28_continue_delivers_a_child_once_and_suspend_again(world):
    def flow(job):
        step = job.continuation
        if step == "start":
            return job.wait_event("go", "1", commands=[command("a")])
        if step == "3":
            return job.suspend("4", until=["a"])
        if step == "4":
            return job.complete()
        return job.proceed(str(int(step) + 1))

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    world.send(workflow_id, "go")
    world.run()
    seen = {job.continuation: set(job.inputs) for job in world.jobs if job.payload}
    assert seen == {"start": set(), "1": set(), "2": {"a"}, "3": set(), "4": {"a"}}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, None),
        ({"retry_policy": {"max_attempts": 3, "retry_delay_ms": 5000}}, None),
        ({"data": {"n": 1.0}}, "decision_application_failed"),
        ({"queue": "r"}, "decision_application_failed"),
        ({"attempt_timeout_ms": 60000}, "decision_application_failed"),
        ({"program": {"id": "leaf", "version": "2"}}, "decision_invalid"),
        ({"kind": "workflow"}, "decision_invalid"),
    ],
    ids=str,
)
def test_S29_a_child_key_keeps_its_binding(world, changes, kind):
    def flow(job):
        if job.continuation == "start":
            return job.suspend("two", command("a", data={"n": 1}))
        if job.continuation == "two":
            again = {**command("a", data={"n": 1}), **changes}
            return job.suspend("three", again)
        return job.complete()

    world.program("flow", flow)
    world.program("leaf", lambda job: None, version="2")
    workflow_id = world.start("flow")
    world.run()
    leaves = [job for job in world.jobs if job.payload is None]
    assert len(leaves) == 1
    if kind is None:
        assert world.workflow(workflow_id)["state"] == "succeeded"
        assert set(world.jobs[-1].inputs) == {"a"}
    else:
        assert error_kind(world, workflow_id) == kind
        assert world.workflow(workflow_id)["revision"] == 1


def test_S29_a_workflow_child_keeps_its_binding_too(world):
    def flow(job):
        again = command("a", "child", kind="workflow", data=1)
        if job.continuation == "start":
            return job.suspend("two", again)
        if job.continuation == "two":
            return job.suspend("three", again)
        return job.complete()

    world.program("flow", flow)
    world.program("child", lambda job: job.complete())
    workflow_id = world.start("flow")
    world.run()
    assert world.workflow(workflow_id)["state"] == "succeeded"
    assert len({job.payload["workflow_id"] for job in world.jobs}) == 2


def test_S30_complete_with_a_queued_child_fails_and_cancels_it(world):
    def flow(job):
        if job.continuation == "start":
            slow = command("a", queue="never")
            return job.wait_event("go", "two", commands=[slow])
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.step()
    world.send(workflow_id, "go")
    job = world.claim(queues=["q"])
    done = world.body({"kind": "succeeded", "output": job.complete()})
    world.engine.report(job.assignment, done)
    status = world.workflow(workflow_id)
    assert (status["state"], status["activation_id"]) == ("failing", job.task_id)
    world.engine.pump()
    assert world.children(workflow_id)["a"]["task_state"] == "cancelled"
    status = world.workflow(workflow_id)
    assert (status["state"], status["revision"]) == ("failed", 1)
    assert error_kind(world, workflow_id) == "decision_application_failed"
