"""Events, waits and approvals at their limits."""

import json

import pytest

from ledgence.local._engine import (
    Busy,
    InvalidInput,
    NotFound,
    ObsoleteOperation,
)
from tests.support.local_world import SCOPE, T0, World, action, cloud_event, command

KIB = 1024


@pytest.fixture
def world():
    return World()


def flow(job):
    """Wait for one event after the other, as the data say."""
    keys = job.data or ["k"]
    number = job.payload["revision"]
    if number < len(keys):
        return job.wait_event(keys[number], "next")
    return job.complete()


def started(world, data=None):
    world.program("flow", flow)
    return world.start("flow", data)


BAD_EVENTS = {
    "no object": [],
    "no data": {k: v for k, v in cloud_event().items() if k != "data"},
    "version": cloud_event(specversion="0.3"),
    "empty id": cloud_event(""),
    "long id": cloud_event("i" * 129),
    "source": cloud_event(source="a b"),
    "content type": cloud_event(datacontenttype="text/plain"),
    "upper case": cloud_event(Region="eu"),
    "float attribute": cloud_event(rate=1.0),
    "null attribute": cloud_event(rate=None),
    "time": cloud_event(time="yesterday"),
    "tracestate alone": cloud_event(tracestate="a=1"),
}


@pytest.mark.parametrize("event", BAD_EVENTS.values(), ids=BAD_EVENTS)
def test_an_event_outside_the_profile_is_refused(world, event):
    workflow_id = started(world)
    with pytest.raises(InvalidInput) as caught:
        world.engine.send_event(
            {"scope": SCOPE, "workflow_id": workflow_id, "key": "k", "event": event}
        )
    assert caught.value.details["path"].startswith("$.event")


def test_field_checks_come_before_existence(world):
    with pytest.raises(InvalidInput):
        world.send("wf_unknown", "")
    with pytest.raises(NotFound):
        world.send("wf_unknown", "k")


def sized(size, event_id="e-1"):
    """Return an event whose compact JSON has this many bytes."""
    blank = cloud_event(event_id, "")
    room = size - len(json.dumps(blank, separators=(",", ":")))
    return cloud_event(event_id, "x" * room)


def test_an_event_is_limited_to_64_kib(world):
    workflow_id = started(world)
    with pytest.raises(InvalidInput):
        world.send(workflow_id, "k", sized(64 * KIB + 1))
    world.send(workflow_id, "k", sized(64 * KIB))
    world.run()
    assert world.jobs[-1].wake["event"] == sized(64 * KIB)


def test_128_events_may_be_pending(world):
    workflow_id = started(world)
    for number in range(128):
        world.send(workflow_id, f"k{number}", event_id=f"e{number}")
    with pytest.raises(Busy) as caught:
        world.send(workflow_id, "more")
    assert caught.value.body() == {"code": "busy"}
    # A repeated one is still acknowledged.
    assert world.send(workflow_id, "k1", event_id="e1")["already_accepted"]


def test_256_kib_of_events_may_be_pending(world):
    workflow_id = started(world, ["a"])
    for key in "abcd":
        world.send(workflow_id, key, sized(64 * KIB, key * 3))
    with pytest.raises(Busy):
        world.send(workflow_id, "e", event_id="eee")
    # The wait takes one, and there is room again.
    world.step()
    world.send(workflow_id, "e", event_id="eee")


def test_events_come_in_any_order_and_to_any_key(world):
    workflow_id = started(world, ["a", "b", "c"])
    for key in ("c", "a", "b"):
        world.clock.advance(1)
        world.send(workflow_id, key, event_id=key)
    world.run()
    taken = [job.wake["key"] for job in world.jobs if job.wake]
    assert taken == ["a", "b", "c"]


def test_a_buffered_event_ends_with_the_run(world):
    workflow_id = started(world)
    first = world.send(workflow_id, "later")
    world.send(workflow_id, "k", event_id="e-2")
    world.run()
    assert world.workflow(workflow_id)["state"] == "succeeded"
    assert world.send(workflow_id, "later") == {**first, "already_accepted": True}


@pytest.mark.parametrize("end", ["cancel", "fail", "complete"])
def test_no_event_is_pending_once_a_run_has_ended(world, end):
    def ending(job):
        return job.fail() if end == "fail" else job.complete()

    world.program("flow", ending)
    workflow_id = world.start("flow")
    world.send(workflow_id, "later")
    if end == "cancel":
        world.cancel(workflow_id)
    else:
        world.step()
    page = world.look.inbox({"scope": SCOPE, "workflow_id": workflow_id})
    assert [event["pending"] for event in page["items"]] == [False]


