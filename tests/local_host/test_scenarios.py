"""Scenarios of orchestrator.md, section 19, with real processes, on both twins."""

import pytest

from ledgence.local import LocalHost
from tests.support.local_host import Heard, advance_past, attempts_of, write

TASK = """
import os
import sys
import time

from ledgence.worker import current_invocation
from ledgence.worker._profile import IMPLEMENTATION


def handle(event):
    match event["data"]:
        case "raise":
            raise ValueError("my own")
        case "hang":
            print("hangs", file=sys.stderr, flush=True)
            time.sleep(600)
        case "die":
            os._exit(7)
        case "die once":
            if current_invocation().attempt_no == 1:
                os._exit(7)
    return IMPLEMENTATION
"""

FLOW = """
import os
import sys

from ledgence.worker import current_invocation
from ledgence.worker.workflow import workflow_context


def step(n):
    print("step", n, file=sys.stderr, flush=True)
    return n + 1


async def handle(event):
    ctx = workflow_context()
    number = current_invocation().attempt_no
    match event["data"]["do"]:
        case "raise":
            raise ValueError("always")
        case "step":
            output = await ctx.local("a", step, n=1)
            if number == 1:
                os._exit(7)
            return ctx.complete(output)
    if ctx.continuation == "branch":
        return ctx.wait_event("go", continuation="branched", state=None)
    if ctx.continuation == "branched":
        return ctx.complete(ctx.wake["event"]["data"])
    if ctx.continuation == "joined":
        return ctx.complete([ctx.get_result(key) for key in ctx.inputs])
    data = {"do": "fork", "n": number if event["data"]["other"] else 1}
    branch = ctx.branch("b", entrypoint="branch", queue="q", data=data)
    fork = await ctx.fork("f", branches=[branch])
    if number == 1:
        os._exit(7)
    return ctx.join(fork, resume="joined", state=None)
"""

TWICE = {"max_attempts": 2, "retry_delay_ms": 5000}


@pytest.fixture(scope="module")
def heard():
    return Heard()


@pytest.fixture(scope="module")
def host(twin, heard, tmp_path_factory):
    directory = tmp_path_factory.mktemp("programs")
    programs = {
        "task": write(directory, "task", TASK),
        "flow": write(directory, "flow", FLOW),
    }
    with LocalHost(programs=programs, listener=heard) as opened:
        assert opened.run_task("task") == twin
        yield opened


@pytest.fixture(autouse=True)
def forget(heard):
    heard.outputs.clear()


def test_S06_a_handler_that_raises_is_not_tried_again(host):
    outcome = host.result(host.submit_task("task", "raise"))
    assert (outcome.state, outcome.attempts) == ("failed", 1)
    assert outcome.detail["failure"]["kind"] == "application"


def test_S07_a_dead_process_is_retried_with_new_identities(host):
    run = host.submit_task("task", "die once", retry_policy=TWICE)
    before = host.now_ms
    assert host.result(run).succeeded
    assert host.now_ms == before + 5000
    first, second = (one["event"] for one in attempts_of(host, run.id))
    assert [first["ldgattemptno"], second["ldgattemptno"]] == [1, 2]
    for name in ("id", "ldgattemptid", "time"):
        assert first[name] != second[name]
    for name in ("ldgtaskid", "ldgrunid", "data", "subject"):
        assert first[name] == second[name]


def test_S08_a_process_that_dies_every_time_fails_its_task(host):
    run = host.submit_task("task", "die", retry_policy=TWICE)
    outcome = host.result(run)
    assert (outcome.state, outcome.attempts) == ("failed", 2)
    assert outcome.detail["failure"]["kind"] == "execution"
    assert outcome.detail["failure"]["error"]["kind"] == "runtime"
    assert outcome.detail["attempt_id"] == host.status(run)["latest_attempt_id"]


def test_S10_a_program_that_runs_too_long_is_stopped_at_its_deadline(host, heard):
    run = host.submit_task("task", "hang", retry_policy=TWICE)
    heard.await_output("hangs")
    began = host.now_ms
    advance_past(host, 300_000)
    status = host.status(run)
    assert (status["state"], status["attempt_count"]) == ("queued", 1)
    assert status["available_at"] == began + 305_000
    advance_past(host, 5_000)
    heard.await_output("hangs", 2)
    advance_past(host, 400_000)
    outcome = host.result(run)
    assert (outcome.state, outcome.attempts) == ("failed", 2)
    assert outcome.error["kind"] == "timed_out"
    attempts = attempts_of(host, run.id)
    assert [one["state"] for one in attempts] == ["failed", "failed"]
    ended = [one["finished_at"] - began for one in attempts]
    assert ended == [300_000, 605_000]


def test_S20_a_controller_that_always_raises_fails_its_run(host):
    run = host.start_workflow("flow", {"do": "raise"})
    outcome = host.result(run)
    assert outcome.error["kind"] == "workflow_activation_failed"
    assert "always" in outcome.error["message"]
    assert host.status(run)["revision"] == 0
    (activation,) = host.history(run).activations
    attempts = attempts_of(host, activation["activation_id"])
    assert [one["event"]["ldgattemptno"] for one in attempts] == [1, 2, 3]


def test_S21_a_committed_step_is_replayed_by_the_next_attempt(host, heard):
    run = host.start_workflow("flow", {"do": "step"})
    assert host.result(run).output == 2
    assert [text for _, text in heard.outputs] == ["step 1"]
    (activation,) = host.history(run).activations
    first, second = attempts_of(host, activation["activation_id"])
    assert (first["state"], second["state"]) == ("failed", "succeeded")
    assert host.history(run).operation("a").output == 2


def test_S39_a_retry_with_the_same_fork_goes_on(host):
    run = host.start_workflow("flow", {"do": "fork", "other": False})
    (one,) = host.wait_until_waiting(run)
    assert (one.kind, one.key) == ("event", "go")
    host.send_event(one.run_id, "go", "from outside")
    assert host.result(run).output == ["from outside"]
    assert [op.kind for op in host.history(run).operations] == ["fork", "branch"]


def test_S39_a_retry_with_another_fork_ends_the_run(host):
    run = host.start_workflow("flow", {"do": "fork", "other": True})
    outcome = host.result(run)
    assert outcome.error["kind"] == "workflow_activation_failed"
    activation = host.history(run).activations[0]
    attempts = attempts_of(host, activation["activation_id"])
    assert len(attempts) == 2
    failure = attempts[1]["settlement"]["result"]["failure"]
    assert failure["error"]["kind"] == "protocol"
    assert host.history(run).child("b").state == "cancelled"
