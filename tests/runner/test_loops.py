"""Our event loop against the standard one, and its life."""

import asyncio
import contextlib
import gc
import os
import selectors
import signal
import socket
import threading
import time
from collections import deque
from weakref import WeakSet

import pytest

from ledgence.worker._runner import lifecycle, loops
from ledgence.worker._runner.loops import RunnerLoop, Waker, new_loop
from ledgence.worker._runner.moulds import MOULD, Late, Mould


class Channel:
    def __init__(self, source=-1):
        self.source = source
        self.forked = False
        self.when_forked = []


@pytest.fixture
def channel():
    read_end, write_end = os.pipe()
    made = Channel(read_end)
    made.write_end = write_end
    yield made
    os.close(read_end)
    os.close(write_end)


@pytest.fixture
def waker(channel):
    made = Waker(channel)
    yield made
    made.close()


@pytest.fixture
def run(channel, waker):
    return lambda main: lifecycle.run(main, channel, waker)


def test_a_loop_that_never_blocks_makes_nothing(run, waker):
    async def main():
        await asyncio.sleep(0)
        return type(asyncio.get_running_loop())

    assert run(main()) is RunnerLoop
    assert waker._pipe is None


def test_a_loop_has_the_fields_of_the_first_one(waker):
    kinds = []
    for made in (False, True, True):
        assert made in (MOULD.is_made, False)
        loop = new_loop(waker)
        assert waker.loop is loop
        assert not loop._asyncgens
        assert not loop._transports
        kinds.append({name: type(value) for name, value in vars(loop).items()})
        loop.close()
    standard = asyncio.SelectorEventLoop()
    assert kinds[0] == kinds[1] == kinds[2]
    own = {"_waker", "_late", "_main"}
    base = {name: type(value) for name, value in vars(standard).items()}
    assert kinds[0].keys() - own == base.keys() - {"_ssock", "_csock"}
    shared = base.keys() - {"_selector", "_ssock", "_csock"}
    assert {name: kinds[0][name] for name in shared} == {
        name: base[name] for name in shared
    }
    standard.close()


def test_loops_share_no_collection(waker):
    loops = [new_loop(waker) for _ in range(3)]
    for name, value in vars(loops[1]).items():
        if isinstance(value, (dict, list, deque)):
            assert vars(loops[2])[name] is not value
            assert vars(loops[0])[name] is not value
    assert loops[1]._asyncgens is loops[1]._asyncgens is not loops[2]._asyncgens
    for loop in loops:
        loop.close()


@pytest.mark.parametrize("odd", [object(), [1], {"a": 1}, "text", WeakSet()])
def test_a_loop_that_holds_more_is_no_mould(odd):
    class Loop:
        fine = Late(dict)

    loop, mould = Loop(), Mould()
    loop.odd, loop.fine = odd, {}
    mould.make(loop, ())
    assert not mould.is_made
    mould.make(loop, ("odd",))
    assert mould.is_made


def test_a_program_may_stop_the_loop(run):
    async def main():
        asyncio.get_running_loop().stop()
        await asyncio.sleep(30)

    with pytest.raises(RuntimeError, match="stopped before Future completed"):
        run(main())


def test_a_second_run_inside_of_the_first_is_refused(run):
    async def main():
        loop = asyncio.get_running_loop()
        task = loop.create_task(asyncio.sleep(0))
        with pytest.raises(RuntimeError, match="already running"):
            loop.run_until_complete(task)
        await task
        return "ran"

    assert run(main()) == "ran"


def test_a_debugged_loop_tells_what_is_slow(run, caplog):
    async def main():
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        loop.slow_callback_duration = 0
        loop.call_soon(int)
        with pytest.raises(TypeError, match="callable"):
            loop.call_soon(5)
        await asyncio.sleep(0)

    run(main())
    assert any("Executing" in text for text in caplog.messages)


@pytest.mark.parametrize("left", ["nothing", "a callback", "an executor", "debug"])
def test_a_closed_loop_takes_no_callback(waker, left):
    loop = new_loop(waker)
    loop.set_debug(left == "debug")
    if left == "a callback":
        loop.call_soon(int)
    if left == "an executor":
        loop.run_in_executor(None, int)
    loop.close()
    loop.close()
    assert loop.is_closed()
    assert waker.loop is None
    assert loop._selector is None
    assert loop._executor_shutdown_called
    assert loop._default_executor is None
    for call in (loop.call_soon, loop.call_soon_threadsafe):
        with pytest.raises(RuntimeError, match="closed"):
            call(int)
    with pytest.raises(RuntimeError, match="closed"):
        loop.run_forever()


def test_a_running_loop_cannot_be_closed(run):
    async def main():
        with pytest.raises(RuntimeError, match="running"):
            asyncio.get_running_loop().close()

    run(main())


