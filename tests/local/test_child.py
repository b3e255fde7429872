"""The child process below the protocol, where systems differ."""

import os
import selectors
import sys
import time

import pytest

from ledgence.local import _child
from ledgence.local._cancel import CancelToken
from ledgence.local._child import Child

PATIENCE = 60


@pytest.fixture
def token():
    token = CancelToken()
    yield token
    token.close()


@pytest.fixture
def child(token):
    """Starts Python code as a child; returns it and what it says."""
    made = []

    def start(code):
        said = []
        one = Child(
            [sys.executable, "-I", "-S", "-c", code],
            cancel=token,
            on_stdout=said.append,
            on_stderr=said.append,
        )
        made.append(one)
        return one, said

    yield start
    for one in made:
        one.kill()


def pump_until_the_end(child):
    deadline = time.monotonic() + PATIENCE
    while not child.ended:
        assert not child.pump(deadline)


def is_waited_for(pid):
    """Whether the process is reaped, so that no zombie is left."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


ECHO = "import sys; sys.stdout.write(sys.stdin.read(5))"


@pytest.mark.parametrize("missing", [None, "PollSelector"])
def test_what_is_sent_comes_back_on_every_kind_of_selector(child, monkeypatch, missing):
    if missing:
        monkeypatch.delattr(selectors, missing, raising=False)
    one, said = child(ECHO)
    one.send(b"hello")
    pump_until_the_end(one)
    assert b"".join(said) == b"hello"


def test_a_system_that_refuses_a_pidfd_is_polled(child, monkeypatch):
    def refuse(_pid):
        raise OSError

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    one, said = child("print('x')")
    pump_until_the_end(one)
    assert b"".join(said) == b"x\n"


def test_a_child_that_closed_its_input_loses_what_is_sent(child):
    one, _ = child("import os; os.close(0); os.write(1, b'closed'); os.read(3, 1)")
    pump_until_the_end(one)
    one.kill()
    assert is_waited_for(one.pid)


def test_a_broken_input_pipe_is_no_error_of_the_parent(child):
    code = "import os, time; os.close(0); os.write(1, b'closed'); time.sleep(600)"
    one, said = child(code)
    deadline = time.monotonic() + PATIENCE
    while not said:
        one.pump(deadline)
    one.send(b"x" * 1_000_000)
    one.pump(time.monotonic() + 1)
    one.send(b"again")
    one.pump(time.monotonic() + 1)
    assert one.alive


def test_a_child_that_cannot_be_watched_is_not_left_behind(child, monkeypatch):
    pids = []

    def fail(_pid):
        pids.append(_pid)
        raise RuntimeError("no")

    monkeypatch.setattr(_child, "_open_pidfd", fail)
    with pytest.raises(RuntimeError, match="no"):
        child("import time; time.sleep(600)")
    assert is_waited_for(pids[0])


def test_stderr_that_was_closed_is_no_longer_watched(child):
    one, _ = child("import os; os.close(2); os.read(0, 1); print('x')")
    one.send(b"x")
    pump_until_the_end(one)
    one.drain_stderr()


def test_a_killed_child_tells_its_status_and_its_directory_is_gone(child):
    one, said = child("import os; os.write(1, os.getcwd().encode()); os.read(0, 1)")
    deadline = time.monotonic() + PATIENCE
    while not said:
        one.pump(deadline)
    assert os.path.isdir(said[0])  # noqa: PTH112 - bytes
    one.kill()
    assert one.exit_status == -9
    assert not os.path.exists(said[0])  # noqa: PTH110 - bytes
