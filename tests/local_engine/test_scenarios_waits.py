"""Scenarios S31 to S37: events, timers, approvals."""

import pytest

from ledgence.local._engine import Conflict, ObsoleteOperation
from ledgence.local._store import SqliteStore
from tests.support.local_world import SCOPE, T0, World, action, cloud_event, command


@pytest.fixture
def world():
    return World()


def waiting_on(key, timeout_ms=None):
    """A controller that waits for one event and completes with its wake."""

    def flow(job):
        if job.continuation == "start":
            return job.wait_event(key, "end", timeout_ms)
        return job.complete(job.wake)

    return flow


def error_kind(world, workflow_id):
    return world.result(workflow_id)["error"]["kind"]


def test_S31_an_event_may_come_before_its_wait(world):
    world.program("flow", waiting_on("k"))
    workflow_id = world.start("flow")
    event = cloud_event("e-1", {"ok": 1.0}, ldgtaskid="ignored")
    accepted = world.send(workflow_id, "k", event)["accepted_at"]
    world.clock.advance(1000)
    world.run()
    wake = world.result(workflow_id)["output"]
    assert wake == {
        "kind": "event",
        "key": "k",
        "event": event,
        "accepted_at": accepted,
    }
    assert accepted == T0
    assert world.jobs[-1].inputs == {}
    assert len(world.jobs) == 2


def test_S32_each_key_takes_one_event_and_each_event_one_key(world):
    world.program("flow", waiting_on("k"))
    workflow_id = world.start("flow")
    event = cloud_event("e-1", {"n": 1}, source="urn:s")
    first = world.send(workflow_id, "k", event)
    assert first == {
        "scope": SCOPE,
        "workflow_id": workflow_id,
        "key": "k",
        "event_id": "e-1",
        "event_source": "urn:s",
        "accepted_at": T0,
        "already_accepted": False,
    }

    def check():
        world.clock.advance(10)
        again = world.send(workflow_id, "k", event)
        assert again == {**first, "already_accepted": True}
        refused = [
            ("k", cloud_event("e-1", {"n": 1.0}, source="urn:s")),
            ("other", event),
            ("k", cloud_event("e-2", {"n": 1}, source="urn:s")),
        ]
        for key, changed in refused:
            with pytest.raises(Conflict):
                world.send(workflow_id, key, changed)

    check()
    world.run()
    assert world.workflow(workflow_id)["state"] == "succeeded"
    check()
    with pytest.raises(ObsoleteOperation):
        world.send(workflow_id, "new", cloud_event("e-3"))


def test_S33_an_event_just_before_the_deadline_wins(world):
    world.program("flow", waiting_on("k", 1000))
    workflow_id = world.start("flow")
    world.step()
    world.clock.advance(999)
    world.send(workflow_id, "k")
    world.clock.advance(60_000)
    world.run()
    wake = world.result(workflow_id)["output"]
    assert (wake["kind"], wake["accepted_at"]) == ("event", T0 + 999)


def test_S33_at_the_deadline_the_timeout_wins_however_late_the_host_looks(world):
    world.program("flow", waiting_on("k", 1000))
    workflow_id = world.start("flow")
    world.step()
    world.clock.advance(1000)
    with pytest.raises(ObsoleteOperation):
        world.send(workflow_id, "k")
    world.clock.advance(60_000)
    world.run()
    wake = world.result(workflow_id)["output"]
    assert wake == {"kind": "timeout", "key": "k", "deadline": T0 + 1000}


@pytest.mark.parametrize(("early", "kind"), [(1, "event"), (0, "timeout")])
def test_S33_a_buffered_event_counts_only_before_the_deadline(world, early, kind):
    # Duration 0: the deadline is the moment of the application.
    world.program("flow", waiting_on("k", 0))
    workflow_id = world.start("flow")
    world.send(workflow_id, "k")
    world.clock.advance(early)
    world.run()
    assert world.result(workflow_id)["output"]["kind"] == kind


def test_S33_at_equality_the_event_is_spent(world):
    def flow(job):
        to = "two" if job.continuation == "start" else "end"
        return job.wait_event(
            {"two": "k", "end": "l"}[to], to, 0 if to == "two" else None
        )

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.send(workflow_id, "k")
    world.run()
    assert world.workflow(workflow_id)["state"] == "waiting"
    page = world.look.inbox({"scope": SCOPE, "workflow_id": workflow_id})
    assert [event["pending"] for event in page["items"]] == [False]


def test_S34_a_timer_survives_the_host_and_fires_at_its_deadline(tmp_path):
    def flow(job):
        if job.continuation == "start":
            return job.sleep("z", 60_000, "end")
        return job.complete(job.wake)

    path = tmp_path / "store"
    with SqliteStore(path) as store:
        before = World(store)
        before.program("flow", flow)
        workflow_id = before.start("flow")
        before.run()
        with pytest.raises(ObsoleteOperation):
            before.send(workflow_id, "z")
    with SqliteStore(path) as store:
        after = World(store, start=T0 + 59_999, prefix="2", host_id="host_2")
        after.program("flow", flow, digest=next(iter(before.programs))[2])
        after.programs.update(before.programs)
        after.engine.recover()
        after.run()
        assert after.workflow(workflow_id)["state"] == "waiting"
        assert after.engine.schedule().next_at == T0 + 60_000
        after.clock.advance(1)
        after.run()
        wake = after.result(workflow_id)["output"]
        assert wake == {"kind": "timer", "key": "z", "deadline": T0 + 60_000}
        with pytest.raises(ObsoleteOperation):
            after.send(workflow_id, "z")


