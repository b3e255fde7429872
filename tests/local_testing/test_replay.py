"""Histories are replayed against code in real runners."""

import json
import os

import pytest

from ledgence.local._errors import StartRefused, TargetError
from ledgence.local._replay import (
    History,
    HistoryError,
    ReplayMismatch,
    replay,
    replay_history,
)
from tests.support.local_histories import enrol, history_of, write
from tests.support.local_world import SCOPE, World
from tests.support.programs import write_manifest

FLOW = """\
import os

from ledgence.worker.workflow import OperationKind, workflow_context


def charge(cents):
    print("charging")
    assert os.environ.get("NEVER"), "called again"


def ask(text):
    assert os.environ.get("NEVER"), "called again"


async def handle(event):
    ctx = workflow_context()
    cents = event["data"]["cents"]
    if ctx.continuation == "start":
        paid = await ctx.local("charge", charge, cents=cents)
        await ctx.operation(
            "ask", ask, kind=OperationKind.TOOL, version="1", arguments={"text": "a"}
        )
        fork = await ctx.fork(
            "f",
            branches=[
                ctx.branch("b1", entrypoint="branch", queue="q", data={"n": 1}),
                ctx.branch("b2", entrypoint="branch", queue="q", data={"n": 2}),
            ],
        )
        return ctx.join(fork, resume="joined", state=paid)
    if ctx.continuation == "branch":
        return ctx.complete(event["data"])
    if ctx.continuation == "joined":
        mails = [
            ctx.task(key, program="leaf", version="1", queue="q", data=ctx.state)
            for key in ("mail", "letter")
        ]
        return ctx.suspend(continuation="told", state=None, until=mails)
    if ctx.continuation == "told":
        return ctx.wait_event("ok", continuation="end", state=None, timeout_ms=5000)
    return ctx.complete(ctx.wake["kind"])
"""
FLOW = FLOW.replace('["cents"]', '.get("cents", 5)')


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The history of a run in which functions did work."""
    world = World()
    target = write(tmp_path_factory.mktemp("recorded"), FLOW)
    module = enrol(world, "flow", target)
    module.charge.__code__ = (lambda cents: {"paid": cents}).__code__
    module.ask.__code__ = (lambda text: text).__code__
    workflow_id = world.start("flow", {"cents": 5})
    world.run(skip=True)
    assert world.result(workflow_id)["output"] == "timeout"
    history = history_of(world, workflow_id)
    world.store.close()
    return history


def changed(directory, *changes):
    source = FLOW
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return write(directory, source)


def differences(history, target, **options):
    return replay(history, target, **options).differences


def test_one_line_makes_a_test_of_the_same_code(recorded, tmp_path):
    recorded.save(tmp_path / "file.json")
    report = replay_history(tmp_path / "file.json", write(tmp_path, FLOW))
    assert (report.compared, report.skipped, report.differences) == (6, (), ())
    assert "charging" not in "\n".join(report.output)


def test_every_activation_may_have_its_own_process(recorded, tmp_path):
    source = FLOW.replace("import os\n", "import os\n\nprint('imported')\n", 1)
    target = write(tmp_path, source)
    assert replay(recorded, target).output.count("imported") == 1
    assert replay(recorded, target, fresh_processes=True).output.count("imported") == 6


def test_a_replay_may_run_in_this_process(recorded, tmp_path, capfd):
    source = FLOW.replace("import os\n", "import os\n\nprint('in', os.getpid())\n", 1)
    report = replay_history(recorded, write(tmp_path, source), in_process=True)
    assert (report.compared, report.differences) == (6, ())
    assert capfd.readouterr().out == f"in {os.getpid()}\n"


def test_a_replay_in_this_process_finds_differences_too(recorded, tmp_path):
    target = changed(tmp_path, ("charge, cents=cents", "charge, cents=cents + 1"))
    (only,) = differences(recorded, target, in_process=True)
    assert (only.what, only.key, only.got) == ("step", "charge", "6")


CHANGES = {
    "an argument": (
        [("charge, cents=cents", "charge, cents=cents + 1")],
        [("step", "charge", "$.input.cents", "5", "6")],
        "another in every run",
    ),
    "a renamed function": (
        [("def charge(", "def bill("), ("charge, cents", "bill, cents")],
        [("step", "charge", "$.callable", '"program:charge"', '"program:bill"')],
        "a function that was renamed",
    ),
    "a version": (
        [('version="1", arguments', 'version="2", arguments')],
        [("step", "ask", "$.input.version", '"1"', '"2"')],
        "another in every run",
    ),
    "the data of a branch": (
        [('data={"n": 2}', 'data={"n": 3}')],
        [("fork", "f", "$.branches[1].data.n", "2", "3")],
        "another in every run",
    ),
    "a fork of another key": (
        [('"f",', '"g",')],
        [
            ("fork", "f", "$", "a fork", "(absent)"),
            ("fork", "g", "$", "(absent)", "a fork"),
        ],
        "branches that were added",
    ),
    "the state": (
        [("state=paid", "state=[paid]")],
        [("decision", None, "$.state", "an object of 1", "a list of 1")],
        "another in every run",
    ),
    "a continuation": (
        [('continuation="told", state', 'continuation="sent", state')],
        [("decision", None, "$.continuation", '"told"', '"sent"')],
        "a continuation that was renamed",
    ),
    "the data of a child": (
        [("data=ctx.state)", "data=1)")],
        [
            ("command", "mail", "$.data", "an object of 1", "1"),
            ("command", "letter", "$.data", "an object of 1", "1"),
        ],
        "another in every run",
    ),
    "a child of another key": (
        [('("mail", "letter")', '("mail", "parcel")')],
        [
            ("command", "letter", "$", "a command", "(absent)"),
            ("command", "parcel", "$", "(absent)", "a command"),
            ("decision", None, "$.until[1]", '"letter"', '"parcel"'),
        ],
        "a child that was added",
    ),
    "the order of children": (
        [('("mail", "letter")', '("letter", "mail")')],
        [
            ("decision", None, "$.commands", "mail, letter", "letter, mail"),
            ("decision", None, "$.until[0]", '"mail"', '"letter"'),
            ("decision", None, "$.until[1]", '"letter"', '"mail"'),
        ],
        "an order that is another",
    ),
    "a time-out": (
        [("timeout_ms=5000", "timeout_ms=5001")],
        [("decision", "ok", "$.wait.timeout_ms", "5000", "5001")],
        "another in every run",
    ),
    "another decision": (
        [('ctx.complete(ctx.wake["kind"])', 'ctx.fail("late", "too late")')],
        [("decision", None, "$.kind", "the decision complete", "the decision fail")],
        "a branch of the code",
    ),
}


@pytest.mark.parametrize(("changes", "found", "cause"), CHANGES.values(), ids=CHANGES)
def test_every_change_is_told_by_key_and_field(
    recorded, tmp_path, changes, found, cause
):
    got = differences(recorded, changed(tmp_path, *changes))
    assert [
        (one.what, one.key, one.path, one.expected, one.got) for one in got
    ] == found
    assert cause in got[0].causes[0]


def test_a_step_that_is_gone_is_told(recorded, tmp_path):
    target = changed(
        tmp_path,
        ('await ctx.local("charge", charge, cents=cents)', '{"paid": cents}'),
    )
    (only,) = differences(recorded, target)
    assert (only.what, only.key, only.got) == ("step", "charge", "(absent)")
    assert only.expected == "a call of program:charge"
    assert "added, removed" in only.causes[0]


def test_a_step_that_is_new_is_told(recorded, tmp_path):
    target = changed(
        tmp_path,
        (
            "        fork = await",
            '        await ctx.local("new", dict)\n        fork = await',
        ),
    )
    (only,) = differences(recorded, target)
    assert (only.what, only.key) == ("step", "new")
    assert (only.expected, only.got) == ("(absent)", "a call of builtins:dict")


def test_code_that_raises_is_told_with_its_output(recorded, tmp_path):
    target = changed(tmp_path, ("ctx.complete(event", "ctx.complete(1 / 0, event"))
    report = replay(recorded, target)
    assert [one.what for one in report.differences] == ["result", "result"]
    first = report.differences[0]
    assert first.expected == "the decision complete"
    assert first.got.startswith("runtime_error: ZeroDivisionError") or first.got
    assert any("ZeroDivisionError" in line for line in report.output)
    assert first.workflow_id == recorded.child("b1").id


def test_a_process_that_dies_is_told_and_the_rest_is_played(recorded, tmp_path):
    target = changed(tmp_path, ('ctx.complete(ctx.wake["kind"])', "os._exit(3)"))
    report = replay(recorded, target)
    (only,) = report.differences
    assert report.compared == 6
    assert "ended with status 3" in only.got
    assert only.revision == 3


def test_code_that_takes_too_long_is_stopped(recorded, tmp_path):
    target = changed(
        tmp_path, ('ctx.complete(ctx.wake["kind"])', "__import__('time').sleep(600)")
    )
    last = recorded.to_json() | {"children": []}
    last["activations"] = last["activations"][-1:]
    (only,) = differences(last, target, timeout=0.3)
    assert "[deadline_exceeded]" in only.got


def test_a_mismatch_says_all_of_it(recorded, tmp_path):
    target = changed(tmp_path, ("charge, cents=cents", "charge, cents=cents + 1"))
    with pytest.raises(ReplayMismatch) as caught:
        replay_history(recorded, target)
    error = caught.value
    assert error.code == "replay_mismatch"
    assert error.differences == error.report.differences
    text = str(error)
    assert "1 of 6 activations" in text
    assert (
        "activation 0 (start), step 'charge': $.input.cents: expected 5, got 6" in text
    )
    assert "often: a value that is another in every run" in text
    assert "output of the program:" in text


def test_what_has_no_accepted_decision_is_skipped(tmp_path):
    def flow(job):
        return job.suspend("end", until=["unknown"])

    world = World()
    world.program("flow", flow)
    refused, unclaimed = world.start("flow"), world.start("flow")
    world.step()
    target = write(tmp_path, FLOW)
    for workflow_id, reason in ((refused, "was refused"), (unclaimed, "no decision")):
        with pytest.raises(HistoryError) as caught:
            replay(history_of(world, workflow_id), target)
        assert caught.value.code == "replay_empty"
        assert reason in caught.value.details["skipped"]


def test_owned_workflows_need_their_own_target(tmp_path):
    parent = """\
    from ledgence.worker.workflow import workflow_context


    def handle(event):
        ctx = workflow_context()
        if ctx.continuation == "start":
            ref = ctx.workflow("c", program="sub", version="1", queue="q", data=None)
            return ctx.suspend(continuation="end", state=None, until=[ref])
        return ctx.complete(ctx.get_result("c"))
    """
    child = """\
    from ledgence.worker.workflow import workflow_context


    def handle(event):
        return workflow_context().complete("inner")
    """
    world = World()
    targets = {
        "flow": write(tmp_path, parent, "flow.py"),
        "sub": write(tmp_path, child, "sub.py"),
    }
    for name, target in targets.items():
        enrol(world, name, target)
    workflow_id = world.start("flow")
    world.run()
    history = history_of(world, workflow_id)
    report = replay(history, targets["flow"])
    assert report.compared == 2
    (skipped,) = report.skipped
    assert skipped.workflow_id == history.child("c").id
    assert "'sub'" in skipped.reason
    both = replay(history.to_json(), targets["flow"], programs={"sub": targets["sub"]})
    assert (both.compared, both.skipped) == (3, ())


def test_a_program_directory_is_a_target(recorded, tmp_path):
    write(tmp_path, FLOW)
    runtime = {"kind": "python", "python": "3.11", "protocol": 3}
    import sys

    runtime["python"] = "{}.{}".format(*sys.version_info[:2])
    write_manifest(tmp_path, runtime=runtime)
    assert replay_history(recorded, tmp_path).compared == 6
    write_manifest(tmp_path)
    with pytest.raises(TargetError) as caught:
        replay(recorded, tmp_path)
    assert caught.value.code == "protocol_mismatch"


def test_a_program_that_cannot_be_imported_is_no_difference(recorded, tmp_path):
    with pytest.raises(StartRefused):
        replay(recorded, write(tmp_path, "def handle(event): pass\n1 / 0\n"))


def test_a_history_from_which_something_was_deleted_is_refused(recorded, tmp_path):
    data = json.loads(recorded.dumps())
    del data["activations"][0]["context"]
    with pytest.raises(HistoryError) as caught:
        replay(data, write(tmp_path, FLOW))
    assert caught.value.code == "history_format"


def test_a_decision_that_was_not_applied_is_skipped(recorded, tmp_path):
    data = json.loads(recorded.dumps())
    data["activations"][0]["applied_at"] = None
    report = replay(data, write(tmp_path, FLOW))
    assert report.compared == 5
    assert [one.reason for one in report.skipped] == ["its decision was not applied"]


def test_a_mismatch_of_many_differences_shows_the_first(recorded, tmp_path):
    source = """\
    from ledgence.worker import get_logger
    from ledgence.worker.workflow import workflow_context


    def handle(event):
        ctx = workflow_context()
        get_logger("flow").warning("here")
        print("not ended", end="", flush=True)
        commands = [
            ctx.task(f"t{n}", program="p", version="1", queue="q", data=n)
            for n in range(14)
        ]
        return ctx.suspend(continuation="x", state=None, until=commands)
    """
    last = json.loads(recorded.dumps()) | {"children": []}
    last["activations"] = [one for one in last["activations"] if one["revision"] == 1]
    with pytest.raises(ReplayMismatch) as caught:
        replay_history(last, write(tmp_path, source))
    text = str(caught.value)
    more = len(caught.value.differences) - 12
    assert more > 2
    assert f"  ... {more} more differences" in text
    assert caught.value.report.output == ("WARNING flow: here", "not ended")


def test_a_mismatch_without_output_shows_none(recorded, tmp_path):
    last = json.loads(recorded.dumps()) | {"children": []}
    last["activations"] = last["activations"][-1:]
    target = changed(tmp_path, ('ctx.wake["kind"])', "1)"))
    with pytest.raises(ReplayMismatch) as caught:
        replay_history(last, target)
    assert "output of the program" not in str(caught.value)


def test_a_task_cannot_be_replayed(tmp_path):
    world = World()
    task_id = world.submit()
    history = History.of_task(world.look, {"scope": SCOPE, "task_id": task_id})
    with pytest.raises(HistoryError) as caught:
        replay(history, write(tmp_path, FLOW))
    assert caught.value.code == "history_kind"
