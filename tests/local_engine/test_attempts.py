"""Claims, leases, reports and what becomes of attempts."""

import pytest

from ledgence.local._engine import (
    Conflict,
    InvalidInput,
    NotFound,
    Owner,
    OwnershipLost,
    Scope,
)
from tests.support.local_world import SCOPE, T0, Silent, World, execution

RETRYABLE = ["unavailable", "io", "capacity", "runtime", "timed_out", "cancelled"]
TERMINAL = ["invalid_input", "not_found", "integrity", "incompatible", "protocol"]


@pytest.fixture
def world():
    return World()


def attempts(world, task_id):
    return world.look.task_attempts({"scope": SCOPE, "task_id": task_id})


def test_a_claim_freezes_its_times(world):
    world.submit(attempt_timeout_ms=60_000)
    world.clock.advance(7)
    assignment = world.engine.claim()
    at = T0 + 7
    assert assignment.claimed_at == at
    assert assignment.deadline == at + 60_000
    assert assignment.authority_deadline == at + 90_000
    assert assignment.lease_expires_at == at + 60_000
    assert assignment.dispatched is False
    assert world.engine.claim() is None


def test_claims_go_by_availability_then_submission_then_id(world):
    first = world.submit(data=1)
    world.clock.advance(1)
    second = world.submit(data=2)
    third = world.submit(data=3)
    # The first one fails once and becomes available last.
    world.break_down(world.claim())
    order = [world.claim().task_id for _ in range(2)]
    assert order == [second, third]
    world.clock.advance(5000)
    assert world.claim().task_id == first


def test_claims_can_be_limited_to_scope_and_queues(world):
    other = world.submit(namespace="other")
    here = world.submit(queue="a")
    there = world.submit(queue="b")
    acme = Scope("acme", "billing")
    assert world.claim(scope=acme, queues=["c"]) is None
    assert world.claim(scope=acme, queues=["b", "c"]).task_id == there
    assert world.claim(scope=acme).task_id == here
    assert world.claim(scope=acme) is None
    assert world.claim().task_id == other


def test_a_renewal_moves_the_lease_but_not_past_the_authority(world):
    world.submit(attempt_timeout_ms=60_000)
    job = world.claim()
    world.clock.move_to(T0 + 20_000)
    lease = world.engine.renew(job.owner)
    assert (lease.expires_at, lease.budget_ms) == (T0 + 80_000, 40_000)
    world.clock.move_to(T0 + 60_000)
    lease = world.engine.renew(job.owner)
    assert (lease.expires_at, lease.budget_ms) == (T0 + 90_000, 0)
    world.clock.move_to(T0 + 89_999)
    world.succeed(job, "late but in time")
    assert world.outcome(job.task_id)["output"] == "late but in time"


@pytest.mark.parametrize(("after", "lives"), [(59_999, True), (60_000, False)])
def test_a_lease_is_over_at_its_expiry(world, after, lives):
    world.submit()
    job = world.claim()
    world.clock.advance(after)
    if lives:
        world.engine.renew(job.owner)
    else:
        with pytest.raises(OwnershipLost):
            world.engine.renew(job.owner)
        with pytest.raises(OwnershipLost):
            world.succeed(job)


def test_dispatch_is_needed_before_program_code(world):
    world.submit()
    assignment = world.engine.claim()
    body = world.body({"kind": "succeeded", "output": None})
    with pytest.raises(Conflict):
        world.engine.report(assignment, body)
    world.engine.report(assignment, world.body(execution("runtime", phase="startup")))
    world.clock.advance(5000)
    assert world.claim().number == 2


def test_an_attempt_that_never_started_says_so(world):
    policy = {"max_attempts": 1, "retry_delay_ms": 0}
    task_id = world.submit(retry_policy=policy)
    assignment = world.engine.claim()
    report = world.body(execution("integrity", phase="preparation"))
    world.engine.report(assignment, report)
    outcome = world.outcome(task_id)
    assert outcome["execution_may_have_started"] is False
    assert outcome["failure"]["phase"] == "preparation"


def test_a_warm_host_can_claim_and_dispatch_at_once(world):
    world.submit()
    assignment = world.engine.claim(dispatch=True)
    assert assignment.dispatched
    world.engine.report(assignment, world.body({"kind": "succeeded", "output": 1}))


def test_a_cancelled_attempt_is_not_dispatched(world):
    task_id = world.submit()
    assignment = world.engine.claim()
    assert world.cancel_task(task_id) == "active"
    lease = world.engine.dispatch(assignment.owner)
    assert lease.budget_ms == 0
    attempt = {"scope": SCOPE, "task_id": task_id}
    attempt["attempt_id"] = assignment.owner.attempt_id
    assert world.look.attempt(attempt)["execution_may_have_started"] is False


