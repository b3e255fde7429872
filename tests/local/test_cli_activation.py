"""``ledgence-local run --activation``: one activation, its requests, its decision."""

import pytest

from tests.support.local_cli import cli, write_program

HEADER = """\
from ledgence.worker.workflow import OperationKind, workflow_context

async def double(value):
    return value * 2

async def handle(event):
    ctx = workflow_context()
"""


@pytest.fixture
def workflow(tmp_path):
    """Writes a controller with the given body; runs its first activation."""

    def run(body, *args, data="4", source=None):
        indented = "".join(f"    {line}\n" for line in body.splitlines())
        path = write_program(tmp_path, source or HEADER + indented)
        return cli("run", f"{path}:handle", "--activation", "--data", data, *args)

    return run


def test_the_first_activation_starts_at_revision_0(workflow):
    done = workflow(
        "return ctx.complete([ctx.revision, ctx.continuation, ctx.state, ctx.inputs,"
        " ctx.wake, ctx.parent_workflow_id, event['data'],"
        " ctx.activation_id == event['ldgtaskid']])"
    )
    assert done.code == 0
    decision = done.results[0]["output"]
    assert decision["kind"] == "complete"
    assert decision["output"] == [0, "start", None, {}, None, None, 4, True]


def test_local_steps_are_committed_and_acknowledged(workflow):
    done = workflow(
        "a = await ctx.local('a', double, value=event['data'])\n"
        "b = await ctx.local('b', double, value=a)\n"
        "return ctx.complete([a, b])",
        "--observe",
        "-v",
    )
    assert done.results[0]["output"]["output"] == [8, 16]
    steps = done.results[0]["observations"]["local_steps"]
    assert [(step["key"], step["state"]) for step in steps] == [
        ("a", "returned"),
        ("b", "returned"),
    ]
    assert done.err.count('"runtime_reply"') == 2


def test_forks_are_acknowledged(workflow):
    done = workflow(
        "branches = [ctx.branch(f'b{n}', entrypoint='side', queue='q', data=n)"
        " for n in range(3)]\n"
        "fork = await ctx.fork('f', branches=branches)\n"
        "return ctx.join(fork, resume='next', state=None)"
    )
    assert done.results[0]["output"]["until"] == ["b0", "b1", "b2"]


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        pytest.param("return ctx.complete(1)", 0, "success", id="complete"),
        pytest.param("return ctx.sleep('k', 5, continuation='c', state=None)", 0,
                     "success", id="wait"),
        pytest.param("return ctx.fail('k', 'm')", 1, "success", id="decided-to-fail"),
        pytest.param("return 5", 1, "runtime_error", id="no-decision"),
        pytest.param("raise ValueError('no')", 1, "runtime_error", id="exception"),
        pytest.param("import sys; sys.exit(2)", 4, "failed", id="exit"),
    ],
)  # fmt: skip
def test_the_exit_code_tells_the_outcome(workflow, body, code, status):
    done = workflow(body)
    assert (done.code, done.results[0]["status"]) == (code, status)


def test_each_event_starts_a_workflow_of_its_own(tmp_path):
    path = write_program(
        tmp_path, HEADER + "    return ctx.complete([ctx.workflow_id, event['data']])\n"
    )
    (tmp_path / "events.jsonl").write_text("1\n2\n")
    done = cli(
        "run", f"{path}:handle", "--activation", "--events", tmp_path / "events.jsonl"
    )
    outputs = [one["output"]["output"] for one in done.results]
    assert [data for _, data in outputs] == [1, 2]
    assert outputs[0][0] != outputs[1][0]


def test_after_a_runtime_error_the_next_event_gets_a_new_process(tmp_path):
    path = write_program(
        tmp_path,
        "import os\n" + HEADER + "    if event['data'] == 'fail':\n"
        "        raise ValueError(os.getpid())\n"
        "    return ctx.complete(os.getpid())\n",
    )
    (tmp_path / "events.jsonl").write_text('1\n2\n"fail"\n4\n')
    done = cli(
        "run", f"{path}:handle", "--activation", "--events", tmp_path / "events.jsonl"
    )
    assert done.statuses == ["success", "success", "runtime_error", "success"]
    first, second, failed, last = done.results
    assert first["output"]["output"] == second["output"]["output"]
    assert failed["error"]["message"] == str(first["output"]["output"])
    assert last["output"]["output"] != first["output"]["output"]


def test_a_workflow_needs_a_package_of_protocol_3(tmp_path):
    from tests.support.programs import write_manifest

    write_program(tmp_path, HEADER + "    return ctx.complete(1)\n")
    write_manifest(tmp_path)
    done = cli("run", tmp_path, "--activation")
    assert (done.code, done.out) == (2, "")
    assert "protocol_mismatch" in done.err


def test_without_the_option_an_ordinary_task_has_no_context(tmp_path):
    path = write_program(tmp_path, HEADER + "    return ctx.complete(1)\n")
    done = cli("run", f"{path}:handle")
    assert (done.code, done.results[0]["error"]["kind"]) == (1, "business_error")
