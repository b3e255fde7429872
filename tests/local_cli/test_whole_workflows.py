"""``run --workflow``: the examples from the first activation to the end, and more."""

import json
import shlex

import pytest

from tests.support.local_cli import ROOT, write_program

EXAMPLES = ROOT / "examples"

FLOW = """\
from ledgence.worker.workflow import workflow_context

def handle(event):
    ctx = workflow_context()
    data = event["data"]
"""


@pytest.fixture
def flow(ledgence, tmp_path):
    """Writes a controller with the given body and runs it as a whole."""

    def run(body, *args, data="null"):
        indented = "".join(f"    {line}\n" for line in body.splitlines())
        path = write_program(tmp_path, FLOW + indented, "flow.py")
        return ledgence("run", f"{path}:handle", "--workflow", "--data", data, *args)

    return run


def whole(ledgence, name, data, *args):
    target = f"{EXAMPLES / name / 'program.py'}:handle"
    return ledgence("run", target, "--workflow", "--data", json.dumps(data), *args)


def test_checkpoint_tasks_takes_the_lower_price(ledgence):
    task = EXAMPLES / "checkpoint_tasks/tasks/price_quote/program.py"
    done = whole(
        ledgence,
        "checkpoint_tasks",
        {"article": " Bolt "},
        "--program",
        f"price-quote@1.0.0={task}:handle",
        "--table",
    )
    (result,) = done.results
    assert result.pop("workflow_id").startswith("wf_")
    output = {"supplier": "south", "price": 11}
    assert result == {"run": 1, "status": "success", "output": output}
    assert done.code == 0
    for said in ("activation start", "child quote:north succeeded", "succeeded"):
        assert said in done.err
    assert "quote:south  task        succeeded" in done.err


def test_event_timeout_lapses_when_time_is_skipped(ledgence):
    order = {"order": "A-1", "total": 990}
    done = whole(ledgence, "event_timeout", order, "--skip-time")
    assert done.results[0]["output"] == {"order": "A-1", "status": "lapsed"}


def test_approval_expires_when_time_is_skipped(ledgence):
    claim = {"customer": "Ada", "cents": 500}
    done = whole(ledgence, "approval", claim, "--skip-time")
    assert done.results[0]["output"] == {"refunded": 0, "because": "expired"}


def test_fork_join_counts_every_page(ledgence):
    done = whole(ledgence, "fork_join", {"pages": ["one two", "three", ""]})
    assert done.results[0]["output"] == {"pages": 3, "words": 3}


def test_owned_subworkflows_close_every_region(ledgence):
    regions = {"regions": {"us": [3], "eu": [1, 2]}}
    done = whole(ledgence, "owned_subworkflows", regions)
    closed = {"eu": 3, "us": 3}
    assert done.results[0]["output"] == {"closed": closed, "open": []}


def test_agent_loop_answers(ledgence):
    done = whole(ledgence, "agent_loop", {"ask": "How many bolts and nuts?"})
    answer = "We have 40 bolts and 12 nuts."
    assert done.results[0]["output"] == {"answer": answer, "turns": 2}


def test_a_workflow_that_waits_for_something_from_outside_is_exit_6(flow):
    done = flow("return ctx.wait_event('k', continuation='c', state=None)")
    assert done.code == 6
    (result,) = done.results
    assert result["status"] == "waiting"
    (awaited,) = result["awaits"]
    assert (awaited["kind"], awaited["key"], awaited["deadline"]) == (
        "event",
        "k",
        None,
    )
    assert awaited["release"] is None
    assert "--store FILE" in done.err


def test_skipping_time_does_not_wait_for_an_event_without_a_deadline(flow):
    body = "return ctx.wait_event('k', continuation='c', state=None)"
    assert flow(body, "--skip-time").code == 6


def test_with_a_store_the_wait_can_be_released(flow, ledgence):
    body = (
        "if ctx.wake is None:\n"
        "    return ctx.wait_event('k', continuation='c', state=None)\n"
        "return ctx.complete(ctx.wake['event']['data'])"
    )
    done = flow(body, "--store", "my.db")
    assert done.code == 6
    (command,) = [line for line in done.err.splitlines() if "event send" in line]
    words = command.replace("JSON", "[7]").split()[1:]
    sent = ledgence(*words)
    assert sent.code == 0
    assert "output    [7]" in sent.out