def test_closing_removes_the_signal_handlers_of_the_program(waker):
    before = signal.getsignal(signal.SIGUSR1)
    loop = new_loop(waker)
    loop.add_signal_handler(signal.SIGUSR1, int)
    loop.close()
    assert signal.getsignal(signal.SIGUSR1) is before


def test_a_cancelled_callback_does_not_run(run):
    async def main():
        ran = []
        asyncio.get_running_loop().call_soon(ran.append, 1).cancel()
        await asyncio.sleep(0)
        return ran

    assert run(main()) == []


def test_blocked_loops_share_what_wakes_them(run, waker):
    async def main():
        await asyncio.to_thread(time.sleep, 0.001)
        await asyncio.sleep(0.01)

    run(main())
    pipe = waker._pipe
    assert pipe is not None
    run(main())
    assert waker._pipe is pipe


def test_a_program_that_set_a_policy_gets_its_loop(waker, monkeypatch):
    class Policy(asyncio.DefaultEventLoopPolicy):
        pass

    loop = new_loop(waker)
    assert isinstance(loop, RunnerLoop)
    loop.close()
    asyncio.set_event_loop_policy(Policy())
    try:
        with contextlib.closing(new_loop(waker)) as loop:
            assert type(loop) is asyncio.SelectorEventLoop
    finally:
        asyncio.set_event_loop_policy(None)
    monkeypatch.setattr(loops, "_KNOWN", False)
    with contextlib.closing(new_loop(waker)) as loop:
        assert type(loop) is asyncio.SelectorEventLoop


def test_a_timer_and_a_thread_end_a_wait(run):
    async def main():
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        thread = threading.Thread(
            target=loop.call_soon_threadsafe, args=(future.set_result, 1)
        )
        loop.call_later(0.001, thread.start)
        result = await future
        thread.join()
        return result

    assert run(main()) == 1


def test_a_call_that_comes_before_the_pipe_exists_is_not_lost(run, waker, monkeypatch):
    """A thread adds its callback just before the loop makes what would wake it."""
    opened = Waker.open
    seen = []

    def late(self):
        if self._pipe is None:
            loop = asyncio.get_running_loop()
            loop.call_soon_threadsafe(future.set_result, "in time")
            seen.append(self._pipe)
        return opened(self)

    monkeypatch.setattr(Waker, "open", late)

    async def main():
        nonlocal future
        future = asyncio.get_running_loop().create_future()
        return await future

    future = None
    assert run(main()) == "in time"
    assert seen == [None]


def test_the_source_can_be_watched_without_a_selector(run, channel):
    async def main():
        loop = asyncio.get_running_loop()
        got = loop.create_future()
        loop.add_reader(
            channel.source, lambda: got.set_result(os.read(channel.source, 9))
        )
        loop.add_reader(
            channel.source, lambda: got.set_result(os.read(channel.source, 9))
        )
        assert loop._late.is_late
        os.write(channel.write_end, b"x")
        data = await got
        assert loop.remove_reader(channel.source)
        assert not loop.remove_reader(channel.source)
        return data

    assert run(main()) == b"x"


def test_a_descriptor_of_the_program_makes_a_selector_for_all(run, channel):
    async def main():
        loop = asyncio.get_running_loop()
        one, other = socket.socketpair()
        got, more = loop.create_future(), loop.create_future()
        loop.add_reader(channel.source, lambda: got.done() or got.set_result("source"))
        loop.add_reader(one, lambda: more.done() or more.set_result("socket"))
        assert not loop._late.is_late
        assert len(loop._late.get_map()) == 3
        loop.add_writer(one, lambda: loop.remove_writer(one))
        other.send(b"x")
        os.write(channel.write_end, b"x")
        assert not loop.wait_for_source()
        await asyncio.to_thread(int)
        results = [await got, await more]
        loop.remove_reader(one)
        loop.remove_reader(channel.source)
        one.close()
        other.close()
        return results

    assert run(main()) == ["source", "socket"]
    os.read(channel.source, 9)


def test_writing_to_the_source_needs_a_selector(waker, channel):
    loop = new_loop(waker)
    key = loop._late.register(channel.write_end, selectors.EVENT_WRITE, (None, None))
    assert not loop._late.is_late
    assert loop._late.get_key(channel.write_end) == key
    loop.close()


