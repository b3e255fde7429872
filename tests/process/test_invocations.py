"""One invocation: context, call, output, failure, end of the process."""

import json

import pytest

from tests.support.runner import TRACEPARENT, event, invocation, line

CONTEXT = """
import contextvars, dataclasses, threading
from ledgence.worker import current_invocation
variable = contextvars.ContextVar("variable", default="unset")
variable.set("while importing")
OUTSIDE = None
try:
    current_invocation()
except RuntimeError as error:
    OUTSIDE = str(error)
def in_thread():
    try:
        SEEN.append(current_invocation().event_id)
    except RuntimeError:
        SEEN.append(None)
SEEN = []
def handle(event):
    before = variable.get()
    variable.set("in an invocation")
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    return [before, dataclasses.asdict(current_invocation()), SEEN, bool(OUTSIDE)]
"""


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_each_invocation_has_a_new_context_and_its_own_identities(launch, protocol):
    runner = launch(CONTEXT, protocol).ready()
    carrier = {"traceparent": TRACEPARENT, "tracestate": "a=b"}
    workflow = {"ldgworkflowid": "w", "ldgparentworkflowid": "p"}
    for number in (1, 2):
        before, context, seen, outside = runner.output(
            None,
            number,
            processing_context=carrier,
            event=event(None, number, **workflow),
        )
        assert before == "unset"
        assert seen == [None] * number
        assert outside
        assert context == {
            "event_id": f"evt-{number}",
            "attempt_id": f"attempt-{number}",
            "source": "urn:example:tests",
            "tenant_id": "tenant-a",
            "namespace": "default",
            "run_id": "run-a",
            "task_id": f"task-{number}",
            "attempt_no": 1,
            "processing_context": None if protocol == 1 else carrier,
            "workflow_id": "w",
            "activation_id": None,
            "parent_workflow_id": "p",
            "root_workflow_id": "w",
        }


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_a_changed_event_does_not_change_the_identities(launch, protocol):
    program = """
    from ledgence.worker import current_invocation
    def handle(event):
        event.clear()
        return current_invocation().task_id
    """
    assert launch(program, protocol).ready().output() == "task-1"


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_the_handler_gets_a_fresh_event_in_the_main_thread(launch, protocol):
    program = """
    import threading
    def handle(event):
        event["mark"] = "mark" in event
        return [list(event), event["mark"], type(event).__name__,
                threading.current_thread() is threading.main_thread()]
    """
    runner = launch(program, protocol).ready()
    for number in (1, 2):
        names, marked, kind, main = runner.output(None, number)
        assert names == [*event(), "mark"]
        assert (marked, kind, main) == (False, "dict", True)


FAILURES = {
    "business": ("raise ValueError('no invoice')", "business_error", "no invoice"),
    "no text": ("raise ValueError", "business_error", ""),
    "a key": ("raise KeyError('k')", "business_error", "'k'"),
    "surrogates": (
        "raise ValueError('a' + chr(0xd800) + 'b')",
        "business_error",
        "a?b",
    ),
    "513 characters": ("raise ValueError('é' * 513)", "business_error", "é" * 512),
    "a text that is none": ("raise Mute", "business_error", None),
    "a text of a subclass": (
        "raise ValueError(Word('held'))",
        "business_error",
        "held",
    ),
    "recursion": ("recursive()", "business_error", None),
    "memory": ("raise MemoryError('m')", "business_error", "m"),
    "stop iteration": ("raise StopIteration('s')", "business_error", "s"),
    "a group": ("raise ExceptionGroup('g', [ValueError(1)])", "business_error", None),
    "a set": ("return {1}", "invalid_output", None),
    "a key that is no text": ("return {1: 2}", "invalid_output", None),
    "NaN": ("return [float('nan')]", "invalid_output", None),
    "2**64": ("return 2 ** 64", "invalid_output", None),
    "a surrogate": ("return chr(0xd800)", "invalid_output", None),
    "a cycle": ("x = []; x.append(x); return x", "invalid_output", None),
    "too deep": (
        "x = 1\n    for _ in range(65): x = [x]\n    return x",
        "invalid_output",
        None,
    ),
    "items of TypeError": ("return Items(TypeError('t'))", "invalid_output", "t"),
    "items of RecursionError": (
        "return Items(RecursionError('r'))",
        "invalid_output",
        None,
    ),
    "items of OverflowError": (
        "return Items(OverflowError('o'))",
        "invalid_output",
        "o",
    ),
    "items of KeyError": ("return Items(KeyError('k'))", "business_error", "'k'"),
    "items of MemoryError": ("return Items(MemoryError('m'))", "business_error", "m"),
    "a generator": ("return (x for x in [])", "invalid_output", None),
}
FAILING = """
class Mute(Exception):
    def __str__(self):
        raise RuntimeError
class Word(str):
    def __getitem__(self, index):
        return "overridden"
    def __str__(self):
        return self
class Items(dict):
    def __init__(self, error):
        self.error = error
    def items(self):
        raise self.error
def recursive():
    recursive()
def handle(event):
    if event["data"] == "ok":
        return "ok"
    {body}
"""


