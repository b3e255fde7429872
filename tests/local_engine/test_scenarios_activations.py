"""Scenarios S14 to S23: events, activations, the journal."""

import pytest

from ledgence.local._engine import Conflict, OwnershipLost
from tests.support.local_world import SCOPE, Died, Fails, World, command

PLAIN = {
    "specversion",
    "id",
    "source",
    "type",
    "subject",
    "time",
    "datacontenttype",
    "ldgtenantid",
    "ldgnamespace",
    "ldgrunid",
    "ldgtaskid",
    "ldgattemptid",
    "ldgattemptno",
    "data",
}
TRACE = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": "v=1"}


@pytest.fixture
def world():
    return World()


def test_S14_a_plain_event_has_exactly_the_plain_attributes(world):
    task_id = world.submit(data={"invoice_id": "INV-1"})
    event = world.step().event
    assert set(event) == PLAIN
    assert event["source"] == "urn:ledgence:orchestrator"
    assert event["type"] == "com.ledgence.task.invocation.requested.v1"
    assert event["subject"] == f"tasks/{task_id}"
    assert event["time"] == "2026-09-21T14:13:20Z"
    assert event["data"] == {"invoice_id": "INV-1"}
    assert event["ldgattemptno"] == 1


def test_S15_lineage_attributes_follow_the_table(world):
    def root(job):
        if job.continuation == "start":
            child = command("c", "nested", kind="workflow")
            return job.suspend("end", command("t"), child)
        return job.complete()

    def nested(job):
        if job.continuation == "start":
            return job.suspend("end", command("inner"))
        return job.complete()

    world.program("root", root)
    world.program("nested", nested)
    root_id = world.start("root", trace=TRACE)
    world.run()
    nested_id = world.child(root_id, "c")
    lineage = {}
    for job in world.jobs:
        event = job.event
        assert event["traceparent"] == TRACE["traceparent"]
        assert event["tracestate"] == TRACE["tracestate"]
        extra = set(event) - PLAIN - set(TRACE)
        kind = (event["ldgworkflowid"], "ldgactivationid" in event)
        lineage[kind] = {name: event[name] for name in extra}
        if "ldgactivationid" in event:
            assert event["ldgactivationid"] == event["ldgtaskid"]
            del lineage[kind]["ldgactivationid"]
    owned = {"ldgparentworkflowid": root_id, "ldgrootworkflowid": root_id}
    assert lineage == {
        (root_id, True): {"ldgworkflowid": root_id},
        (root_id, False): {"ldgworkflowid": root_id},
        (nested_id, True): {"ldgworkflowid": nested_id, **owned},
        (nested_id, False): {"ldgworkflowid": nested_id, **owned},
    }
    assert len({job.event["ldgrunid"] for job in world.jobs}) == len(world.jobs)


def test_S15_the_root_is_that_of_the_whole_tree(world):
    def deeper(job):
        if job.continuation == "start" and job.data:
            child = command("c", "deeper", kind="workflow", data=job.data - 1)
            return job.suspend("end", child, command("t"))
        return job.complete()

    world.program("deeper", deeper)
    root = world.start("deeper", 3)
    world.run()
    parents = {}
    for job in world.jobs:
        event = job.event
        if event["ldgworkflowid"] == root:
            continue
        assert event["ldgrootworkflowid"] == root
        parents.setdefault(event["ldgworkflowid"], set()).add(
            event["ldgparentworkflowid"]
        )
    assert len(parents) == 3
    assert all(len(found) == 1 for found in parents.values())
    for workflow_id, (parent,) in parents.items():
        status = world.workflow(workflow_id)
        assert status["parent_workflow_id"] == parent
        assert status["root_workflow_id"] == root