@pytest.mark.parametrize("kind", RETRYABLE)
def test_retryable_kinds_are_tried_again(world, kind):
    task_id = world.submit()
    world.break_down(world.claim(), kind)
    assert world.task(task_id)["state"] == "queued"
    assert attempts(world, task_id)[0]["state"] == "failed"


@pytest.mark.parametrize("kind", TERMINAL)
def test_terminal_kinds_end_the_task(world, kind):
    task_id = world.submit()
    world.break_down(world.claim(), kind, "why")
    outcome = world.outcome(task_id)
    assert outcome["failure"] == execution(kind, "why")["failure"]
    assert world.task(task_id)["attempt_count"] == 1


def test_a_failure_may_have_a_cleanup_error(world):
    task_id = world.submit()
    result = execution("protocol", cleanup_error=("io", "kill failed"))
    world.report(world.claim(), world.body(result))
    shown = world.outcome(task_id)["failure"]
    assert shown["cleanup_error"] == {"kind": "io", "message": "kill failed"}


def test_a_report_is_immutable_and_repeatable_for_ever(world):
    task_id = world.submit()
    job = world.claim()
    body = world.body(execution("runtime"))
    assert world.report(job, body)["already_accepted"] is False
    assert world.report(job, body)["already_accepted"] is True
    world.clock.advance(100_000)
    world.run()
    assert world.task(task_id)["state"] == "succeeded"
    assert world.report(job, body)["already_accepted"] is True
    for other in (
        {**body, "operation_id": "another"},
        {**body, "quiescence": "unconfirmed"},
        {**body, "result": execution("io")},
    ):
        with pytest.raises(Conflict):
            world.report(job, other)
    assert world.task(task_id)["attempt_count"] == 2


def test_a_report_must_bear_the_identity_of_its_attempt(world):
    from dataclasses import replace

    world.submit()
    other = world.submit()
    job = world.claim()
    body = world.body({"kind": "succeeded", "output": None})
    owner = job.owner
    descriptor = replace(job.assignment.descriptor, digest=f"sha256:{9:064}")
    wrong = [
        (replace(job.assignment, owner=replace(owner, lease_id="x")), Conflict),
        (replace(job.assignment, owner=replace(owner, task_id=other)), Conflict),
        (replace(job.assignment, owner=replace(owner, attempt_id="x")), NotFound),
        (replace(job.assignment, descriptor=descriptor), Conflict),
    ]
    for assignment, error in wrong:
        with pytest.raises(error):
            world.engine.report(assignment, body)
    world.engine.report(job.assignment, body)


BAD_REPORTS = {
    "no result": {"result": ...},
    "extra": {"extra": 1},
    "quiescence": {"quiescence": "maybe"},
    "operation": {"operation_id": ""},
    "kind": {"result": {"kind": "cancelled"}},
    "output missing": {"result": {"kind": "succeeded"}},
    "lost": {"result": {"kind": "failed", "failure": {"kind": "attempt_lost"}}},
    "error kind": {"result": execution("odd")},
    "phase": {"result": execution("runtime", phase="odd")},
    "too large": {"result": {"kind": "succeeded", "output": "x" * (8 << 20)}},
    "no failure": {"result": {"kind": "failed"}},
    "error without message": {
        "result": {
            "kind": "failed",
            "failure": {"kind": "application", "error": {"kind": "k", "message": None}},
        }
    },
    "cleanup error": {"result": execution(cleanup_error=("odd", "m"))},
    "trace": {"processing_trace": {"traceparent": "x"}},
}


@pytest.mark.parametrize("change", BAD_REPORTS.values(), ids=BAD_REPORTS)
def test_a_report_of_another_shape_is_refused(world, change):
    world.submit()
    job = world.claim()
    body = world.body({"kind": "succeeded", "output": None})
    for name, value in change.items():
        if value is ...:
            del body[name]
        else:
            body[name] = value
    with pytest.raises(InvalidInput):
        world.report(job, body)


@pytest.mark.parametrize(("depth", "fits"), [(64, True), (65, False)])
def test_the_output_of_a_task_may_nest_64_deep(world, depth, fits):
    output = None
    for _ in range(depth):
        output = [output]
    task_id = world.submit()
    job = world.claim()
    if fits:
        world.succeed(job, output)
        assert world.outcome(task_id)["output"] == output
    else:
        with pytest.raises(InvalidInput):
            world.succeed(job, output)


