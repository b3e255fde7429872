"""Stand-ins for programs."""

import pytest

from ledgence.local import LocalHost, RunFailed
from ledgence.local._errors import TargetError
from tests.support.local_host import Heard, write

PARENT = """
from ledgence.worker.workflow import workflow_context


def handle(event):
    ctx = workflow_context()
    if ctx.continuation == "start":
        make = ctx.workflow if event["data"] == "workflow" else ctx.task
        child = make("c", program="child", version="1", queue="q", data=[1, 2])
        return ctx.suspend(continuation="end", state=None, until=[child])
    return ctx.complete(ctx.inputs["c"]["outcome"])
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    target = write(tmp_path_factory.mktemp("programs"), "parent", PARENT)
    with LocalHost(programs={"parent": target}, listener=Heard()) as opened:
        yield opened


async def slow(data):
    return ["async", data]


@pytest.mark.parametrize(
    ("outcome", "output"),
    [
        (7, 7),
        (None, None),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        (lambda data: data, {"n": 1}),
        (slow, ["async", {"n": 1}]),
    ],
    ids=["value", "none", "tuple", "callable", "coroutine"],
)
def test_an_outcome_stands_for_a_task(host, outcome, output):
    host.stub("p", outcome)
    assert host.run_task("p", {"n": 1}) == output


@pytest.mark.parametrize(
    ("outcome", "kind", "message"),
    [
        (ValueError("no"), "business_error", "no"),
        (lambda data: data["x"], "business_error", "'x'"),
        (lambda data: {1, 2}, "invalid_output", "$: not a JSON value"),
        (float("nan"), "invalid_output", "nan"),
    ],
    ids=["exception", "raises", "no-json", "nan"],
)
def test_a_stub_fails_as_a_program_would(host, outcome, kind, message):
    host.stub("p", outcome)
    with pytest.raises(RunFailed) as caught:
        host.run_task("p", {"n": 1})
    error = caught.value.outcome.error
    assert error["kind"] == kind
    assert message.lower() in error["message"].lower()
    assert caught.value.outcome.attempts == 1


def test_a_stub_gets_its_own_copy_of_the_data(host):
    given = {"n": [1]}
    host.stub("p", lambda data: data["n"].append(2))
    host.run_task("p", given)
    assert given == {"n": [1]}


def test_a_stub_stands_for_a_child_task_of_any_version(host):
    host.stub("child", sum)
    outcome = host.result(host.start_workflow("parent", "task")).output
    assert (outcome["kind"], outcome["output"]) == ("succeeded", 3)


def test_a_stub_stands_for_a_child_workflow(host):
    host.stub("child", sum)
    outcome = host.result(host.start_workflow("parent", "workflow")).output
    assert outcome == {"kind": "succeeded", "output": 3}
    host.stub("child", ValueError("no"))
    outcome = host.result(host.start_workflow("parent", "workflow")).output
    assert outcome["error"] == {"kind": "business_error", "message": "no"}


def test_a_name_must_be_a_program_id(host):
    with pytest.raises(TargetError) as caught:
        host.stub("No Such_Name", 1)
    assert caught.value.code == "program_name"
    assert "'no-such_name'" in caught.value.hint


@pytest.mark.parametrize(
    "escaping", [SystemExit(3), KeyboardInterrupt("x")], ids=["exit", "interrupt"]
)
def test_what_is_no_error_of_a_program_is_raised_where_somebody_waits(escaping):
    with LocalHost() as host:
        host.stub("ends", escaping)
        run = host.submit_task("ends")
        with pytest.raises(type(escaping)):
            host.result(run)
        outcome = host.result(run)
        assert (outcome.state, outcome.attempts) == ("failed", 1)


def test_an_error_text_that_is_no_text_is_told_as_a_program_tells_it():
    with LocalHost() as host:
        host.stub("odd", ValueError("a\ud800"))
        outcome = host.result(host.submit_task("odd"))
        assert outcome.error == {"kind": "business_error", "message": "a?"}
