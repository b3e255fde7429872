import os
import select
import signal

import pytest

from ledgence.local._cancel import CancelToken
from ledgence.local._errors import Interrupted
from ledgence.local._signals import SignalWatch


@pytest.fixture
def token():
    token = CancelToken()
    yield token
    token.close()


def readable(token):
    return bool(select.select([token], [], [], 0)[0])


def test_a_fresh_token_stops_nobody(token):
    token.check()
    assert not token.cancelled
    assert not readable(token)


def test_a_cancelled_token_stays_readable_and_raises(token):
    token.cancel(15)
    token.cancel(2)
    for _ in range(2):
        assert readable(token)
        with pytest.raises(Interrupted) as caught:
            token.check()
        assert caught.value.signal == 15


def test_an_interruption_is_no_exception_that_programs_catch():
    assert not issubclass(Interrupted, Exception)


def interrupt_myself():
    os.kill(os.getpid(), signal.SIGINT)
    select.select([], [], [], 10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_token_and_does_not_raise(token, number):
    with SignalWatch(token):
        os.kill(os.getpid(), number)
    assert token.cancelled


def test_a_signal_raises_at_once_where_nothing_needs_cleaning(token):
    with SignalWatch(token) as signals:
        with pytest.raises(Interrupted) as caught, signals.immediately():
            interrupt_myself()
        assert caught.value.signal == signal.SIGINT
        # The second one finds the token cancelled and is quiet.
        os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_that_came_before_is_not_forgotten(token):
    with SignalWatch(token) as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Interrupted), signals.immediately():
            pytest.fail("the block must not be entered")


def test_handlers_are_put_back_and_ignored_signals_stay_ignored(token):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        handler = signal.getsignal(signal.SIGINT)
        with SignalWatch(token):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) is not handler
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_call_after_the_closing_touches_no_descriptor():
    token = CancelToken()
    token.close()
    reader, writer = os.pipe()  # most likely the numbers that were given back
    token.cancel()
    os.set_blocking(reader, False)
    with pytest.raises(BlockingIOError):
        os.read(reader, 1)
    assert not token.cancelled
    os.close(reader)
    os.close(writer)