@pytest.mark.parametrize("protocol", [1, 3])
@pytest.mark.parametrize(("body", "kind", "message"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_a_result_and_the_process_goes_on(
    launch, protocol, body, kind, message
):
    runner = launch(FAILING.format(body=body), protocol).ready()
    result = runner.invoke()
    assert list(result) == ["v", "type", "event_id", "attempt_id", "status", "error"]
    assert (result["status"], result["error"]["kind"]) == ("error", kind)
    if message is not None:
        assert result["error"]["message"] == message
    else:
        assert result["error"]["message"]
    assert ("Traceback" in runner.errors()) == (kind == "business_error")
    assert runner.output("ok", 2) == "ok"
    assert runner.finish() == ([], 0)


def test_a_traceback_is_the_programs_and_is_printed_once(launch):
    program = """
    def pay():
        raise ValueError("no invoice")
    def handle(event):
        pay()
    """
    runner = launch(program).ready()
    runner.invoke()
    errors = runner.errors()
    assert errors.count("Traceback") == 1
    assert errors.startswith("Traceback (most recent call last):\n  File ")
    assert errors.endswith("ValueError: no invoice\n")
    assert "_runner" not in errors
    assert "pay()" in errors


AWAITABLES = {
    "a coroutine": "return coroutine()",
    "a future-like": "return Awaitable()",
    "a generator coroutine": "return old_style()",
}
AWAITS = """
import types
class Awaitable:
    def __await__(self):
        return coroutine().__await__()
async def coroutine():
    return 7
@types.coroutine
def old_style():
    return (yield from coroutine().__await__())
def handle(event):
    {body}
"""


@pytest.mark.parametrize("body", AWAITABLES.values(), ids=AWAITABLES)
def test_an_awaitable_is_awaited_in_protocol_3_only(launch, body):
    for protocol in (1, 2):
        runner = launch(AWAITS.format(body=body), protocol).ready()
        result = runner.invoke()
        assert result["error"]["kind"] == "invalid_output"
        assert "awaitable" in result["error"]["message"]
        assert runner.finish() == ([], 0)
        assert "never awaited" not in runner.errors()
    assert launch(AWAITS.format(body=body), 3).ready().output() == 7


def test_an_awaitable_that_an_awaitable_gives_is_invalid(launch):
    program = """
    async def inner():
        return 1
    async def handle(event):
        return inner()
    """
    runner = launch(program, 3).ready()
    assert runner.invoke()["error"]["kind"] == "invalid_output"
    assert runner.finish() == ([], 0)
    assert "never awaited" not in runner.errors()


@pytest.mark.parametrize("protocol", [1, 2])
def test_a_handler_of_protocols_1_and_2_may_run_a_loop_of_its_own(launch, protocol):
    program = """
    import asyncio
    async def work():
        return 5
    def handle(event):
        return asyncio.run(work())
    """
    assert launch(program, protocol).ready().output() == 5


ENDS = {
    "exit with a number": ("sys.exit(3)", 3),
    "exit without one": ("sys.exit()", 0),
    "exit with a text": ("sys.exit('reason')", 1),
    "another base exception": ("raise Own('x')", 1),
    "a generator exit": ("raise GeneratorExit", 1),
    "an interrupt": ("raise KeyboardInterrupt", -2),
    "os._exit": ("os._exit(9)", 9),
}


@pytest.mark.parametrize("protocol", [1, 2, 3])
@pytest.mark.parametrize(("body", "status"), ENDS.values(), ids=ENDS)
def test_what_is_no_exception_ends_the_process_without_a_result(
    launch, protocol, body, status
):
    program = f"""
import os, sys
class Own(BaseException):
    pass
def handle(event):
    {body}
"""
    runner = launch(program, protocol).ready()
    runner.send(invocation(protocol))
    assert runner.finish() == ([], status)
    shown = runner.errors()
    assert ("Traceback" in shown) == (body.startswith("raise"))
    assert ("reason" in shown) == ("reason" in body)


TIGHT = ["--max-output-bytes", "256"]


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_a_message_is_cut_to_the_smallest_frame(launch, protocol):
    program = "def handle(event): raise ValueError(event['data'] * 300)"
    runner = launch(program, protocol, options=TIGHT).ready()
    for number, (text, kept) in enumerate({"x": 124, '"': 62, "😀": 31}.items(), 1):
        runner.send(invocation(protocol, text, number))
        frame = runner.read_line()
        assert len(frame) <= 256
        assert json.loads(frame)["error"]["message"] == text * kept


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_identities_without_room_for_a_failure_are_a_fault(launch, protocol):
    program = "import os\ndef handle(event):\n    os.write(2, b'called')\n    return 1"
    name = "x" * 200
    frame = invocation(protocol, event_id=name, event=event() | {"id": name})
    runner = launch(program, protocol, options=TIGHT).ready()
    runner.send(frame)
    assert runner.finish() == ([], 70)
    assert "called" not in runner.errors()
    roomy = launch(program, protocol, options=["--max-output-bytes", "400"]).ready()
    roomy.send(frame)
    assert roomy.control()["output"] == 1


OBSERVED = [
    "runtime_started_at_ms",
    "runtime_elapsed_us",
    "process_cpu_user_us",
    "process_cpu_system_us",
    "process_lifetime_peak_rss_bytes",
    "local_steps",
    "local_steps_truncated",
]


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_observations_come_last_with_results_and_failures(launch, protocol):
    program = """
    def handle(event):
        sum(range(200_000))
        return 1 // event["data"]
    """
    runner = launch(program, protocol).ready()
    for number, data in enumerate([1, 0], 1):
        result = runner.invoke(data, number, observe=True)
        assert list(result)[-1] == "observations"
        observed = result["observations"]
        assert list(observed) == OBSERVED
        assert observed["runtime_elapsed_us"] > 0
        assert observed["process_cpu_user_us"] + observed["process_cpu_system_us"] > 0
    assert "observations" not in runner.invoke(1, 3)


def test_observations_without_room_are_left_out(launch):
    program = "def handle(event): return 'x' * event['data']"
    runner = launch(program, options=["--max-output-bytes", "512"]).ready()
    bare = len(line(runner.invoke(0)))
    size = len(line(runner.invoke(0, observe=True)))
    assert size <= 512
    assert "observations" not in runner.invoke(512 - bare, observe=True)
    assert "observations" in runner.invoke(512 - size - 12, observe=True)


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_shutdown_is_acknowledged_and_the_process_stays(launch, protocol):
    program = """
    import os
    from ledgence.worker import register_shutdown, current_invocation
    def first():
        os.write(2, b"first\\n")
        register_shutdown(late)
    @register_shutdown
    def failing():
        try:
            current_invocation()
        except RuntimeError:
            os.write(2, b"outside\\n")
        raise ValueError("on purpose")
    def last():
        os.write(2, b"last\\n")
    def late():
        os.write(2, b"late\\n")
    register_shutdown(first)
    register_shutdown(first)
    register_shutdown(last)
    def handle(event):
        return 1
    """
    runner = launch(program, protocol).ready()
    assert runner.output() == 1
    runner.send({"v": protocol, "type": "shutdown", "more": True})
    assert runner.control() == {"v": protocol, "type": "closing"}
    assert runner.process.poll() is None
    runner.send(b"not a frame\n", invocation(protocol, 1), b"x" * 100_000)
    assert runner.process.poll() is None
    assert runner.finish() == ([], 0)
    lines = [text for text in runner.errors().splitlines() if text.isalpha()]
    assert lines == ([] if protocol == 1 else ["outside", "first", "last"])
    assert ("on purpose" in runner.errors()) == (protocol > 1)


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize(("leave", "status"), [("sys.exit(4)", 4), ("raise Own", 1)])
def test_a_callback_may_end_the_process(launch, protocol, leave, status):
    program = f"""
import sys
from ledgence.worker import register_shutdown
class Own(BaseException):
    pass
def callback():
    {leave}
register_shutdown(callback)
handle = print
"""
    runner = launch(program, protocol).ready()
    runner.send({"v": protocol, "type": "shutdown"})
    assert runner.finish() == ([], status)


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_the_end_of_the_input_runs_no_callbacks_but_exit_functions(launch, protocol):
    program = """
    import atexit, os, threading, time
    from ledgence.worker import register_shutdown
    register_shutdown(lambda: os.write(2, b"callback\\n"))
    atexit.register(lambda: os.write(2, b"atexit\\n"))
    go = threading.Event()
    def wait():
        go.wait(20)
        os.write(2, b"thread\\n")
    def handle(event):
        threading.Thread(target=wait).start()
        threading.Timer(0.1, go.set).start()
        return 1
    """
    runner = launch(program, protocol).ready()
    assert runner.output() == 1
    assert runner.finish() == ([], 0)
    assert runner.errors().split() == ["thread", "atexit"]


@pytest.mark.parametrize("what", ["None", "1", "'text'"])
def test_what_is_not_callable_is_no_shutdown_callback(launch, what):
    program = f"""
from ledgence.worker import register_shutdown
try:
    register_shutdown({what})
except TypeError as error:
    FOUND = str(error)
def handle(event):
    return FOUND
"""
    assert "callable" in launch(program).ready().output()
