"""A forked child has neither descriptor, and ends when it comes back."""

import pytest

from tests.support.runner import activation, await_true

PRELUDE = """
import asyncio, concurrent.futures, os, sys, threading, warnings
warnings.simplefilter("ignore")  # of 3.12 about threads and fork
def status_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def open_descriptors():
    found = []
    for fd in range(3, 64):
        try:
            os.fstat(fd)
        except OSError:
            continue
        found.append(fd)
    return found
"""
SYNC = {
    "returns": "return 'child'",
    "raises": "raise ValueError('child')",
    "returns a value that no frame carries": "return object()",
}
SYNC_HANDLER = """
def handle(event):
    pid = os.fork()
    if pid == 0:
        {child}
    return status_of(pid)
"""
ASYNC_HANDLER = """
async def handle(event):
    await asyncio.sleep(0)
    pid = os.fork()
    if pid == 0:
        {child}
    await asyncio.sleep(0.01)
    return status_of(pid)
"""


@pytest.mark.parametrize("protocol", [1, 2, 3])
@pytest.mark.parametrize("child", SYNC.values(), ids=SYNC)
def test_a_child_that_comes_back_ends_with_70(launch, protocol, child):
    runner = launch(PRELUDE + SYNC_HANDLER.format(child=child), protocol).ready()
    assert [runner.output(number=n) for n in (1, 2)] == [70, 70]
    assert runner.finish() == ([], 0)
    assert "a forked child came back" in runner.errors()


ASYNC = SYNC | {
    "sleeps first": "await asyncio.sleep(0.01); return 'child'",
    "uses threads": "await asyncio.to_thread(int); return 'child'",
    "runs a task": "await asyncio.create_task(asyncio.sleep(0.01)); return 'child'",
}


@pytest.mark.parametrize("child", ASYNC.values(), ids=ASYNC)
def test_a_child_of_an_async_handler_ends_with_70(launch, child):
    runner = launch(PRELUDE + ASYNC_HANDLER.format(child=child), 3).ready()
    assert [runner.output(number=n) for n in (1, 2)] == [70, 70]
    assert runner.finish() == ([], 0)


@pytest.mark.parametrize("protocol", [1, 3])
def test_a_child_that_exits_has_its_own_status(launch, protocol):
    program = PRELUDE + SYNC_HANDLER.format(child="sys.exit(5)")
    runner = launch(program, protocol).ready()
    assert [runner.output(number=n) for n in (1, 2)] == [5, 5]
    assert runner.finish() == ([], 0)


def test_a_child_of_an_async_handler_that_exits_leaves_the_loop_alone(launch):
    program = PRELUDE + ASYNC_HANDLER.format(child="sys.exit(5)")
    runner = launch(program, 3).ready()
    assert [runner.output(number=n) for n in (1, 2)] == [5, 5]
    assert runner.finish() == ([], 0)


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_a_child_forked_while_importing_ends_with_70(launch, protocol):
    program = PRELUDE + """
PID = os.fork()
STATUS = status_of(PID) if PID else None
def handle(event):
    return STATUS
"""  # fmt: skip
    runner = launch(program, protocol).ready()
    assert runner.output() == 70
    assert runner.finish() == ([], 0)


@pytest.mark.parametrize("protocol", [1, 3])
def test_a_child_forked_while_importing_that_fails_ends_too(launch, protocol):
    program = PRELUDE + """
PID = os.fork()
if not PID:
    raise ValueError("child")
STATUS = status_of(PID)
def handle(event):
    return STATUS
"""  # fmt: skip
    runner = launch(program, protocol).ready()
    assert runner.output() == 70


THREADS = {
    "a thread": """
    def work():
        pid = os.fork()
        if pid:
            found.append(status_of(pid))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    """,
    "a thread that fails": """
    def work():
        pid = os.fork()
        if not pid:
            raise ValueError("child")
        found.append(status_of(pid))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    """,
}


@pytest.mark.parametrize("protocol", [1, 2, 3])
@pytest.mark.parametrize("body", THREADS.values(), ids=THREADS)
def test_a_child_forked_by_a_thread_ends_with_the_thread(launch, protocol, body):
    program = f"{PRELUDE}\ndef handle(event):\n    found = []{body}\n    return found\n"
    runner = launch(program, protocol).ready()
    assert [runner.output(number=n) for n in (1, 2)] == [[70], [70]]
    assert runner.finish() == ([], 0)


def test_a_child_forked_by_the_default_executor_ends(launch):
    program = PRELUDE + """
def work():
    pid = os.fork()
    return status_of(pid) if pid else "child"
async def handle(event):
    await asyncio.to_thread(int)
    return await asyncio.to_thread(work)
"""  # fmt: skip
    runner = launch(program, 3).ready()
    assert [runner.output(number=n) for n in (1, 2)] == [70, 70]
    assert runner.finish() == ([], 0)


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_a_child_has_neither_descriptor(launch, protocol):
    program = PRELUDE + """
def handle(event):
    before = open_descriptors()
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        gone = set(before) - set(open_descriptors())
        os.write(write_end, repr([len(gone), os.read(0, 10)]).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    return os.read(read_end, 100).decode()
"""  # fmt: skip
    runner = launch(program, protocol, covered=False).ready()
    count, read = eval(runner.output())
    assert count >= 2
    assert read == b""


