"""Protocol 3: a fresh loop for each invocation, torn down as asyncio.run does."""

import os
import signal

import pytest

from tests.support.runner import await_true, invocation

LEFTOVERS = """
import asyncio, os, threading, time
events = []
kept = []
async def leftover(name):
    try:
        await asyncio.sleep(30)
    finally:
        events.append(name + " cancelled")
async def failing():
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        raise ValueError("while being cancelled")
async def stubborn():
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        await asyncio.sleep(0.01)
        events.append("stubborn done")
async def generator():
    try:
        yield 1
        yield 2
    finally:
        events.append("generator closed")
def blocking():
    time.sleep(0.1)
    events.append("thread joined")
async def handle(event):
    if event["data"] == "report":
        return sorted(events)
    loop = asyncio.get_running_loop()
    for coroutine in (leftover("one"), leftover("two"), failing(), stubborn()):
        kept.append(asyncio.create_task(coroutine))
    loop.run_in_executor(None, blocking)
    iterator = generator()
    kept.append(iterator)
    await iterator.__anext__()
    await asyncio.sleep(0)
    loop.call_soon(events.append, "called soon")
    if event["data"] == "raise":
        raise ValueError("failed")
    return "done"
"""
REPORT = ["called soon", "generator closed", "one cancelled", "stubborn done",
          "thread joined", "two cancelled"]  # fmt: skip


@pytest.mark.parametrize("way", ["return", "raise"])
def test_what_is_left_over_is_ended_before_the_result(launch, way):
    runner = launch(LEFTOVERS, 3).ready()
    result = runner.invoke(way)
    assert result["status"] == ("success" if way == "return" else "error")
    assert runner.output("report", 2) == REPORT
    assert "while being cancelled" in runner.errors()
    assert runner.finish() == ([], 0)


LATE = {
    "a callback": "loop.call_soon(events.append, 'ran')",
    "a callback of a callback": "loop.call_soon(loop.call_soon, events.append, 'ran')",
    "a generator": "kept.append(generator()); await kept[-1].__anext__()",
    "an executor": "loop.run_in_executor(None, events.append, 'ran')",
    "a task": "kept.append(asyncio.create_task(note()))",
    "a thread's call": (
        "threading.Thread(target=loop.call_soon_threadsafe,"
        " args=(events.append, 'ran')).start(); time.sleep(0.05)"
    ),
}


@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
def test_whatever_asyncio_run_would_still_run_is_run(launch, late):
    program = f"""
import asyncio, threading, time
events, kept = [], []
async def generator():
    try:
        yield
    finally:
        events.append("ran")
async def note():
    events.append("ran")
async def body():
    loop = asyncio.get_running_loop()
    {late}
async def handle(event):
    if event["data"]:
        return events
    await body()
def by_asyncio():
    asyncio.run(body())
    result = list(events)
    events.clear()
    return result
WANTED = by_asyncio()
"""
    runner = launch(program, 3).ready()
    runner.output()
    assert runner.output(1, 2) == ["ran"]
    same = launch(program + "\nevents.extend(WANTED)", 3).ready()
    assert same.output(1) == ["ran"]


FRESH = """
import asyncio
loops = []
async def handle(event):
    loop = asyncio.get_running_loop()
    seen = [loop in loops, [old.is_closed() for old in loops],
            len(asyncio.all_tasks()), asyncio.current_task() is not None,
            asyncio.get_event_loop() is loop,
            isinstance(loop, asyncio.SelectorEventLoop)]
    loops.append(loop)
    return seen
"""


def test_each_invocation_has_a_loop_of_its_own(launch):
    runner = launch(FRESH, 3).ready()
    for number in range(1, 4):
        closed = [True] * (number - 1)
        assert runner.output(None, number) == [False, closed, 1, True, True, True]


def test_a_loop_policy_of_the_program_counts(launch):
    program = """
    import asyncio
    class Policy(asyncio.DefaultEventLoopPolicy):
        made = 0
        def new_event_loop(self):
            Policy.made += 1
            return super().new_event_loop()
    asyncio.set_event_loop_policy(Policy())
    async def handle(event):
        await asyncio.sleep(0.001)
        await asyncio.to_thread(int)
        return [Policy.made, type(asyncio.get_running_loop()).__name__]
    """
    runner = launch(program, 3).ready()
    assert [runner.output(None, n) for n in (1, 2)] == [
        [1, "_UnixSelectorEventLoop"],
        [2, "_UnixSelectorEventLoop"],
    ]