@pytest.mark.parametrize("kind", ["event", "timer", "approval"])
def test_S35_a_wait_key_is_used_once(world, kind):
    def flow(job):
        if job.continuation == "start":
            return job.sleep("k", 0, "again")
        if kind == "event":
            return job.wait_event("k", "end")
        if kind == "timer":
            return job.sleep("k", 5, "end")
        return job.approval("k", "end", action(), 5)

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    assert error_kind(world, workflow_id) == "decision_application_failed"
    assert world.workflow(workflow_id)["revision"] == 1


@pytest.mark.parametrize("kind", ["timer", "approval"])
def test_S35_a_key_with_an_accepted_event_takes_no_timer_nor_approval(world, kind):
    def flow(job):
        if kind == "timer":
            return job.sleep("k", 5, "end")
        return job.approval("k", "end", action(), 5)

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.send(workflow_id, "k")
    world.run()
    assert error_kind(world, workflow_id) == "decision_application_failed"


def asking(timeout_ms=1000, **arguments):
    def flow(job):
        if job.continuation == "start":
            return job.approval("refund", "end", action(**arguments), timeout_ms)
        return job.complete(job.wake)

    return flow


def test_S36_one_decision_resumes_one_activation(world):
    world.program("flow", asking(amount=1))
    workflow_id = world.start("flow")
    world.run()
    asked = world.approval(workflow_id, "refund")
    assert asked["status"] == "pending"
    assert (asked["activation_id"], asked["revision"]) == (world.jobs[0].task_id, 0)
    world.clock.advance(10)
    receipt = world.decide(workflow_id, "refund", reason="fine")
    assert receipt["already_accepted"] is False
    decision = {
        "decision_id": "d-1",
        "decision": "approve",
        "reviewer": "alice",
        "reason": "fine",
        "decided_at": T0 + 10,
    }
    assert receipt["approval"]["decision"] == decision
    world.clock.advance(10)
    world.run()
    again = world.decide(workflow_id, "refund", reason="fine")
    assert again["already_accepted"] is True
    with pytest.raises(Conflict):
        world.decide(workflow_id, "refund", reason="fine", reviewer="bob")
    with pytest.raises(Conflict):
        world.decide(workflow_id, "refund", reason="other")
    with pytest.raises(Conflict):
        world.decide(workflow_id, "refund", reason="fine", action=action(amount=1.0))
    resumed = world.jobs[-1]
    assert len(world.jobs) == 2
    approval = world.result(workflow_id)["output"]["approval"]
    assert approval == world.approval(workflow_id, "refund")
    assert approval["resumed_activation_id"] == resumed.task_id
    assert approval["revision"] + 1 == resumed.payload["revision"] == 1
    assert approval["status"] == "approved"


def test_S37_an_approval_without_time_is_expired(world):
    world.program("flow", asking(0, amount=1))
    workflow_id = world.start("flow")
    world.run()
    with pytest.raises(ObsoleteOperation):
        world.decide(workflow_id, "refund")
    approval = world.result(workflow_id)["output"]["approval"]
    assert (approval["status"], approval["decision"]) == ("expired", None)
    assert approval["resumed_activation_id"] == world.jobs[-1].task_id
    assert approval["created_at"] == approval["deadline"] == T0


def test_S37_an_overdue_approval_reads_pending_and_refuses(world):
    world.program("flow", asking(1000, amount=1))
    workflow_id = world.start("flow")
    world.run()
    world.clock.advance(1000)
    assert world.approval(workflow_id, "refund")["status"] == "pending"
    with pytest.raises(ObsoleteOperation):
        world.decide(workflow_id, "refund")
    world.run()
    assert world.result(workflow_id)["output"]["approval"]["status"] == "expired"


def test_S37_a_changed_action_is_a_conflict(world):
    world.program("flow", asking(amount=1))
    workflow_id = world.start("flow")
    world.run()
    with pytest.raises(Conflict):
        world.decide(workflow_id, "refund", action=action(amount=1.0))
    with pytest.raises(Conflict):
        world.decide(workflow_id, "refund", revision=1)
    with pytest.raises(Conflict):
        world.decide(workflow_id, "refund", activation_id="task_other")
    assert world.decide(workflow_id, "refund")["already_accepted"] is False


@pytest.mark.parametrize(
    ("late", "status"), [(999, "cancelled"), (1000, "expired")], ids=["early", "late"]
)
def test_S37_cancellation_closes_a_pending_approval(world, late, status):
    world.program("flow", asking(1000, amount=1))
    workflow_id = world.start("flow")
    world.run()
    world.clock.advance(late)
    world.cancel(workflow_id)
    world.run()
    approval = world.approval(workflow_id, "refund")
    assert (approval["status"], approval["resumed_activation_id"]) == (status, None)
    with pytest.raises(ObsoleteOperation):
        world.decide(workflow_id, "refund")
    assert len(world.jobs) == 1
    assert world.result(workflow_id) == {"kind": "cancelled"}


def test_S37_events_cannot_decide_an_approval(world):
    world.program("flow", asking(amount=1))
    workflow_id = world.start("flow")
    world.run()
    with pytest.raises(ObsoleteOperation):
        world.send(workflow_id, "refund")


def test_children_neither_wake_nor_get_lost_in_an_external_wait(world):
    def flow(job):
        if job.continuation == "start":
            return job.wait_event("k", "two", commands=[command("a")])
        if job.continuation == "two":
            return job.proceed("three")
        return job.complete(sorted(job.inputs))

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    assert world.workflow(workflow_id)["state"] == "waiting"
    world.send(workflow_id, "k")
    world.run()
    assert world.result(workflow_id)["output"] == ["a"]
