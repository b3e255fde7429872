"""What becomes of decisions and runs: outages, failing, cancelling, draining."""

import pytest

from ledgence.local._engine import ObsoleteOperation
from tests.support.local_world import (
    SCOPE,
    T0,
    BusinessError,
    Died,
    World,
    command,
)


@pytest.fixture
def world():
    return World()


def error_kind(world, workflow_id):
    outcome = world.result(workflow_id)
    return None if outcome is None else outcome.get("error", {}).get("kind")


def test_an_application_failure_of_a_controller_is_the_runs_error(world):
    def flow(job):
        raise BusinessError("foreign helper")

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    assert world.result(workflow_id) == {
        "kind": "failed",
        "error": {"kind": "business_error", "message": "foreign helper"},
    }
    assert len(world.jobs) == 1


def test_a_controller_that_is_cancelled_on_its_own_fails_the_run(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    world.cancel_task(world.workflow(workflow_id)["activation_id"])
    world.engine.pump()
    assert error_kind(world, workflow_id) == "workflow_activation_cancelled"


def test_lost_controllers_run_out_of_attempts(world):
    world.program("flow", lambda job: job.complete())
    policy = {"max_attempts": 1, "retry_delay_ms": 0}
    workflow_id = world.start("flow", retry_policy=policy)
    world.claim()
    world.advance(60_000)
    assert error_kind(world, workflow_id) == "workflow_activation_failed"


def test_an_unconfirmed_decision_is_applied_when_the_task_is_final(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    job = world.claim()
    world.succeed(job, job.suspend("n", command("a")), "unconfirmed")
    status = world.workflow(workflow_id)
    assert (status["state"], status["revision"]) == ("running", 0)
    world.advance(60_000)
    assert world.workflow(workflow_id)["state"] == "waiting"
    assert set(world.children(workflow_id)) == {"a"}


def test_a_cancellation_before_the_application_discards_the_decision(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    job = world.claim()
    world.outage = True
    world.succeed(job, job.suspend("n", command("a")))
    status = world.workflow(workflow_id)
    assert (status["state"], status["activation_id"]) == ("running", job.task_id)
    world.cancel(workflow_id)
    world.outage = False
    world.advance(60_000)
    assert world.result(workflow_id) == {"kind": "cancelled"}
    assert world.children(workflow_id) == {}


def test_an_outage_of_the_programs_is_waited_for_with_growing_pauses(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    job = world.claim()
    world.outage = True
    world.succeed(job, job.suspend("n", command("a")))
    pauses, at = [], world.clock.now_ms()
    for _ in range(9):
        due = world.engine.schedule().skip_to
        pauses.append(due - at)
        at = due
        world.clock.move_to(due)
        world.engine.pump()
    assert pauses == [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]
    assert world.workflow(workflow_id)["state"] == "running"
    world.outage = False
    world.advance(30_000)
    assert world.workflow(workflow_id)["state"] == "waiting"


def test_an_outage_of_a_day_fails_the_run(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    job = world.claim()
    world.outage = True
    world.succeed(job, job.suspend("n", command("a")))
    world.clock.move_to(T0 + 86_399_999)
    world.engine.pump()
    assert world.workflow(workflow_id)["state"] == "running"
    world.advance(30_000)
    assert error_kind(world, workflow_id) == "workflow_application_timeout"


def test_another_process_may_be_faster_with_a_postponed_decision(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    job = world.claim()
    world.outage = True
    world.succeed(job, job.suspend("n", command("a")))
    world.outage = False
    other = World(world.store, prefix="other-", start=T0 + 60_000)
    other.digests = world.digests
    find = world.resolve

    def resolve(program):
        other.engine.pump()
        return find(program)

    world.resolve = resolve
    world.advance(60_000)
    assert world.workflow(workflow_id)["state"] == "waiting"
    assert world.child(workflow_id, "a").startswith("task_other-")


def test_known_children_need_no_programs(world):
    def flow(job):
        if job.continuation == "start":
            return job.suspend("two", command("a"))
        if job.continuation == "two":
            world.outage = True
            return job.suspend("three", command("a"))
        return job.complete("done")

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    assert world.result(workflow_id)["output"] == "done"


def test_a_child_is_pinned_when_it_is_registered(world):
    seen = []
    world.program("leaf", lambda job: seen.append("old"))

    def flow(job):
        if job.continuation == "start":
            return job.suspend("end", command("a"))
        return job.complete()

    world.program("flow", flow)
    world.start("flow")
    world.play(world.claim())
    world.program("leaf", lambda job: seen.append("new"))
    world.run()
    assert seen == ["old"]


def test_children_carry_the_processing_trace_of_the_decision(world):
    trace = {"traceparent": f"00-{'c' * 32}-{'d' * 16}-01"}
    world.program("flow", lambda job: job.complete())
    world.start("flow", correlation_key="corr")
    job = world.claim()
    decision = job.suspend("n", command("a"), command("b", "flow", kind="workflow"))
    body = world.body({"kind": "succeeded", "output": decision})
    world.report(job, {**body, "processing_trace": trace})
    for _ in range(2):
        child = world.claim()
        assert child.event["traceparent"] == trace["traceparent"]
        assert "tracestate" not in child.event
        status = world.task(child.task_id)
        assert status["correlation_key"] == "corr"


def test_retries_stay_within_one_activation(world):
    def flow(job):
        if job.number < 3:
            raise Died
        return job.complete(job.number)

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.step()
    status = world.workflow(workflow_id)
    assert (status["state"], status["activation_id"]) == (
        "running",
        world.jobs[0].task_id,
    )
    world.run(skip=True)
    assert world.result(workflow_id)["output"] == 3


def test_more_than_a_pass_of_children_is_drained(world):
    def flow(job):
        if job.continuation == "start":
            tasks = (command(f"t{n}", queue="never") for n in range(40))
            return job.wait_event("go", "end", commands=list(tasks))
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.step()
    running = [world.claim(queues=["never"]) for _ in range(20)]
    world.cancel(workflow_id)
    world.engine.pump()
    assert world.workflow(workflow_id)["state"] == "cancelling"
    for job in running[1:]:
        world.succeed(job)
    assert world.workflow(workflow_id)["state"] == "cancelling"
    world.advance(30_000)
    assert world.workflow(workflow_id)["state"] == "cancelled"
    states = {child["task_state"] for child in world.children(workflow_id).values()}
    assert states == {"cancelled"}


def test_every_running_child_is_asked_to_stop_at_once(world):
    def flow(job):
        tasks = (command(f"t{n}", queue="busy") for n in range(40))
        return job.wait_event("go", "end", commands=list(tasks))

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.step()
    running = [world.claim(queues=["busy"]).owner.attempt_id for _ in range(40)]
    world.effects.clear()
    world.cancel(workflow_id)
    world.engine.pump()
    asked = [one for effects in world.effects for one in effects.stop]
    assert sorted(asked) == sorted(running)


def test_cancelling_is_idempotent_and_overrides_failing(world):
    def flow(job):
        if job.continuation == "start":
            tasks = [command("t", queue="never")]
            return job.wait_event("go", "end", commands=tasks)
        return job.fail("broken", "on purpose")

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    running = world.claim(queues=["never"])
    world.send(workflow_id, "go")
    world.run()
    status = world.workflow(workflow_id)
    assert (status["state"], status["revision"]) == ("failing", 2)
    assert status["activation_id"] == world.jobs[-1].task_id
    first = world.cancel(workflow_id)
    assert first["state"] == "cancelling"
    assert first["activation_id"] == status["activation_id"]
    assert world.cancel(workflow_id) == first
    world.succeed(running)
    world.engine.pump()
    assert world.result(workflow_id) == {"kind": "cancelled"}
    final = world.workflow(workflow_id)
    assert world.cancel(workflow_id) == final
    assert final["activation_id"] is None


def test_a_running_controller_is_stopped_too(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    job = world.claim()
    world.cancel(workflow_id)
    world.engine.pump()
    assert world.effects[-1].stop == [job.owner.attempt_id]
    assert world.workflow(workflow_id)["activation_id"] == job.task_id
    world.succeed(job, job.complete("ignored"))
    assert world.result(workflow_id) == {"kind": "cancelled"}
    with pytest.raises(ObsoleteOperation):
        world.send(workflow_id, "k")


def test_children_of_a_child_that_fails_alone_leave_the_parent_running(world):
    def flow(job):
        if job.continuation == "start":
            return job.suspend("end", command("c", "child", kind="workflow"))
        return job.complete(job.inputs["c"]["outcome"])

    def child(job):
        if job.continuation == "start":
            tasks = [command("t", queue="never")]
            return job.wait_event("go", "end", commands=tasks)
        return job.fail("child_error", "no")

    world.program("flow", flow)
    world.program("child", child)
    workflow_id = world.start("flow")
    world.run()
    world.send(world.child(workflow_id, "c"), "go")
    world.run()
    assert world.result(workflow_id)["output"] == {
        "kind": "failed",
        "error": {"kind": "child_error", "message": "no"},
    }
    grand = world.children(world.child(workflow_id, "c"))["t"]
    assert grand["task_state"] == "cancelled"


def test_every_terminal_status_stays_as_it_is(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    world.run()
    before = world.workflow(workflow_id)
    world.advance(10_000_000)
    world.cancel(workflow_id)
    assert world.workflow(workflow_id) == before
    tasks = world.look.list_tasks({"scope": SCOPE})["items"]
    assert [task["state"] for task in tasks] == ["succeeded"]
