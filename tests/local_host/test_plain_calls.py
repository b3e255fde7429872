"""The host with plain calls: tasks, workflows, events, approvals, time."""

import time

import pytest

from ledgence.local import LocalHost, RunFailed, WaitExpired
from ledgence.local._engine import Conflict, InvalidInput, NotFound
from ledgence.local._errors import TargetError
from ledgence.local._host import HostError
from tests.support.local_host import Heard, write

DAY_MS = 86_400_000

ECHO = """
def handle(event):
    if event["data"] == "raise":
        raise ValueError("no such thing")
    return event["data"]
"""

FLOW = """
from enum import StrEnum

from ledgence.worker.workflow import ApprovalAction, Workflow


class Entry(StrEnum):
    START = "start"
    END = "end"


workflow = Workflow(Entry)


def double(n):
    return 2 * n


@workflow.entrypoint(Entry.START, default=True)
async def start(event, ctx):
    data = event["data"]
    number = await ctx.local("double", double, n=data["n"])
    match data["then"]:
        case "complete":
            return ctx.complete(number)
        case "sleep":
            return ctx.sleep(
                "nap", delay_ms=data["ms"], continuation=Entry.END, state=None
            )
        case "event":
            return ctx.wait_event(
                "go", continuation=Entry.END, state=None, timeout_ms=data.get("ms")
            )
        case "approval":
            action = ApprovalAction.for_callable(
                double, version="1", arguments={"n": data["n"]}
            )
            return ctx.request_approval(
                "may", action=action, resume=Entry.END, state=None, timeout_ms=1000
            )
        case "task":
            task = ctx.task(
                "echo", program="echo", version="7", queue="other", data=number
            )
            return ctx.suspend(continuation=Entry.END, state=None, until=[task])
        case "unknown":
            task = ctx.task("x", program="ecko", version="7", queue="q", data=None)
            return ctx.suspend(continuation=Entry.END, state=None, until=[task])
        case "fail":
            return ctx.fail("bad", "it is bad")
        case "raise":
            raise ValueError("always")


@workflow.entrypoint(Entry.END)
def end(event, ctx):
    if ctx.approval is not None:
        return ctx.complete(ctx.approval.status.value)
    if ctx.wake is not None:
        event = ctx.wake.get("event")
        return ctx.complete(ctx.wake["kind"] if event is None else event["data"])
    return ctx.complete([ctx.get_result(key) for key in ctx.inputs])


handle = workflow.build()
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("programs")
    return {
        "echo": write(directory, "echo", ECHO),
        "flow": write(directory, "flow", FLOW),
    }


@pytest.fixture(scope="module")
def host(programs):
    with LocalHost(programs=programs, listener=Heard()) as opened:
        yield opened


def start(host, then, n=1, **data):
    return host.start_workflow("flow", {"then": then, "n": n, **data})


def test_a_task_gives_its_output(host):
    assert host.run_task("echo", {"a": [1, 2.5, "x", None]}) == {
        "a": [1, 2.5, "x", None]
    }


def test_a_task_that_raises_is_a_failed_run(host):
    with pytest.raises(RunFailed) as caught:
        host.run_task("echo", "raise")
    assert caught.value.code == "run_failed"
    outcome = caught.value.outcome
    assert (outcome.state, outcome.attempts) == ("failed", 1)
    assert outcome.error == {"kind": "business_error", "message": "no such thing"}


def test_a_key_names_one_run(host):
    run = host.submit_task("echo", 1, key="k")
    assert host.submit_task("echo", 1, key="k") == run
    with pytest.raises(Conflict):
        host.submit_task("echo", 1.0, key="k")
    assert host.result(run).unwrap() == 1


def test_a_workflow_completes(host):
    run = start(host, "complete", 21)
    assert host.result(run).output == 42
    assert host.result(run.id).output == 42
    history = host.history(run)
    assert history.operation("double").output == 42
    assert history.state == "succeeded"


def test_a_workflow_that_fails_tells_kind_and_message(host):
    outcome = host.result(start(host, "fail"))
    assert outcome.error == {"kind": "bad", "message": "it is bad"}
    with pytest.raises(RunFailed):
        outcome.unwrap()


def test_a_controller_that_raises_is_tried_three_times(host):
    outcome = host.result(start(host, "raise"))
    assert outcome.error["kind"] == "workflow_activation_failed"
    assert "always" in outcome.error["message"]
    assert outcome.attempts == 3


def test_a_sleep_is_skipped_and_keeps_its_length(host):
    before, began = host.now_ms, time.monotonic()
    outcome = host.result(start(host, "sleep", ms=DAY_MS))
    assert outcome.output == "timer"
    assert host.now_ms - before == DAY_MS
    assert time.monotonic() - began < 10


def test_time_stands_still_while_nobody_awaits(host):
    run = start(host, "event", ms=5)
    before = host.now_ms
    (one,) = host.wait_until_waiting(run)
    assert (one.kind, one.key, one.in_ms) == ("event", "go", 5)
    assert host.now_ms == before
    host.send_event(run, "go", {"a": 1})
    assert host.result(run).output == {"a": 1}


def test_an_event_may_come_before_the_wait(host):
    run = start(host, "event")
    receipt = host.send_event(run, "go", 7, id="e-1", source="urn:x", type="t")
    assert (receipt["event_id"], receipt["already_accepted"]) == ("e-1", False)
    again = host.send_event(run, "go", 7, id="e-1", source="urn:x", type="t")
    assert again["already_accepted"]
    assert host.result(run).output == 7


def test_a_timeout_is_skipped_to(host):
    assert host.result(start(host, "event", ms=DAY_MS)).output == "timeout"


@pytest.mark.parametrize(
    ("decision", "status"), [("approve", "approved"), ("reject", "rejected")]
)
def test_an_approval_is_decided_without_waiting_first(host, decision, status):
    run = start(host, "approval")
    answer = host.decide_approval(run, "may", decision, reviewer="r", reason="why")
    assert answer["approval"]["status"] == status
    assert host.result(run).output == status


def test_an_approval_expires_in_skipped_time(host):
    assert host.result(start(host, "approval")).output == "expired"


def test_what_nobody_asked_for_cannot_be_decided(host):
    run = start(host, "event")
    with pytest.raises(NotFound) as caught:
        host.decide_approval(run, "may", "approve")
    assert caught.value.hint == "it waits for event 'go'"
    host.cancel(run)


def test_events_and_approvals_are_for_workflows(host):
    task = host.submit_task("echo")
    with pytest.raises(InvalidInput, match="no workflow"):
        host.send_event(task, "go")
    with pytest.raises(InvalidInput, match="no workflow"):
        host.decide_approval(task, "may", "approve")


def test_options_are_checked(host):
    with pytest.raises(InvalidInput) as caught:
        host.submit_task("echo", retry_polcy=1)
    assert caught.value.hint == "did you mean retry_policy?"
    with pytest.raises(InvalidInput) as caught:
        host.submit_task("echo", key="")
    assert caught.value.details["path"] == "$.idempotency_key"
    with pytest.raises(InvalidInput) as caught:
        host.submit_task("echo", retry_policy={"max_attempts": 0, "retry_delay_ms": 0})
    assert caught.value.details["path"] == "$.input.retry_policy.max_attempts"
    assert host.run_task("echo", 1, key=None, attempt_timeout_ms=60_000) == 1


@pytest.mark.parametrize(("nap", "waits"), [(4_999, True), (5_001, False)])
def test_a_retry_is_waited_for_unless_a_wait_would_end_first(host, nap, waits):
    sleeper = start(host, "sleep", ms=nap)
    host.wait_until_waiting(sleeper)
    before = host.now_ms
    run = start(host, "raise")
    awaited = host.wait_until_waiting(run)
    if waits:
        assert [(one.kind, one.in_ms) for one in awaited] == [("retry", 5_000)]
        assert "always" in awaited[0].detail
        assert host.now_ms == before
    else:
        assert [one.kind for one in awaited] == ["retry"]
        assert host.now_ms == before + 5_000
    host.cancel(run)
    host.cancel(sleeper)


def test_a_single_file_stands_for_every_version(host):
    assert host.result(start(host, "task", 4)).output == [8]


def test_an_unknown_program_is_refused_with_what_is_near(host):
    with pytest.raises(NotFound) as caught:
        host.run_task("ecko")
    assert caught.value.code == "not_found"
    assert "echo" in caught.value.hint
    with pytest.raises(NotFound) as caught:
        host.start_workflow("zzz")
    assert 'stub("zzz"' in caught.value.hint


def test_an_unknown_child_fails_its_workflow_with_what_is_near(host):
    outcome = host.result(start(host, "unknown"))
    assert outcome.error["kind"] == "decision_invalid"
    assert "did you mean echo?" in outcome.hint


def test_a_cancelled_run_has_no_output(host):
    run = start(host, "event")
    host.wait_until_waiting(run)
    host.cancel(run)
    outcome = host.result(run)
    assert (outcome.state, outcome.error) == ("cancelled", None)
    with pytest.raises(RunFailed) as caught:
        outcome.unwrap()
    assert caught.value.code == "run_cancelled"


def test_an_expired_wait_says_what_releases_it(host):
    run = start(host, "event")
    host.wait_until_waiting(run)
    with pytest.raises(WaitExpired) as caught:
        host.result(run, timeout=0.1)
    error = caught.value
    assert error.code == "wait_expired"
    (one,) = error.awaited
    assert (one.kind, one.key, one.deadline) == ("event", "go", None)
    assert one.release == f'send_event("{run.id}", "go", data)'
    assert one.release in str(error)
    host.send_event(run, "go", 1)
    assert host.result(run).output == 1


def test_advance_stops_at_everything_on_its_way(host):
    run = start(host, "sleep", ms=DAY_MS)
    before = host.now_ms
    host.advance(DAY_MS - 1)
    assert host.now_ms == before + DAY_MS - 1
    (one,) = host.awaited(run)
    assert (one.kind, one.key, one.in_ms) == ("timer", "nap", 1)
    host.advance(1)
    assert host.status(run)["state"] == "succeeded"
    for wrong in (-1, 1.0, 10**18):
        with pytest.raises(InvalidInput) as caught:
            host.advance(wrong)
        assert caught.value.details["path"] == "$.ms"


@pytest.mark.parametrize("run", ["task_gone", "wf_gone"])
def test_an_unknown_run_is_not_found(host, run):
    for call in (host.result, host.status, host.history, host.cancel):
        with pytest.raises(NotFound):
            call(run)


def test_a_text_that_is_no_id_is_refused(host):
    for name in ("x", "", None):
        with pytest.raises(InvalidInput):
            host.result(name)


def test_real_time_passes_by_itself(programs):
    with LocalHost(programs=programs, time="real", listener=Heard()) as host:
        began = time.monotonic()
        assert host.result(start(host, "sleep", ms=300)).output == "timer"
        assert time.monotonic() - began >= 0.3
        run = start(host, "sleep", ms=DAY_MS)
        host.advance(DAY_MS)
        assert host.result(run).output == "timer"


def test_a_closed_host_says_so(programs):
    with LocalHost(programs=programs, listener=Heard()) as host:
        pass
    with pytest.raises(HostError) as caught:
        host.run_task("echo")
    assert caught.value.code == "host_closed"


def test_a_program_that_is_not_there_is_refused_at_once(tmp_path):
    with (
        pytest.raises(TargetError),
        LocalHost(programs={"p": f"{tmp_path}/gone.py:handle"}),
    ):
        pass


def test_a_target_can_be_named_instead_of_a_program(programs):
    with LocalHost(listener=Heard()) as host:
        assert host.run_task(programs["echo"], 1) == 1
        run = host.submit_task(programs["echo"], 2)
        assert run.program.endswith("echo-program-handle")
        assert host.result(run).output == 2
        with pytest.raises(TargetError):
            host.run_task("gone/program.py:handle")