def test_confirmation_finalises_what_was_reported(world):
    task_id = world.submit()
    job = world.claim()
    world.succeed(job, 1, "unconfirmed")
    world.clock.advance(10)
    world.engine.confirm(job.owner)
    world.engine.confirm(job.owner)
    outcome = world.outcome(task_id)
    assert (outcome["quiescence"], outcome["output"]) == ("confirmed", 1)
    assert world.task(task_id)["terminal_at"] == T0 + 10


def test_confirmation_needs_a_report_and_a_lease(world):
    world.submit()
    job = world.claim()
    with pytest.raises(NotFound):
        world.engine.confirm(job.owner)
    world.succeed(job, 1, "unconfirmed")
    with pytest.raises(OwnershipLost):
        world.engine.confirm(Owner(job.task_id, job.owner.attempt_id, "x"))
    world.clock.advance(60_000)
    with pytest.raises(OwnershipLost):
        world.engine.confirm(job.owner)


@pytest.mark.parametrize(
    ("result", "state"),
    [
        ({"kind": "succeeded", "output": 1}, "succeeded"),
        (execution("runtime"), "queued"),
        (execution("protocol"), "failed"),
    ],
    ids=["success", "retryable", "terminal"],
)
def test_an_unconfirmed_report_counts_when_the_lease_ends(world, result, state):
    task_id = world.submit()
    job = world.claim()
    world.report(job, world.body(result, "unconfirmed"))
    assert world.task(task_id)["state"] == "active"
    world.advance(60_000)
    assert world.task(task_id)["state"] == state


@pytest.mark.parametrize(
    ("quiescence", "state"), [("confirmed", "cancelled"), ("unconfirmed", "lost")]
)
def test_a_cancelled_task_ends_cancelled_whatever_is_reported(world, quiescence, state):
    task_id = world.submit()
    job = world.claim()
    world.cancel_task(task_id)
    world.succeed(job, 1, quiescence)
    world.advance(30_000)
    assert world.outcome(task_id) == {"kind": "cancelled"}
    assert [one["state"] for one in attempts(world, task_id)] == [state]
    assert world.task(task_id)["attempt_count"] == 1


def test_cancellation_cuts_lease_and_authority(world):
    task_id = world.submit()
    job = world.claim()
    world.clock.advance(1000)
    world.cancel_task(task_id)
    requested = world.task(task_id)["cancel_requested_at"]
    world.clock.advance(1000)
    assert world.cancel_task(task_id) == "active"
    assert world.task(task_id)["cancel_requested_at"] == requested == T0 + 1000
    lease = world.engine.renew(job.owner)
    assert (lease.expires_at, lease.budget_ms) == (T0 + 31_000, 0)
    world.advance(28_999)
    assert world.task(task_id)["state"] == "active"
    world.advance(1)
    assert world.task(task_id)["state"] == "cancelled"


def test_cancelling_twice_names_the_attempt_to_stop_once(world):
    task_id = world.submit()
    job = world.claim()
    world.effects.clear()
    world.cancel_task(task_id)
    world.cancel_task(task_id)
    assert [one.stop for one in world.effects] == [[job.owner.attempt_id]]


def test_a_terminal_task_cannot_be_cancelled(world):
    task_id = world.submit()
    world.run()
    before = world.task(task_id)
    assert world.cancel_task(task_id) == "succeeded"
    assert world.task(task_id) == before


def test_attempts_of_a_dead_host_are_lost_at_start_up(world):
    world.program("p", lambda job: (_ for _ in ()).throw(Silent()))
    task_id = world.submit("p")
    world.step()
    reported = world.submit(data="kept")
    world.succeed(world.claim(), "kept", "unconfirmed")
    after = World(world.store, prefix="2-", host_id="host_2")
    assert after.engine.recover() == 2
    assert after.engine.recover() == 0
    status = after.task(task_id)
    assert (status["state"], status["available_at"]) == ("queued", T0 + 5000)
    assert attempts(after, task_id)[0]["state"] == "lost"
    assert after.outcome(reported)["output"] == "kept"


def test_no_host_declares_its_own_attempts_lost(world):
    world.submit()
    world.claim()
    assert world.engine.recover() == 0


def test_right_identifiers_of_another_attempt_are_refused(world):
    world.submit()
    world.submit()
    one, two = world.claim(), world.claim()
    mixed = Owner(one.task_id, one.owner.attempt_id, two.owner.lease_id)
    with pytest.raises(OwnershipLost):
        world.engine.renew(mixed)
