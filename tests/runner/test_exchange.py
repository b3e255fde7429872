"""Requests and replies over pipes, in loops of every kind."""

import asyncio
import json
import os

import pytest

from ledgence.worker._runner import lifecycle
from ledgence.worker._runner.channel import LineReader
from ledgence.worker._runner.exchange import Exchange
from ledgence.worker._runner.frames import ExchangeError, Requests, read
from ledgence.worker._runner.loops import RunnerLoop, Waker
from ledgence.worker._runner.writer import SharedWriter
from tests.support.runner import activation, line


class Channel:
    """A channel whose other ends the test holds."""

    def __init__(self):
        self.source, self.replies = os.pipe()
        self.requests, self.sink = os.pipe()
        self.forked = False
        self.when_forked = []

    def stop_child(self):
        assert not self.forked

    def close(self):
        for descriptor in (self.source, self.replies, self.requests, self.sink):
            if descriptor >= 0:
                os.close(descriptor)

    def answer(self, number=1, result=None, **changes):
        reply = {
            "v": 3,
            "type": "runtime_reply",
            "event_id": "evt-1",
            "attempt_id": "attempt-1",
            "id": number,
            "result": result,
        }
        os.write(self.replies, line(reply | changes))

    def request(self):
        return json.loads(os.read(self.requests, 65536))


@pytest.fixture
def channel():
    made = Channel()
    yield made
    made.close()


@pytest.fixture
def exchange(channel):
    return exchange_of(channel)


def exchange_of(channel, limit=4096):
    call = read(line(activation()), 3)
    return Exchange(
        Requests(call, limit),
        channel,
        SharedWriter(channel, 3, limit),
        LineReader(channel, 300),
    )


def ours(channel, main):
    waker = Waker(channel)
    try:
        return lifecycle.run(main, channel, waker)
    finally:
        waker.close()


def stock(channel, main):
    return asyncio.run(main)


BOTH = pytest.mark.parametrize("run", [ours, stock], ids=["ours", "stock"])


@BOTH
def test_a_request_gets_its_result(channel, exchange, run):
    channel.answer(1, {"committed": True})
    channel.answer(2, [2])

    async def main():
        first = await exchange("local_step.commit", {"z": 1, "a": 2})
        second = await exchange.send_encoded("workflow.fork", b'{"key":"f"}')
        return first, second

    assert run(channel, main()) == ({"committed": True}, [2])
    sent = os.read(channel.requests, 65536).splitlines()
    assert [json.loads(text)["id"] for text in sent] == [1, 2]
    assert exchange.failure is None


@BOTH
def test_other_tasks_run_while_a_reply_is_awaited(channel, exchange, run):
    async def answer():
        for _ in range(3):
            await asyncio.sleep(0.001)
        channel.answer(1, "late")

    async def main():
        task = asyncio.create_task(answer())
        result = await exchange("o", {})
        await task
        return result

    assert run(channel, main()) == "late"


@BOTH
def test_a_reply_in_pieces_is_awaited_to_its_end(channel, exchange, run):
    whole = line(
        {
            "v": 3,
            "type": "runtime_reply",
            "event_id": "evt-1",
            "attempt_id": "attempt-1",
            "id": 1,
            "result": 7,
        }
    )

    async def answer():
        for byte in whole:
            os.write(channel.replies, bytes([byte]))
            await asyncio.sleep(0)

    async def main():
        task = asyncio.create_task(answer())
        result = await exchange("o", {})
        await task
        return result

    assert run(channel, main()) == 7


def failing(text):
    def act(channel):
        os.write(channel.replies, text)

    return act


def ended(channel):
    os.close(channel.replies)
    channel.replies = -1


FAILURES = {
    "a wrong id": lambda channel: channel.answer(2),
    "not JSON": failing(b"x\n"),
    "too long": failing(b"x" * 302),
    "ended": ended,
    "ended inside": lambda channel: (failing(b"{")(channel), ended(channel)),
}


@BOTH
@pytest.mark.parametrize("act", FAILURES.values(), ids=FAILURES)
def test_a_failed_exchange_is_final(channel, exchange, run, act):
    async def main():
        act(channel)
        with pytest.raises(ExchangeError) as first:
            await exchange("o", {})
        assert exchange.failure is first.value
        for again in (exchange("o", {}), exchange.send_encoded("o", b"{}")):
            with pytest.raises(ExchangeError, match="earlier request"):
                await again
        await exchange.drain()  # nothing is under way any more

    run(channel, main())
    assert exchange.failure is not None