def test_a_synchronous_handler_is_inside_the_loop(launch):
    program = """
    import asyncio
    def handle(event):
        asyncio.get_running_loop()
        asyncio.run(asyncio.sleep(0))
    """
    runner = launch(program, 3).ready()
    assert runner.invoke()["error"]["kind"] == "business_error"


WORK = {
    "sleep": "await asyncio.sleep(0.01); return 1",
    "threads": "return sum(await asyncio.gather(*[asyncio.to_thread(len, 'x')] * 1))",
    "many threads": (
        "return sum(await asyncio.gather(*(asyncio.to_thread(len, 'x')"
        " for _ in range(50)))) // 50"
    ),
    "a timeout": (
        "try:\n        await asyncio.wait_for(asyncio.sleep(9), 0.01)\n"
        "    except TimeoutError:\n        return 1"
    ),
    "subprocess": (
        "p = await asyncio.create_subprocess_exec('true'); return 1 + await p.wait()"
    ),
    "pipes": (
        "p = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\n"
        "    return len((await p.communicate())[0]) - 1"
    ),
    "sockets": (
        "a, b = socket.socketpair()\n"
        "    r, v = await asyncio.open_connection(sock=a)\n"
        "    _, w = await asyncio.open_connection(sock=b)\n"
        "    w.write(b'x'); w.close()\n"
        "    n = len(await r.read()); v.close(); return n"
    ),
    "a reader": (
        "loop, (a, b) = asyncio.get_running_loop(), socket.socketpair()\n"
        "    done = loop.create_future()\n"
        "    loop.add_reader(a, lambda: done.set_result(len(a.recv(9))))\n"
        "    loop.add_writer(a, lambda: loop.remove_writer(a))\n"
        "    loop.call_later(0.01, b.send, b'x')\n"
        "    try:\n        return await done\n"
        "    finally:\n        loop.remove_reader(a); a.close(); b.close()"
    ),
    "a signal": (
        "loop = asyncio.get_running_loop()\n"
        "    done = loop.create_future()\n"
        "    loop.add_signal_handler(signal.SIGUSR1, done.set_result, 1)\n"
        "    loop.call_later(0.01, os.kill, os.getpid(), signal.SIGUSR1)\n"
        "    return await done"
    ),
    "a signal to a busy loop": (
        "loop = asyncio.get_running_loop()\n"
        "    done = loop.create_future()\n"
        "    loop.add_signal_handler(signal.SIGUSR1, done.set_result, 1)\n"
        "    os.kill(os.getpid(), signal.SIGUSR1)\n"
        "    while not done.done():\n        await asyncio.sleep(0)\n"
        "    return done.result()"
    ),
    "the same descriptor twice": (
        "loop, (a, b) = asyncio.get_running_loop(), socket.socketpair()\n"
        "    loop.add_reader(a, print)\n"
        "    loop.add_reader(a, int)\n"
        "    removed = [loop.remove_reader(a), loop.remove_reader(a)]\n"
        "    a.close(); b.close()\n"
        "    return int(removed == [True, False])"
    ),
}


@pytest.mark.parametrize("body", WORK.values(), ids=WORK)
def test_everything_of_asyncio_works_again_and_again(launch, body):
    program = f"""
import asyncio, os, signal, socket
async def handle(event):
    {body}
"""
    runner = launch(program, 3).ready()
    for number in range(1, 4):
        assert runner.output(None, number) == 1, runner.errors()
    assert runner.finish() == ([], 0)
    assert runner.errors() == ""


ESCAPES = {
    "cancelled": ("raise asyncio.CancelledError('x')", 1),
    "cancels itself": ("asyncio.current_task().cancel(); await asyncio.sleep(1)", 1),
    "exit of a task": ("asyncio.create_task(leave()); await asyncio.sleep(9)", 8),
    "interrupt of a task": ("asyncio.create_task(stop()); await asyncio.sleep(9)", -2),
}