def test_the_largest_approval_stays_below_96_kib(world):
    wide = action("n" * 512, "v" * 128, a="x" * (32 * KIB - 700))

    def asking(job):
        proposed = {"a": "x" * (32 * KIB - 8)}
        return job.approval("k" * 128, "n", wide, 5, proposed_arguments=proposed)

    world.program("flow", asking)
    workflow_id = world.start("flow")
    world.run()
    receipt = world.decide(workflow_id, "k" * 128, reason="\x01" * 4096)
    shown = receipt["approval"]
    assert 88 * KIB < len(json.dumps(shown, separators=(",", ":"))) < 96 * KIB


def test_a_rejection_resumes_like_an_approval(world):
    def asking(job):
        if job.continuation == "start":
            return job.approval("k", "next", action(), 1000)
        return job.complete(job.wake["approval"]["status"])

    world.program("flow", asking)
    workflow_id = world.start("flow")
    world.run()
    world.clock.advance(999)
    receipt = world.decide(workflow_id, "k", "reject", reason="x" * 4096)
    assert receipt["approval"]["status"] == "rejected"
    world.run()
    assert world.result(workflow_id)["output"] == "rejected"


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": "maybe"},
        {"decision_id": "d" * 129},
        {"reviewer": ""},
        {"reason": "x" * 4097},
        {"revision": -1},
        {"action": {"name": "n"}},
        {"extra": 1},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_decision_command_of_another_shape_is_refused(world, changes):
    world.program("flow", lambda job: job.approval("k", "next", action(), 1000))
    workflow_id = world.start("flow")
    world.run()
    with pytest.raises(InvalidInput):
        world.decide(workflow_id, "k", **changes)


def test_an_unknown_request_is_not_found(world):
    workflow_id = started(world)
    request = {"scope": SCOPE, "workflow_id": workflow_id, "key": "k"}
    with pytest.raises(NotFound):
        world.look.approval(request)
    world.program("asks", lambda job: job.approval("k", "next", action(), 1000))
    other = world.start("asks")
    world.run()
    shown = world.approval(other, "k")
    command_ = {
        name: shown[name] for name in ("activation_id", "revision", "action", "key")
    }
    with pytest.raises(NotFound):
        world.engine.decide_approval(
            {
                **command_,
                "scope": SCOPE,
                "workflow_id": workflow_id,
                "decision_id": "d",
                "decision": "approve",
                "reviewer": "r",
                "reason": None,
            }
        )


def test_a_decided_approval_cannot_be_decided_after_its_end_either(world):
    def asking(job):
        if job.continuation == "start":
            return job.approval("k", "next", action(), 1000)
        return job.complete()

    world.program("flow", asking)
    workflow_id = world.start("flow")
    world.run()
    world.advance(1000)
    world.run()
    with pytest.raises(ObsoleteOperation):
        world.decide(workflow_id, "k")


def test_a_wait_leaves_other_keys_open(world):
    workflow_id = started(world, ["a", "b"])
    world.run()
    world.send(workflow_id, "b", event_id="b")
    assert world.workflow(workflow_id)["state"] == "waiting"
    world.send(workflow_id, "a", event_id="a")
    world.run()
    assert world.workflow(workflow_id)["state"] == "succeeded"


def test_wait_keys_and_child_keys_are_independent(world):
    def mixed(job):
        if job.continuation == "start":
            job.commit("k")
            job.fork("k", {"key": "b", "entrypoint": "e", "queue": "q", "data": None})
            return job.sleep("b", 0, "k", state=None)
        if job.continuation == "k":
            return job.suspend("end", command("k"), until=["k", "b"])
        return job.complete()

    world.program("flow", mixed)
    workflow_id = world.start("flow")
    world.run()
    assert world.workflow(workflow_id)["state"] == "succeeded"


def test_a_failure_closes_the_open_wait(world):
    """The only way to fail while waiting: the resumed context is too large."""
    workflow_id = started(world)
    world.run()
    world.cancel(workflow_id)
    world.engine.pump()
    page = world.look.waits({"scope": SCOPE, "workflow_id": workflow_id})
    (wait,) = page["items"]
    assert (wait["open"], wait["ended"], wait["closed_at"]) == (False, "cancelled", T0)