@pytest.mark.parametrize(
    "payload", [{"k": "x" * 5000}, {"k": {1}}], ids=["too large", "no JSON"]
)
def test_a_request_that_cannot_be_sent_is_final(channel, exchange, payload):
    async def main():
        with pytest.raises(ExchangeError, match="cannot be sent"):
            await exchange("o", payload)
        with pytest.raises(ExchangeError, match="earlier request"):
            await exchange("o", {})

    ours(channel, main())
    os.set_blocking(channel.requests, False)
    with pytest.raises(BlockingIOError):
        os.read(channel.requests, 1)


def test_encoded_payloads_are_bounded_too(channel):
    small = exchange_of(channel, 256)

    async def main():
        with pytest.raises(ExchangeError, match="too large"):
            await small.send_encoded("o", b'"%b"' % (b"x" * 256))
        assert small.failure is not None

    ours(channel, main())


@BOTH
def test_a_cancelled_request_is_final_and_its_reply_is_drained(channel, exchange, run):
    async def main():
        task = asyncio.create_task(exchange("o", {}))
        blocker = asyncio.create_task(asyncio.sleep(30))  # so that the loop waits
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ExchangeError, match="earlier request"):
            await exchange("o", {})
        channel.answer(1, "for nobody")
        await exchange.drain()
        blocker.cancel()

    run(channel, main())
    channel.answer(2, "the next line")
    line_reader = exchange._lines
    assert json.loads(line_reader.readline())["result"] == "the next line"


@BOTH
def test_a_drain_that_meets_no_reply_is_no_failure_of_its_own(channel, exchange, run):
    async def main():
        task = asyncio.create_task(exchange("o", {}))
        blocker = asyncio.create_task(asyncio.sleep(30))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        ended(channel)
        await exchange.drain()
        blocker.cancel()

    run(channel, main())


def test_one_request_at_a_time(channel, exchange):
    async def main():
        blocker = asyncio.create_task(asyncio.sleep(30))
        task = asyncio.create_task(exchange("o", {}))
        await asyncio.sleep(0.01)
        with pytest.raises(ExchangeError):
            await exchange("o", {})
        channel.answer(1, 1)
        assert await task == 1
        blocker.cancel()

    ours(channel, main())


def test_a_forked_child_waits_for_no_reply(channel, exchange):
    async def main():
        blocker = asyncio.create_task(asyncio.sleep(30))
        task = asyncio.create_task(exchange("o", {}))
        await asyncio.sleep(0.01)
        exchange.leave_child()
        with pytest.raises(ExchangeError, match="forked child"):
            await task
        exchange.leave_child()
        await exchange.drain()
        blocker.cancel()

    ours(channel, main())


def test_a_quiet_loop_waits_without_leaving_its_task(channel, exchange, monkeypatch):
    channel.answer(1, "quick")
    waits = []
    original = RunnerLoop.wait_for_source

    def observed(self):
        waits.append(original(self))
        return waits[-1]

    monkeypatch.setattr(RunnerLoop, "wait_for_source", observed)

    async def main():
        return await exchange("o", {})

    assert ours(channel, main()) == "quick"
    assert waits == [True]


@BOTH
def test_a_regular_file_is_read_at_once(channel, tmp_path, run):
    path = tmp_path / "replies"
    path.write_bytes(
        line(
            {
                "v": 3,
                "type": "runtime_reply",
                "event_id": "evt-1",
                "attempt_id": "attempt-1",
                "id": 1,
                "result": 1,
            }
        )
    )
    pipe, channel.source = channel.source, os.open(path, os.O_RDONLY)
    os.close(pipe)
    one = exchange_of(channel)

    async def main():
        return await one("o", {})

    assert run(channel, main()) == 1


def test_input_for_a_request_that_was_just_cancelled_wakes_nobody():
    from ledgence.worker._runner.exchange import _wake

    loop = asyncio.new_event_loop()
    future = loop.create_future()
    future.cancel()
    _wake(future)
    assert future.cancelled()
    loop.close()
