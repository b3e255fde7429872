"""Scenarios S01 to S13 of orchestrator.md, section 19: submission and tasks."""

import pytest

from ledgence.local._engine import Conflict, NotFound
from tests.support.local_world import (
    SCOPE,
    T0,
    BusinessError,
    Died,
    Silent,
    TimedOut,
    Unconfirmed,
    World,
)


@pytest.fixture
def world():
    return World()


def raising(error):
    def handler(job):
        raise error

    return handler


def test_S01_a_repeated_submission_answers_the_current_snapshot(world):
    first = world.submit(data={"a": 1, "b": 2}, key="k")
    world.run()
    world.digests.clear()  # the program is not consulted for a replay
    looked_up = len(world.resolved)
    again = world.engine.submit_task(
        {
            "input": {
                "attempt_timeout_ms": 300000,
                "retry_policy": {"retry_delay_ms": 5000, "max_attempts": 3},
                "correlation_key": None,
                "data": {"b": 2, "a": 1},
                "program": {"version": "1", "id": "leaf"},
                "queue": "q",
                **SCOPE,
            },
            "idempotency_key": "k",
            "origin_trace": None,
        }
    )
    assert again["task_id"] == first
    assert again["state"] == "succeeded"
    assert len(world.look.list_tasks({"scope": SCOPE})["items"]) == 1
    assert len(world.resolved) == looked_up


def test_S02_another_number_class_is_another_input(world):
    world.submit(data={"n": 1}, key="k")
    with pytest.raises(Conflict):
        world.submit(data={"n": 1.0}, key="k")
    with pytest.raises(NotFound):
        world.submit("unknown", key="k2")
    assert len(world.look.list_tasks({"scope": SCOPE})["items"]) == 1
    world.program("unknown", lambda job: None)
    world.submit("unknown", key="k2")


def test_S03_tasks_and_workflows_have_separate_keys(world):
    world.program("flow", lambda job: job.complete())
    task_id = world.submit(key="k")
    workflow_id = world.start("flow", key="k")
    assert workflow_id.startswith("wf_")
    assert world.submit(key="k") == task_id
    assert world.start("flow", key="k") == workflow_id


def test_S05_a_queued_task_runs_the_digest_it_was_bound_to(world):
    seen = []
    old = f"sha256:{1:064}"
    world.program("p", lambda job: seen.append("old"), digest=old)
    task_id = world.submit("p")
    world.program("p", lambda job: seen.append("new"), digest=f"sha256:{2:064}")
    world.run()
    assert seen == ["old"]
    snapshot = world.look.task_snapshot({"scope": SCOPE, "task_id": task_id})
    assert snapshot["descriptor"]["digest"] == old


def test_S06_a_business_error_is_final_at_once(world):
    world.program("p", raising(BusinessError("no")))
    task_id = world.submit("p")
    world.run(skip=True)
    assert world.task(task_id)["attempt_count"] == 1
    outcome = world.outcome(task_id)
    assert outcome["kind"] == "failed"
    assert outcome["failure"]["kind"] == "application"


def test_S07_a_retry_has_new_identities_and_the_same_task(world):
    world.program("p", raising(Died()))
    task_id = world.submit("p", {"n": 1})
    first = world.step()
    world.clock.advance(10)
    ended = world.clock.now_ms() - 10
    status = world.task(task_id)
    assert (status["state"], status["available_at"]) == ("queued", ended + 5000)
    assert world.step() is None
    world.clock.move_to(ended + 4999)
    assert world.step() is None
    world.clock.move_to(ended + 5000)
    second = world.step()
    one, two = first.event, second.event
    assert two["ldgattemptno"] == 2
    assert two["time"] != one["time"]
    for name in ("id", "ldgattemptid"):
        assert one[name] != two[name]
    for name in ("ldgtaskid", "ldgrunid", "data", "subject"):
        assert one[name] == two[name]


