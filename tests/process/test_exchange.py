"""Requests of an activation and their replies, with an honest and a hostile parent."""

import json
import os
import signal
import time

import pytest

from tests.support.runner import activation, await_true, line

STEPS = """
import asyncio, os, threading, time
from ledgence.worker.workflow import workflow_context
async def step(value):
    return value
async def handle(event):
    if event["data"] == "plain":
        return "plain"
    context = workflow_context()
    numbers = range(event["data"])
    values = [await context.local(f"k:{n}", step, value=n) for n in numbers]
    return context.complete(values)
"""
COMMITTED = {"committed": True}


def test_requests_are_numbered_and_answered_one_by_one(launch):
    runner = launch(STEPS, 3).ready()
    for invocation_number in (1, 2):
        runner.send(activation(3, invocation_number))
        for number in (1, 2, 3):
            request = runner.control()
            assert list(request) == [
                "v", "event_id", "attempt_id", "type", "id", "operation", "payload",
            ]  # fmt: skip
            assert (request["id"], request["operation"]) == (
                number,
                "local_step.commit",
            )
            runner.reply(request, COMMITTED)
        result = runner.control()
        assert result["status"] == "success"
        assert result["output"]["output"] == [0, 1, 2]
        assert list(result["output"]) == sorted(result["output"])
    assert runner.finish() == ([], 0)


def test_a_reply_may_come_in_single_bytes(launch):
    runner = launch(STEPS, 3).ready()
    runner.send(activation(1))
    request = runner.control()
    names = ("v", "event_id", "attempt_id", "id")
    reply = {n: request[n] for n in names} | {
        "type": "runtime_reply",
        "result": COMMITTED,
    }
    for byte in line(reply):
        runner.send(bytes([byte]))
        time.sleep(0.001)  # a slow parent
    assert runner.control()["status"] == "success"


BUSY = {
    "a task": "asyncio.create_task(tick())",
    "timers": "loop.call_later(0.001, ticks.append, 1); loop.call_later(0.1, more)",
    "a thread": (
        "threading.Thread(target=lambda: (time.sleep(0.05),"
        " loop.call_soon_threadsafe(more))).start()"
    ),
    "a descriptor": "loop.add_reader(pipe[0], more); loop.call_later(0.05, go)",
    "an executor": (
        "loop.run_in_executor(None, time.sleep, 0.05).add_done_callback(more)"
    ),
}


@pytest.mark.parametrize("work", BUSY.values(), ids=BUSY)
def test_other_work_goes_on_while_a_reply_is_awaited(launch, work):
    program = f"""
import asyncio, os, threading, time
from ledgence.worker.workflow import workflow_context
ticks = []
async def tick():
    while True:
        ticks.append(1)
        await asyncio.sleep(0.01)
async def step():
    return 1
def more(*_):
    os.write(2, b"went on\\n")
    ticks.extend([1] * 5)
    if pipe:
        asyncio.get_running_loop().remove_reader(pipe[0])
def go():
    os.write(pipe[1], b"x")
pipe = []
async def handle(event):
    loop = asyncio.get_running_loop()
    ticks.clear()
    pipe[:] = os.pipe()
    {work}
    context = workflow_context()
    await context.local("k", step)
    for descriptor in pipe:
        os.close(descriptor)
    pipe.clear()
    return context.complete(len(ticks))
"""
    runner = launch(program, 3).ready()
    for number in (1, 2):
        runner.send(activation(None, number))
        request = runner.control()
        if "create_task" in work:
            time.sleep(0.2)  # the parent takes its time
        else:
            await_true(lambda n=number: runner.errors().count("went on") >= n)
        runner.reply(request, COMMITTED)
        result = runner.control()
        assert result["status"] == "success", runner.errors()
        assert result["output"]["output"] >= 5


def test_a_wait_in_a_program_with_its_own_policy_is_the_same(launch):
    program = """
import asyncio
class Policy(asyncio.DefaultEventLoopPolicy):
    pass
asyncio.set_event_loop_policy(Policy())
""" + STEPS  # fmt: skip
    runner = launch(program, 3).ready()
    for number in (1, 2):
        runner.send(activation(2, number))
        for _ in range(2):
            runner.reply(runner.control(), COMMITTED)
        assert runner.control()["output"]["output"] == [0, 1]