def test_a_child_drops_its_log_records(launch):
    program = PRELUDE + """
from ledgence.worker import get_logger
log = get_logger("forks")
def handle(event):
    log.info("before")
    pid = os.fork()
    log.info("of %s", "parent" if pid else "child")
    if pid == 0:
        os._exit(0)
    return status_of(pid)
"""  # fmt: skip
    runner = launch(program, 2).ready()
    assert runner.output() == 0
    assert [f["message"] for f in runner.await_logs(2)] == ["before", "of parent"]
    runner.shut_down()


# What is left of asyncio in a forked child: it denies that a loop is running.
PAUSE = """
async def pause(loop, seconds):
    future = loop.create_future()
    loop.call_later(seconds, future.set_result, None)
    await future
"""


def test_a_child_takes_no_wake_up_of_its_parent(launch):
    program = PRELUDE + PAUSE + """
import time
async def handle(event):
    loop = asyncio.get_running_loop()
    await asyncio.sleep(0.001)  # the self-pipe exists now
    pid = os.fork()
    if pid == 0:
        for _ in range(20):
            await pause(loop, 0.01)
        os._exit(0)
    for _ in range(100):
        await asyncio.to_thread(time.sleep, 0.001)
    return status_of(pid)
"""  # fmt: skip
    runner = launch(program, 3).ready()
    assert [runner.output(number=n) for n in (1, 2)] == [0, 0]


def test_a_child_shares_no_selector_with_its_parent(launch):
    program = PRELUDE + PAUSE + """
import socket
async def handle(event):
    one, other = socket.socketpair()
    for end in (one, other):
        end.setblocking(False)
    loop = asyncio.get_running_loop()
    got = loop.create_future()
    loop.add_reader(one, lambda: got.done() or got.set_result(one.recv(10)))
    pid = os.fork()
    if pid == 0:
        await pause(loop, 0.05)
        loop.remove_reader(one)  # must not reach the parent's selector
        os._exit(0)
    status = status_of(pid)
    other.send(b"data")
    data = await got
    loop.remove_reader(one)
    return [status, data.decode()]
"""  # fmt: skip
    runner = launch(program, 3).ready()
    assert [runner.output(number=n) for n in (1, 2)] == [[0, "data"]] * 2


FORKS_IN_A_STEP = PRELUDE + """
from ledgence.worker.workflow import workflow_context
async def step():
    pid = os.fork()
    return status_of(pid) if pid else "child"
async def handle(event):
    context = workflow_context()
    return context.complete(await context.local("k", step))
"""  # fmt: skip


def test_a_child_of_a_local_step_sends_no_request(launch):
    runner = launch(FORKS_IN_A_STEP, 3).ready()
    runner.send(activation())
    request = runner.control()
    assert request["payload"]["output"] == 70
    runner.reply(request, {"committed": True})
    assert runner.control()["output"]["output"] == 70
    assert runner.finish() == ([], 0)


FORKS_DURING_A_COMMIT = PRELUDE + """
from ledgence.worker.workflow import workflow_context
async def step():
    return 1
async def handle(event):
    context = workflow_context()
    commit = asyncio.ensure_future(context.local("k", step))
    for _ in range(20):
        await asyncio.sleep(0.005)
    pid = os.fork()
    if pid == 0:
        await commit
        return context.complete("child")
    status = await asyncio.to_thread(status_of, pid)
    await commit
    return context.complete(status)
"""  # fmt: skip


def test_a_child_does_not_wait_for_its_parents_reply(launch):
    runner = launch(FORKS_DURING_A_COMMIT, 3).ready()
    runner.send(activation())
    request = runner.control()
    await_true(lambda: "a forked child came back" in runner.errors())
    runner.reply(request, {"committed": True})
    assert runner.control()["output"]["output"] == 70
    assert runner.finish() == ([], 0)


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_child_of_a_shutdown_callback_writes_no_closing(launch, protocol):
    program = PRELUDE + """
from ledgence.worker import register_shutdown
def fork():
    pid = os.fork()
    if pid:
        os.write(2, b"status %d\\\\n" % status_of(pid))
register_shutdown(fork)
handle = print
"""  # fmt: skip
    runner = launch(program.replace("\\\\\\\\", "\\\\"), protocol).ready()
    runner.shut_down()
    assert "status 70" in runner.errors()


def test_multiprocessing_by_fork_works_as_ever(launch):
    program = """
    import multiprocessing
    def square(n):
        return n * n
    def handle(event):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return pool.map(square, event["data"])
    """
    runner = launch(program).ready()
    assert runner.output([1, 2, 3]) == [1, 4, 9]
    assert runner.finish() == ([], 0)