def test_S08_attempts_run_out(world):
    world.program("p", raising(Died()))
    policy = {"max_attempts": 2, "retry_delay_ms": 5000}
    task_id = world.submit("p", retry_policy=policy)
    world.run(skip=True)
    status, outcome = world.task(task_id), world.outcome(task_id)
    assert (status["state"], status["attempt_count"]) == ("failed", 2)
    assert outcome["failure"]["kind"] == "execution"
    assert outcome["failure"]["error"]["kind"] == "runtime"
    assert outcome["attempt_id"] == status["latest_attempt_id"]
    assert status["latest_attempt_id"] == world.jobs[1].owner.attempt_id


def test_S09_a_lease_that_ends_without_report_loses_the_attempt(world):
    world.program("p", raising(Silent()))
    policy = {"max_attempts": 1, "retry_delay_ms": 0}
    task_id = world.submit("p", retry_policy=policy)
    world.step()
    world.advance(59_999)
    assert world.task(task_id)["state"] == "active"
    world.advance(1)
    assert world.outcome(task_id) == {
        "kind": "failed",
        "attempt_id": world.jobs[0].owner.attempt_id,
        "quiescence": "unconfirmed",
        "execution_may_have_started": True,
        "failure": {"kind": "attempt_lost"},
    }
    attempts = world.look.task_attempts({"scope": SCOPE, "task_id": task_id})
    assert [attempt["state"] for attempt in attempts] == ["lost"]


def test_S10_the_deadline_ends_an_attempt_that_sleeps_and_it_is_retried(world):
    def handler(job):
        if job.number == 2:
            return "done"
        deadline = job.assignment.deadline
        for _ in range(3):  # the host renews while the program sleeps
            world.clock.advance(15_000)
            world.engine.renew(job.owner)
        # Skipping never passes the deadline of a running attempt.
        assert world.engine.schedule().skip_to is None
        assert world.engine.schedule().next_at == deadline
        world.clock.move_to(deadline - 1)
        assert world.engine.renew(job.owner).budget_ms == 1
        world.clock.move_to(deadline)  # as `advance` may
        assert world.engine.renew(job.owner).budget_ms == 0
        raise TimedOut

    world.program("p", handler)
    task_id = world.submit("p", attempt_timeout_ms=60_000)
    world.run(skip=True)
    first = world.look.attempt(
        {
            "scope": SCOPE,
            "task_id": task_id,
            "attempt_id": world.jobs[0].owner.attempt_id,
        }
    )
    failure = first["settlement"]["result"]["failure"]
    assert failure["error"]["kind"] == "timed_out"
    assert first["finished_at"] == T0 + 60_000
    assert world.outcome(task_id)["output"] == "done"
    assert world.task(task_id)["attempt_count"] == 2


def test_S11_a_task_that_waits_for_its_retry_is_cancelled_at_once(world):
    world.program("p", raising(Died()))
    task_id = world.submit("p")
    world.step()
    assert world.task(task_id)["state"] == "queued"
    assert world.cancel_task(task_id) == "cancelled"
    assert world.cancel_task(task_id) == "cancelled"
    assert world.outcome(task_id) == {"kind": "cancelled"}


def test_S12_cancellation_wins_over_a_reported_success(world):
    def handler(job):
        assert world.cancel_task(job.task_id) == "active"
        return "secret"

    world.program("p", handler)
    task_id = world.submit("p")
    job = world.step()
    assert world.outcome(task_id) == {"kind": "cancelled"}
    assert world.effects[-2].stop == [job.owner.attempt_id]
    attempts = world.look.task_attempts({"scope": SCOPE, "task_id": task_id})
    assert [attempt["state"] for attempt in attempts] == ["cancelled"]


def test_S13_an_unconfirmed_success_counts_when_the_lease_ends(world):
    world.program("p", lambda job: Unconfirmed("done"))
    task_id = world.submit("p")
    world.step()
    world.advance(59_999)
    assert world.task(task_id)["state"] == "active"
    assert world.outcome(task_id) is None
    assert world.engine.schedule().skip_to == T0 + 60_000
    world.advance(1)
    outcome = world.outcome(task_id)
    assert (outcome["kind"], outcome["output"]) == ("succeeded", "done")
    assert outcome["quiescence"] == "unconfirmed"
    assert world.task(task_id)["attempt_count"] == 1
