"""Scenarios S38 to S40: forks and trees."""

import pytest

from ledgence.local._engine import InvalidInput, ObsoleteOperation
from tests.support.local_world import Died, World, branch, command


@pytest.fixture
def world():
    return World()


def test_S38_branches_run_before_the_parent_joins(world):
    def flow(job):
        if job.continuation == "start":
            receipt = job.fork(
                "f", branch("a", "left", data=1), branch("b", "right", data=2)
            )
            assert receipt == {
                "committed": True,
                "key": "f",
                "branch_keys": ["a", "b"],
            }
            for _ in range(2):
                world.play(world.claim())
            status = world.workflow(job.payload["workflow_id"])
            assert (status["revision"], status["state"]) == (0, "running")
            assert status["activation_id"] == job.task_id
            return job.suspend("join", until=["a", "b"])
        if job.continuation == "join":
            return job.complete({k: v["outcome"] for k, v in job.inputs.items()})
        return job.complete([job.continuation, job.data])

    world.program("flow", flow)
    workflow_id = world.start("flow", "parent data")
    world.run()
    parent, left, right, join = world.jobs
    assert [job.continuation for job in (left, right)] == ["left", "right"]
    for job, data in ((left, 1), (right, 2)):
        assert job.data == data
        assert job.payload["revision"] == 0
        assert job.payload["parent_workflow_id"] == workflow_id
        assert job.payload["root_workflow_id"] == workflow_id
        assert job.assignment.descriptor == parent.assignment.descriptor
    assert join.payload["revision"] == 1
    assert set(join.inputs) == {"a", "b"}
    assert world.result(workflow_id)["output"] == {
        "a": {"kind": "succeeded", "output": ["left", 1]},
        "b": {"kind": "succeeded", "output": ["right", 2]},
    }


def forking(second):
    """A controller that forks, dies once, and forks again."""

    def flow(job):
        if job.continuation == "start":
            data = 1 if job.number == 1 else second
            job.fork("f", branch("a", data=data))
            if job.number == 1:
                raise Died
            return job.suspend("join", until=["a"])
        if job.continuation == "join":
            return job.complete("joined")
        return job.wait_event("go", "end")

    return flow


def test_S39_a_retry_with_the_same_fork_goes_on(world):
    world.program("flow", forking(1))
    workflow_id = world.start("flow")
    world.run(skip=True)
    assert list(world.children(workflow_id)) == ["a"]
    world.send(world.child(workflow_id, "a"), "go")
    # The branch's second activation has the continuation "end".
    world.programs = {key: _branch_end(old) for key, old in world.programs.items()}
    world.run()
    assert world.result(workflow_id) == {"kind": "succeeded", "output": "joined"}


def _branch_end(old):
    def flow(job):
        return job.complete() if job.continuation == "end" else old(job)

    return flow


def test_S39_a_retry_with_another_fork_ends_the_run(world):
    world.program("flow", forking(1.0))
    workflow_id = world.start("flow")
    world.run(skip=True)
    parents = [job for job in world.jobs if job.continuation == "start"]
    assert len(parents) == 2
    assert world.result(workflow_id)["error"]["kind"] == "workflow_activation_failed"
    failure = world.outcome(parents[0].task_id)["failure"]
    assert failure["error"]["kind"] == "protocol"
    assert world.children(workflow_id)["a"]["workflow_state"] == "cancelled"


def test_S40_cancellation_goes_down_and_ends_bottom_up(world):
    def root(job):
        return job.suspend("end", command("child", "child", kind="workflow"))

    def child(job):
        return job.suspend(
            "end",
            command("grand", "grand", kind="workflow"),
            command("task", "slow", queue="slow"),
        )

    world.program("root", root)
    world.program("child", child)
    world.program("grand", lambda job: job.wait_event("k", "end"))
    world.program("slow", lambda job: None)
    root_id = world.start("root")
    for _ in range(3):
        world.play(world.claim(queues=["q"]))
    running = world.claim(queues=["slow"])
    child_id = world.child(root_id, "child")
    grand_id = world.child(child_id, "grand")
    world.clock.advance(5)
    assert world.cancel(root_id)["state"] == "cancelling"
    world.engine.pump()
    states = [world.workflow(one)["state"] for one in (root_id, child_id, grand_id)]
    assert states == ["cancelling", "cancelling", "cancelled"]
    world.clock.advance(5)
    world.succeed(running, "too late")
    world.engine.pump()
    runs = [world.workflow(one) for one in (root_id, child_id, grand_id)]
    assert [run["state"] for run in runs] == ["cancelled"] * 3
    times = [run["terminal_at"] for run in runs]
    assert times == sorted(times, reverse=True)
    assert times[1] >= world.task(running.task_id)["terminal_at"]
    assert world.task(running.task_id)["state"] == "cancelled"
    with pytest.raises(ObsoleteOperation):
        world.send(grand_id, "k")


def test_S40_a_child_at_depth_seventeen_is_refused(world):
    def deeper(job):
        if job.continuation == "start":
            return job.suspend("end", command("c", "deeper", kind="workflow"))
        return job.complete(job.inputs["c"]["outcome"])

    world.program("deeper", deeper)
    workflow_id = world.start("deeper")
    world.run()
    outcome, depth = world.result(workflow_id), 0
    while outcome["kind"] == "succeeded":
        outcome, depth = outcome["output"], depth + 1
    assert depth == 16
    assert outcome["error"]["kind"] == "decision_application_failed"


def test_S40_a_fork_at_depth_seventeen_is_refused(world):
    refused = []

    def deeper(job):
        if job.continuation == "start":
            try:
                job.fork("f", branch("b", "start"))
            except InvalidInput as error:
                refused.append(error)
                return job.complete("bottom")
            return job.suspend("end", until=["b"])
        return job.complete(job.inputs["b"]["outcome"]["output"])

    world.program("deeper", deeper)
    workflow_id = world.start("deeper")
    world.run()
    assert len(refused) == 1
    assert len({job.payload["workflow_id"] for job in world.jobs}) == 17
    assert world.result(workflow_id)["output"] == "bottom"