def test_waiting_for_the_source_gives_way_to_everything_else(run, channel):
    async def main():
        loop = asyncio.get_running_loop()
        loop.call_soon(int)
        assert not loop.wait_for_source()  # a callback is ready
        await asyncio.sleep(0)
        handle = loop.call_later(0.001, int)
        assert not loop.wait_for_source()  # the timer came first
        handle.cancel()
        await asyncio.sleep(0)
        thread = threading.Thread(target=loop.call_soon_threadsafe, args=(int,))
        threading.Timer(0.01, thread.start).start()
        assert not loop.wait_for_source()  # a thread's call came first
        thread.join()
        await asyncio.sleep(0.001)
        os.write(channel.write_end, b"x")
        assert loop.wait_for_source()
        loop.call_later(30, int)
        assert loop.wait_for_source()  # before the timer
        loop.add_signal_handler(signal.SIGUSR1, int)
        assert not loop.wait_for_source()
        loop.remove_signal_handler(signal.SIGUSR1)

    run(main())
    os.read(channel.source, 9)


def test_a_wake_up_from_before_costs_one_turn_only(run, channel, waker):
    async def main():
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.001)
        waker.wake()  # while nobody waits
        os.write(channel.write_end, b"x")
        assert not loop.wait_for_source()
        await asyncio.sleep(0.001)
        assert loop.wait_for_source()

    run(main())
    os.read(channel.source, 9)


def test_a_full_pipe_has_been_woken_already(waker):
    waker.wake()  # nothing to wake yet
    waker.open()
    for _ in range(100_000):
        waker.wake()
    assert waker.wait(0, source=False) == [waker.open()[0]]


def test_signals_reach_a_loop_that_never_blocks(run):
    async def main():
        loop = asyncio.get_running_loop()
        seen = []
        loop.add_signal_handler(signal.SIGUSR1, seen.append, 1)
        os.kill(os.getpid(), signal.SIGUSR1)
        turns = 0
        while not seen and turns < 100_000:
            turns += 1
            await asyncio.sleep(0)
        return seen

    assert run(main()) == [1]


def test_a_child_gets_a_pipe_of_its_own_and_forgets_the_source(waker, channel):
    loop = new_loop(waker)
    asyncio.set_event_loop(loop)
    loop.add_reader(channel.source, int)
    before = waker.open()
    for callback in channel.when_forked:
        callback()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(before[0])
    assert waker.source == -1
    assert waker.wait(0, source=False) == []
    assert not loop._late.get_map()
    loop.close()
    asyncio.set_event_loop(None)
    for callback in channel.when_forked:
        callback()


def test_a_child_makes_another_selector_and_ends_its_executor(waker, channel):
    loop = new_loop(waker)
    one, other = socket.socketpair()
    loop.add_reader(one, int)
    shared = loop._late._real
    loop.run_until_complete(asyncio.wait_for(loop.run_in_executor(None, int), 20))
    os.set_inheritable(one.fileno(), True)
    for callback in channel.when_forked:
        callback()
    assert loop._late._real is not shared
    assert one.fileno() in loop._late.get_map()
    assert loop._default_executor._shutdown
    loop._default_executor.shutdown()
    loop.remove_reader(one)
    loop.close()
    one.close()
    other.close()


ENDS = [SystemExit, KeyboardInterrupt, GeneratorExit]


@pytest.mark.parametrize("end", ENDS)
def test_what_is_no_exception_comes_through_after_the_teardown(run, end):
    ended = []

    async def leftover():
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(True)

    async def main():
        asyncio.get_running_loop().kept = asyncio.create_task(leftover())
        await asyncio.sleep(0)
        raise end

    with pytest.raises(end):
        run(main())
    assert ended == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_exit_leaves_no_complaint_about_its_task(run, caplog):
    async def main():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run(main())
    gc.collect()
    assert caplog.messages == []


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt])
def test_what_ends_another_task_ends_the_run(run, end):
    async def other():
        raise end

    async def main():
        task = asyncio.create_task(other())
        await asyncio.sleep(30)
        return task

    with pytest.raises(end):
        run(main())


def test_a_forked_child_tears_nothing_down(channel, waker):
    seen = []

    async def main():
        seen.append(asyncio.get_running_loop())
        channel.forked = True

    lifecycle.run(main(), channel, waker)
    assert not seen[0].is_closed()
    seen[0].close()
    asyncio.set_event_loop(None)


def test_an_interrupt_cancels_the_main_task(run):
    async def main():
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(30)

    with pytest.raises(KeyboardInterrupt):
        run(main())


def test_an_interrupt_that_is_swallowed_is_over(run):
    async def main():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "swallowed"

    assert run(main()) == "swallowed"


def test_a_second_interrupt_is_one(run):
    async def main():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(30)

    with pytest.raises(KeyboardInterrupt):
        run(main())


def test_a_cancellation_without_an_interrupt_stays_one(run):
    async def main():
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(main())


def test_an_interrupt_handler_of_the_program_is_left_alone(run):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:

        async def main():
            return signal.getsignal(signal.SIGINT)

        assert run(main()) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