WRONG = {
    "refused": {"result": {"committed": False}},
    "another id": {"id": 2},
    "another type": {"type": "reply"},
    "another member": {"more": 1},
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_a_wrong_reply_fails_the_activation_and_not_the_process(launch, changes):
    runner = launch(STEPS, 3).ready()
    runner.send(activation(2))
    runner.reply(runner.control(), **({"result": COMMITTED} | changes))
    result = runner.control()
    assert result["status"] == "runtime_error"
    assert result["error"]["kind"] == "workflow_error"
    assert "Traceback" in runner.errors()
    assert runner.output("plain", 2) == "plain"
    assert runner.finish() == ([], 0)


CAUGHT = """
from ledgence.worker.workflow import workflow_context
async def step():
    return 1
async def handle(event):
    context = workflow_context()
    for key in ("a", "b"):
        try:
            await context.local(key, step)
        except Exception:
            pass
    return context.complete("recovered")
"""


def test_a_failed_exchange_is_final_even_where_its_error_is_caught(launch):
    runner = launch(CAUGHT, 3).ready()
    runner.send(activation())
    runner.reply(runner.control(), {"committed": 1})
    result = runner.control()
    assert result["error"]["kind"] == "workflow_error"


RAW = {
    "not JSON": (b"nonsense\n", 0),
    "an empty line": (b"\n", 0),
    "a constant": (b'{"v":NaN}\n', 0),
    "a long line": (b"x" * 1300 + b"\n", 70),
    "a line of one byte too many": (b"x" * 1200 + b"\n", 0),
    "half a line": (b'{"v":3', 0),
    "nothing": (b"", 0),
}


@pytest.mark.parametrize(("text", "status"), RAW.values(), ids=RAW)
def test_whatever_comes_instead_of_a_reply_the_result_is_written(launch, text, status):
    runner = launch(STEPS, 3, options=["--max-input-bytes", "1200"]).ready()
    runner.send(activation(1))
    assert runner.control()["type"] == "runtime_request"
    runner.send(text)
    frames, code = runner.finish()
    assert [f["status"] for f in frames] == ["runtime_error"]
    assert code == status


def test_a_request_that_does_not_fit_is_not_sent(launch):
    program = STEPS.replace("value=n", "value='x' * 600")
    runner = launch(program, 3, options=["--max-output-bytes", "600"]).ready()
    runner.send(activation(1))
    result = runner.control()
    assert (result["type"], result["status"]) == ("result", "runtime_error")
    assert runner.finish() == ([], 0)


def test_a_decision_that_does_not_fit_is_a_failure(launch):
    program = """
    from ledgence.worker.workflow import workflow_context
    def handle(event):
        return workflow_context().complete("x" * event["data"])
    """
    runner = launch(program, 3, options=["--max-output-bytes", "600"]).ready()
    runner.send(activation(10))
    bare = len(json.dumps(runner.control(), separators=(",", ":"))) + 1 - 10
    for size, status in ((600 - bare, "success"), (601 - bare, "runtime_error")):
        runner.send(activation(size))
        assert runner.control()["status"] == status
    assert runner.finish() == ([], 0)


FAILS = """
import asyncio
from ledgence.worker.workflow import workflow_context
async def step():
    return 1
async def handle(event):
    if event["data"] == "plain":
        return "plain"
    context = workflow_context()
    task = asyncio.ensure_future(context.local("k", step))
    await asyncio.sleep(0.05)
    raise ValueError("meanwhile")
"""


def test_a_reply_under_way_is_read_before_the_result_of_a_failure(launch):
    runner = launch(FAILS, 3).ready()
    runner.send(activation())
    request = runner.control()
    time.sleep(0.15)  # the parent takes its time
    runner.reply(request, COMMITTED)
    result = runner.control()
    assert result["error"] == {"kind": "workflow_error", "message": "meanwhile"}
    assert runner.output("plain", 2) == "plain"


def test_an_interrupt_ends_a_wait_for_a_reply(launch):
    runner = launch(STEPS, 3).ready()
    runner.send(activation(1))
    request = runner.control()
    os.kill(runner.process.pid, signal.SIGINT)
    time.sleep(0.05)  # the reply comes after the interrupt
    runner.reply(request, COMMITTED)
    frames, status = runner.finish()
    assert (frames, status) == ([], -signal.SIGINT)


def test_observed_steps_are_listed(launch):
    runner = launch(STEPS, 3).ready()
    runner.send(activation(2, observe=True))
    for _ in range(2):
        runner.reply(runner.control(), COMMITTED)
    observed = runner.control()["observations"]
    assert [(s["key"], s["state"]) for s in observed["local_steps"]] == [
        ("k:0", "returned"),
        ("k:1", "returned"),
    ]


@pytest.mark.parametrize("extension", [False, 0, [], {}, "x"])
def test_a_bad_extension_is_no_fault(launch, extension):
    runner = launch(STEPS, 3).ready()
    result = runner.invoke(1, extension=extension)
    assert result["status"] == "runtime_error"
    assert runner.output("plain", 2) == "plain"


def test_frames_may_come_from_a_file_and_go_to_one(artifact, tmp_path):
    import subprocess
    import sys

    from tests.support.runner import BOOTSTRAP, PYTHON_VERSION, invocation

    watch = "    asyncio.get_running_loop().add_reader(os.pipe()[0], print)\n"
    program = STEPS.replace("    context = work", watch + "    context = work")
    reply = {"v": 3, "type": "runtime_reply", "event_id": "evt-1",
             "attempt_id": "attempt-1", "id": 1, "result": COMMITTED}  # fmt: skip
    for text in (STEPS, program):
        folder = artifact(text)
        frames = tmp_path / "in"
        frames.write_bytes(
            line(activation(1)) + line(reply) + line(invocation(3, "plain", 2))
        )
        command = [sys.executable, "-I", "-S", "-B", str(BOOTSTRAP)]
        command += ["--package-root", str(folder), "--handler", "program:handle"]
        command += ["--python-version", PYTHON_VERSION, "--protocol-version", "3"]
        with frames.open("rb") as source, (tmp_path / "out").open("wb") as sink:
            done = subprocess.run(
                command, stdin=source, stdout=sink, stderr=subprocess.PIPE, timeout=60
            )
        assert done.returncode == 0, done.stderr
        written = (tmp_path / "out").read_bytes().splitlines()
        outputs = [json.loads(text).get("output") for text in written]
        assert outputs[2]["output"] == [0], done.stderr
        assert outputs[3] == "plain"