def test_a_key_that_looks_like_an_option_can_be_released_as_told(flow, ledgence):
    body = (
        "if ctx.wake is None:\n"
        "    return ctx.wait_event('-k \"', continuation='c', state=None)\n"
        "return ctx.complete(1)"
    )
    (awaited,) = flow(body, "--store", "my.db").results[0]["awaits"]
    sent = ledgence(*shlex.split(awaited["release"].replace("JSON", "7"))[1:])
    assert "succeeded" in sent.out


@pytest.mark.parametrize(
    ("body", "code", "status", "kind"),
    [
        pytest.param("return ctx.complete(1)", 0, "success", None, id="complete"),
        pytest.param("return ctx.fail('bad', 'no')", 1, "error", "bad", id="fail"),
        pytest.param(
            "raise ValueError('no')",
            1,
            "error",
            "workflow_activation_failed",
            id="exception",
        ),
    ],
)
def test_the_exit_code_tells_the_outcome(flow, body, code, status, kind):
    done = flow(body, "--skip-time")
    assert done.code == code
    (result,) = done.results
    assert result["status"] == status
    assert result.get("error", {}).get("kind") == kind


def test_a_workflow_of_many_activations_goes_through_all(flow):
    body = (
        "n = (ctx.state or 0) + 1\n"
        "if n == 5:\n"
        "    return ctx.complete(n)\n"
        "return ctx.sleep(f's{n}', 3_600_000, continuation='go', state=n)"
    )
    done = flow(body, "--skip-time")
    assert done.results[0]["output"] == 5
    assert done.err.count("waits for timer") == 4


def test_several_events_are_several_workflows(ledgence, tmp_path):
    source = FLOW + "    return ctx.complete([data, ctx.workflow_id])\n"
    path = write_program(tmp_path, source, "flow.py")
    (tmp_path / "events.jsonl").write_text('1\n{"a\n3\n')
    done = ledgence(
        "run", f"{path}:handle", "--workflow", "--events", tmp_path / "events.jsonl"
    )
    assert done.code == 2
    assert done.statuses == ["success", "not_run", "success"]
    assert [one["line"] for one in done.results] == [1, 2, 3]
    first, _, last = done.results
    assert first["output"] == [1, first["workflow_id"]]
    assert last["output"] == [3, last["workflow_id"]]
    assert "3 runs: 2 succeeded, 1 did not" in done.err


def test_an_unknown_child_program_fails_the_workflow_by_name(flow):
    done = flow(
        "child = ctx.task('a', program='price-quot', version='1', queue='q',"
        " data=None)\n"
        "return ctx.suspend(continuation='c', state=None, until=[child])"
    )
    assert done.code == 1
    assert "price-quot" in done.results[0]["error"]["message"]


def test_a_workflow_that_takes_too_long_is_exit_5(flow):
    body = "return ctx.sleep('k', 3_600_000, continuation='c', state=None)"
    done = flow(body, "--timeout", "0.5")
    assert done.code == 5
    assert done.results[0]["error"]["code"] == "deadline_exceeded"


def test_what_programs_print_is_marked_with_its_run(flow):
    done = flow("print('hello')\nreturn ctx.complete(1)")
    (line,) = [line for line in done.err.splitlines() if line.endswith("hello")]
    assert line.startswith("[flow wf_")
    assert "hello" not in done.out


def test_verbose_shows_the_frames(flow):
    assert '"type":"ready"' in flow("return ctx.complete(1)", "-v").err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--workflow", "--activation"), "exclude"),
        (("--workflow", "--observe"), "--observe does not go with --workflow"),
        (("--workflow", "--protocol", "2"), "protocol 3"),
        (("--workflow", "--start-timeout", "3"), "--start-timeout does not go"),
        (("--activation", "--protocol", "1"), "protocol 3"),
        (("--program", "a=b"), "--program needs --workflow"),
        (("--skip-time",), "--skip-time needs --workflow"),
        (("--store", "x"), "--store needs --workflow"),
        (
            ("--workflow", "--skip-time", "--store", "x"),
            "--store does not go with --skip-time",
        ),
        (("--workflow", "--program", "nothing.py:x"), "target_not_found"),
        (("--workflow", "--data", "{"), "data_syntax"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_options_that_do_not_go_together_are_refused(ledgence, tmp_path, args, said):
    path = write_program(tmp_path, FLOW + "    return ctx.complete(1)\n", "flow.py")
    done = ledgence("run", f"{path}:handle", *args)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
