"""Runners that are killed on purpose, and errors that no retry cures."""

import pytest

from ledgence.local import LocalHost, RunFailed
from tests.support.local_host import Heard, write

FLOW = """
import sys

from ledgence.worker.workflow import workflow_context


def step(n):
    print("step", n, file=sys.stderr, flush=True)
    return n


async def handle(event):
    ctx = workflow_context()
    for n in range(2):
        await ctx.local(f"s{n}", step, n=n)
    return ctx.complete("done")
"""

CHANGED = """
from ledgence.worker import current_invocation
from ledgence.worker.workflow import workflow_context


def step(n):
    return n


async def handle(event):
    ctx = workflow_context()
    await ctx.local("s", step, n=current_invocation().attempt_no)
    raise ValueError("once more")
"""

# The frames of a workflow in a warm process, as they cross the pipe.
FRAMES = [
    (">", "invoke"),
    ("<", "runtime_request"),
    (">", "runtime_reply"),
    ("<", "runtime_request"),
    (">", "runtime_reply"),
    ("<", "result"),
]


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return write(tmp_path_factory.mktemp("programs"), "flow", FLOW)


def test_a_runner_may_be_killed_after_every_frame(target):
    """Nothing is lost; only a step whose commit was not kept runs again."""
    heard = Heard()
    with LocalHost(programs={"flow": target}, listener=heard) as host:
        host.result(host.start_workflow("flow"))
        for number, (direction, kind) in enumerate(FRAMES, 1):
            heard.outputs.clear()
            host.crash_after(number)
            run = host.start_workflow("flow")
            outcome = host.result(run)
            assert (outcome.output, outcome.attempts) == ("done", 2)
            point = host.crashes[-1]
            assert (point.direction, point.type) == (direction, kind)
            assert (point.origin.run_id, point.origin.attempt) == (run.id, 1)
            steps = sorted(text for _, text in heard.outputs)
            twice = {2: ["step 0"], 4: ["step 1"]}.get(number, [])
            assert steps == sorted(["step 0", "step 1", *twice])
        assert len(host.crashes) == len(FRAMES)


def test_a_kill_can_be_asked_for_from_the_beginning(target):
    with LocalHost(programs={"flow": target}, listener=Heard(), crash=1) as host:
        assert host.result(host.start_workflow("flow")).attempts == 2
        assert [(one.number, one.type) for one in host.crashes] == [(1, "ready")]
        assert host.result(host.start_workflow("flow")).attempts == 1


def test_a_failure_by_purpose_says_so(target):
    with LocalHost(
        programs={"flow": target}, listener=Heard(), crash=lambda point: True
    ) as host:
        outcome = host.result(host.start_workflow("flow"))
        assert "on purpose, after frame" in outcome.error["message"]


def test_an_error_that_no_retry_cures_is_told_at_once(tmp_path):
    heard = Heard()
    programs = {"flow": write(tmp_path, "flow", CHANGED)}
    with LocalHost(programs=programs, listener=heard) as host:
        run = host.start_workflow("flow")
        with pytest.raises(RunFailed) as caught:
            host.result(run).unwrap()
    assert "binding_changed" in caught.value.outcome.error["message"]
    assert "a retry does not help" in caught.value.hint
    # At the second attempt, while the policy still has a third.
    note = heard.notes[0]
    assert "attempt 2" in note
    assert "a retry does not help" in note
