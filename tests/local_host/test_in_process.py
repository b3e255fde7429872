"""Handlers that run in the test's own process, for a debugger."""

import os
import sys
import threading

import pytest

from ledgence.local import LocalHost, RunFailed
from ledgence.worker import current_invocation
from tests.support.local_cli import ROOT
from tests.support.local_host import Heard, write

EXAMPLES = ROOT / "examples"

TASK = """
import os
import helper
from ledgence.worker import current_invocation

SEEN = []


async def handle(event):
    SEEN.append(event["data"])
    data = event["data"]
    if data == "raise":
        raise ValueError("no")
    if data == "exit":
        raise SystemExit(3)
    if data == "set":
        return {1, 2}
    if data == "tuple":
        return (1, 2)
    return [os.getpid(), helper.WHO, current_invocation().attempt_no]
"""

SYNC = """
def handle(event):
    import late
    return [late.WHO, event["data"]]
"""

FLOW = """
from ledgence.worker.workflow import workflow_context

CALLS = []


def step(n):
    CALLS.append(n)
    return n


async def handle(event):
    ctx = workflow_context()
    out = await ctx.local("a", step, n=event["data"])
    if event["data"] == 2 and len(CALLS) < 3:
        raise ValueError("again")
    return ctx.complete({"out": out, "calls": len(CALLS)})
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("programs")
    targets = {
        "task": write(directory, "task", TASK),
        "sync": write(directory, "sync", SYNC),
        "flow": write(directory, "flow", FLOW),
    }
    (directory / "task" / "helper.py").write_text("WHO = 'helper'\n")
    (directory / "sync" / "late.py").write_text("WHO = 'late'\n")
    return targets


@pytest.fixture
def host(programs):
    with LocalHost(programs=programs, listener=Heard(), in_process=True) as opened:
        yield opened


def test_a_handler_runs_here_with_its_own_modules(host):
    modules, path = set(sys.modules), list(sys.path)
    assert host.run_task("task", 1) == [os.getpid(), "helper", 1]
    # All three programs are called `program`; each sees its own.
    assert host.run_task("sync", 1) == ["late", 1]
    assert host.run_task("task", 2) == [os.getpid(), "helper", 1]
    assert not {"program", "helper", "late"} & set(sys.modules)
    assert sys.path == path
    assert modules - set(sys.modules) == set()
    with pytest.raises(RuntimeError):
        current_invocation()


def test_values_follow_the_same_rules(host):
    assert host.run_task("task", "tuple") == [1, 2]
    with pytest.raises(RunFailed) as caught:
        host.run_task("task", "set")
    assert caught.value.outcome.error["kind"] == "invalid_output"
    with pytest.raises(RunFailed) as caught:
        host.run_task("task", "raise")
    assert caught.value.outcome.error == {"kind": "business_error", "message": "no"}


def test_what_ends_a_process_ends_the_attempt_alone(host):
    outcome = host.result(host.submit_task("task", "exit"))
    assert outcome.attempts == 3
    assert outcome.error["kind"] == "runtime"
    assert "SystemExit" in outcome.error["message"]


def test_a_workflow_has_its_context_and_its_journal(host):
    assert host.result(host.start_workflow("flow", 1)).output == {"out": 1, "calls": 1}


def test_a_step_that_was_recorded_does_not_run_again(host):
    outcome = host.result(host.start_workflow("flow", 2))
    assert outcome.error["kind"] == "workflow_activation_failed"
    history = host.history(outcome.run)
    assert history.operation("a").output == 2


@pytest.mark.parametrize(
    ("name", "data", "output"),
    [
        ("fork_join", {"pages": ["a b", "c"]}, {"pages": 2, "words": 3}),
        ("event_timeout", {"order": 1, "total": 2}, {"order": 1, "status": "lapsed"}),
    ],
)
def test_examples_run_here_as_well(host, name, data, output):
    host.add_program(name, EXAMPLES / name / "program.py:handle")
    assert host.result(host.start_workflow(name, data)).output == output


def test_a_module_that_was_imported_before_is_used_as_it_is(host, programs):
    directory = programs["task"].removesuffix("/program.py:handle")
    sys.path.insert(0, directory)
    try:
        import helper

        helper.WHO = "patched"
        # The host's own copy was loaded by no test before: a new host.
        with LocalHost(programs=programs, listener=Heard(), in_process=True) as other:
            assert other.run_task("task", 1)[1] == "patched"
        assert sys.modules["helper"] is helper
    finally:
        sys.path.remove(directory)
        sys.modules.pop("helper", None)


def test_a_missing_handler_fails_at_startup(host, tmp_path):
    host.add_program(
        "none", write(tmp_path, "none", "import gone_for_good\nhandle = 1")
    )
    outcome = host.result(host.submit_task("none"))
    assert outcome.error["phase"] == "startup"
    assert "gone_for_good" in outcome.error["message"]


def test_a_wait_has_no_bound_while_a_handler_runs(tmp_path):
    """As at a breakpoint: here it is a stub that waits for the test."""
    at, go = threading.Event(), threading.Event()

    def breakpoint_(data):
        at.set()
        assert go.wait(20)
        return data

    with LocalHost(
        listener=Heard(), in_process=True, time="real", wait_seconds=0.01
    ) as host:
        host.stub("p", breakpoint_)
        run = host.submit_task("p", 5)
        assert at.wait(20)
        threading.Timer(0.2, go.set).start()
        assert host.result(run).output == 5


def test_a_real_clock_stands_still_while_a_handler_runs(tmp_path):
    program = """
    import time

    def handle(event):
        time.sleep(0.3)
    """
    with LocalHost(
        programs={"p": write(tmp_path, "p", program)},
        listener=Heard(),
        in_process=True,
        time="real",
    ) as host:
        run = host.submit_task("p")
        host.result(run)
        status = host.status(run)
        assert status["terminal_at"] - status["submitted_at"] < 250