def test_S16_the_first_context_is_empty(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    job = world.step()
    assert job.payload == {
        "v": 1,
        "workflow_id": workflow_id,
        "activation_id": job.task_id,
        "revision": 0,
        "continuation": "start",
        "state": None,
        "inputs": {},
        "local_steps": [],
    }


def test_S17_continue_gives_a_new_activation_of_the_same_run(world):
    def flow(job):
        if job.continuation == "start":
            job.commit("a", 1)
            return job.proceed("next", state={"n": 1})
        return job.complete()

    world.program("flow", flow)
    world.start("flow", {"x": 1})
    first, second = world.step(), world.step()
    assert second.payload["revision"] == 1
    assert second.payload["state"] == {"n": 1}
    assert second.payload["local_steps"] == []
    assert second.data == first.data == {"x": 1}
    assert second.task_id != first.task_id
    assert second.number == 1


def test_S18_every_applied_decision_counts(world):
    def flow(job):
        if job.continuation == "start":
            return job.proceed("sleep")
        if job.continuation == "sleep":
            return job.sleep("z", 0, "end")
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    status = world.workflow(workflow_id)
    assert (status["state"], status["revision"]) == ("succeeded", 3)


def test_S19_a_context_is_frozen_when_it_is_scheduled(world):
    def flow(job):
        if job.continuation == "start":
            commands = command("a"), command("b", queue="later")
            return job.suspend("two", *commands, until=["a"], state=[1])
        if job.number == 1:
            job.commit("s")
            # Another child ends while the first attempt runs.
            world.play(world.claim(queues=["later"]))
            raise Fails
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    for _ in range(3):
        world.play(world.claim(queues=["q"]))
    world.clock.advance(5000)
    world.run()
    first, second = (job for job in world.jobs if job.payload and job.inputs)
    assert set(first.inputs) == {"a"}
    assert len(second.payload.pop("local_steps")) == 1
    assert first.payload.pop("local_steps") == []
    assert first.payload == second.payload
    assert world.workflow(workflow_id)["state"] == "succeeded"


def test_S20_a_controller_that_always_raises_fails_its_run(world):
    def flow(job):
        raise Fails("always")

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run(skip=True)
    assert [job.number for job in world.jobs] == [1, 2, 3]
    assert len({job.task_id for job in world.jobs}) == 1
    assert world.workflow(workflow_id)["revision"] == 0
    error = world.result(workflow_id)["error"]
    assert error["kind"] == "workflow_activation_failed"
    assert "always" in error["message"]


def test_S21_a_committed_step_is_replayed_by_the_next_attempt(world):
    calls = []

    def flow(job):
        known = {step["key"]: step for step in job.payload["local_steps"]}
        if "a" not in known:
            calls.append(job.number)
        assert job.commit("a", 7) == {"committed": True}
        if job.number == 1:
            raise Died
        return job.complete(known["a"]["output"])

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run(skip=True)
    assert calls == [1]
    assert world.result(workflow_id) == {"kind": "succeeded", "output": 7}
    request = {
        "scope": SCOPE,
        "workflow_id": workflow_id,
        "activation_id": world.jobs[0].task_id,
    }
    (step,) = world.look.local_steps(request)
    assert step["attempt_id"] == world.jobs[0].owner.attempt_id


def test_S22_another_record_under_a_key_is_a_conflict(world):
    def flow(job):
        job.commit("a", None, {"n": 1})
        with pytest.raises(Conflict):
            job.commit("a", None, {"n": 1.0})
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    assert world.workflow(workflow_id)["state"] == "succeeded"
    request = {
        "scope": SCOPE,
        "workflow_id": workflow_id,
        "activation_id": world.jobs[0].task_id,
    }
    (step,) = world.look.local_steps(request)
    assert type(step["record"]["input"]["n"]) is int


def test_S23_after_the_report_only_old_records_are_acknowledged(world):
    def flow(job):
        job.commit("a")
        return job.complete()

    world.program("flow", flow)
    world.start("flow")
    job = world.step()
    with pytest.raises(OwnershipLost) as caught:
        job.commit("b")
    assert caught.value.failure == "cancelled"
    assert job.commit("a") == {"committed": True}