@pytest.mark.parametrize(("body", "status"), ESCAPES.values(), ids=ESCAPES)
def test_what_escapes_ends_the_process_after_the_teardown(launch, body, status):
    program = f"""
import asyncio, os, sys
async def leave():
    sys.exit(8)
async def stop():
    raise KeyboardInterrupt
async def leftover():
    try:
        await asyncio.sleep(30)
    finally:
        os.write(2, b"leftover ended\\n")
async def handle(event):
    asyncio.create_task(leftover())
    await asyncio.sleep(0)
    {body}
"""
    runner = launch(program, 3).ready()
    runner.send(invocation(3))
    assert runner.finish() == ([], status)
    assert "leftover ended" in runner.errors()


WAITING = """
import asyncio, os
from ledgence.worker.workflow import workflow_context
async def handle(event):
    try:
        os.write(2, b"waiting\\n")
        {wait}
    except asyncio.CancelledError:
        os.write(2, b"cancelled\\n")
        {then}
    return "not cancelled"
"""


def interrupted(launch, wait, then):
    runner = launch(WAITING.format(wait=wait, then=then), 3).ready()
    runner.send(invocation(3))
    await_true(lambda: "waiting" in runner.errors())
    os.kill(runner.process.pid, signal.SIGINT)
    return runner


def test_an_interrupt_cancels_the_handler_and_ends_the_process(launch):
    runner = interrupted(launch, "await asyncio.sleep(30)", "raise")
    assert runner.finish() == ([], -signal.SIGINT)
    assert "cancelled" in runner.errors()


def test_a_handler_that_swallows_the_interrupt_returns_normally(launch):
    runner = interrupted(launch, "await asyncio.sleep(30)", "return 'swallowed'")
    assert runner.control()["output"] == "swallowed"
    assert runner.finish() == ([], 0)


def test_a_second_interrupt_ends_a_handler_that_goes_on(launch):
    runner = interrupted(launch, "await asyncio.sleep(30)", "await asyncio.sleep(30)")
    await_true(lambda: "cancelled" in runner.errors())
    os.kill(runner.process.pid, signal.SIGINT)
    assert runner.finish() == ([], -signal.SIGINT)


def test_an_interrupt_handler_of_the_program_stays(launch):
    program = """
    import asyncio, os, signal
    def note(number, frame):
        os.write(2, b"noted\\n")
    signal.signal(signal.SIGINT, note)
    async def handle(event):
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.01)
        return signal.getsignal(signal.SIGINT) is note
    """
    runner = launch(program, 3).ready()
    assert [runner.output(None, n) for n in (1, 2)] == [True, True]
    assert runner.errors() == "noted\nnoted\n"


def test_an_interrupt_handler_set_meanwhile_is_not_undone(launch):
    program = """
    import asyncio, signal
    seen = []
    async def handle(event):
        seen.append(signal.getsignal(signal.SIGINT) is print)
        signal.signal(signal.SIGINT, print)
        return seen
    """
    runner = launch(program, 3).ready()
    assert runner.output() == [False]
    assert runner.output(None, 2) == [False, True]


@pytest.mark.parametrize("protocol", [1, 2, 3])
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, -2), (signal.SIGTERM, -15)]
)
def test_signals_to_an_idle_process_have_their_default(
    launch, protocol, number, status
):
    runner = launch("def handle(event): return 1", protocol).ready()
    assert runner.output() == 1
    os.kill(runner.process.pid, number)
    assert runner.wait() == status


@pytest.mark.parametrize("protocol", [1, 2])
def test_an_interrupt_of_a_synchronous_handler_ends_the_process(launch, protocol):
    program = """
    import os, time
    def handle(event):
        os.write(2, b"waiting\\n")
        time.sleep(30)
    """
    runner = launch(program, protocol).ready()
    runner.send(invocation(protocol))
    await_true(lambda: "waiting" in runner.errors())
    os.kill(runner.process.pid, signal.SIGINT)
    assert runner.finish() == ([], -signal.SIGINT)


def test_the_collector_stays_as_the_program_left_it(launch):
    program = """
    import gc
    gc.disable()
    gc.set_threshold(123, 4, 5)
    FROZEN = gc.get_freeze_count()
    def handle(event):
        return [gc.isenabled(), gc.get_threshold(), gc.get_debug(),
                gc.get_freeze_count() == FROZEN]
    """
    runner = launch(program, covered=False).ready()
    assert runner.output("x" * 100_000)[:2] == [False, [123, 4, 5]]
    assert runner.output(None, 2) == [False, [123, 4, 5], 0, True]
