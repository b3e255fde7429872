"""What the caller sees, and how it is written."""

import contextlib
import json
import os

import pytest

from ledgence.local._cancel import CancelToken
from ledgence.local._console import Console
from ledgence.local._errors import Interrupted
from ledgence.local._logs import Log
from ledgence.local._progress import Progress
from ledgence.local._streams import Stream


class Memory:
    """A stream that remembers."""

    def __init__(self):
        self.data = b""
        self.last = b""

    def write(self, data):
        self.data += data

    def last_words(self, data):
        self.last += data

    @property
    def lines(self):
        return self.data.decode().splitlines()


@pytest.fixture
def err():
    return Memory()


@pytest.fixture
def out():
    return Memory()


@pytest.fixture
def console(out, err):
    def make(*, pretty=False, frames=False):
        return Console(
            out,
            err,
            pretty=pretty,
            frames=frames,
            runner_directory="/lib/worker",
            progress=None,
        )

    return make


def log(message="m", event_id=None, **attributes):
    invocation = None if event_id is None else {"event_id": event_id}
    return Log("t", "INFO", "shop", message, attributes, invocation, None, 10)


def test_a_result_is_compact_utf8_in_its_own_order(console, out):
    console().result({"run": 1, "output": {"b": 1, "a": "é\u2028"}})
    expected = '{"run":1,"output":{"b":1,"a":"é\u2028"}}\n'
    assert out.data == expected.encode()


def test_a_pretty_result_is_the_same_value(console, out):
    value = {"run": 1, "output": {"b": [1, 2.5], "a": "é"}}
    console(pretty=True).result(value)
    assert json.loads(out.data) == value
    assert len(out.lines) > 5


def test_raw_output_is_marked_line_by_line_as_it_comes(console, err):
    shown = console()
    shown.begin(3, "evt")
    shown.stderr(b"one\ntw")
    assert err.lines == ["[run 3] one"]
    shown.stderr(b"o\n")
    assert err.lines == ["[run 3] one", "[run 3] two"]


def test_a_character_split_between_reads_is_put_together(console, err):
    shown = console()
    shown.begin(1, "evt")
    shown.stderr("é".encode()[:1])
    shown.stderr("é\n".encode()[1:])
    assert err.lines == ["[run 1] é"]


def test_an_unfinished_line_is_shown_when_the_run_ends(console, err):
    shown = console()
    shown.begin(1, "evt")
    shown.stderr(b"no newline \xc3")
    shown.end()
    assert err.lines == ["[run 1] no newline \ufffd"]


def test_an_endless_line_is_not_held_back_for_ever(console, err):
    shown = console()
    shown.begin(1, "evt")
    shown.stderr(b"x" * 8192)
    assert err.lines == []
    shown.stderr(b"x")
    assert err.lines == ["[run 1] " + "x" * 8193]


def test_output_between_runs_is_the_runners(console, err):
    shown = console()
    shown.begin(1, "evt")
    shown.end()
    shown.stderr(b"idle\n")
    assert err.lines == ["[runner] idle"]


def test_a_late_log_is_marked_with_the_run_it_belongs_to(console, err):
    shown = console()
    shown.begin(1, "evt-1")
    shown.begin(2, "evt-2")
    shown.log(log("late", "evt-1", n=1))
    shown.log(log("now", "evt-2"))
    shown.log(log("nowhere"))
    shown.log(log("unknown", "evt-9"))
    assert err.lines == [
        '[run 1] INFO shop: late  {"n":1}',
        "[run 2] INFO shop: now",
        "[run 2] INFO shop: nowhere",
        "[run 2] INFO shop: unknown",
    ]


def test_only_so_many_runs_are_remembered(console, err):
    shown = console()
    for number in range(1, 300):
        shown.begin(number, f"evt-{number}")
    shown.log(log("old", "evt-1"))
    shown.log(log("recent", "evt-250"))
    assert err.lines == ["[run 299] INFO shop: old", "[run 250] INFO shop: recent"]


def test_what_was_dropped_is_told(console, err):
    shown = console()
    shown.begin(1, "evt")
    shown.end(dropped_bytes=5, dropped_logs=2)
    assert err.lines == [
        "[run 1] ... 5 more bytes of output dropped",
        "[run 1] ... 2 log records dropped",
    ]


@pytest.mark.parametrize(
    ("frames", "expected"),
    [(False, []), (True, ["[run 1] < {}"])],
    ids=["quiet", "verbose"],
)
def test_frames_are_shown_under_verbose_only(console, err, frames, expected):
    shown = console(frames=frames)
    shown.begin(1, "evt")
    shown.frame("<", b"{}\n")
    assert err.lines == expected


def test_a_long_frame_is_shortened(console, err):
    shown = console(frames=True)
    shown.frame(">", b"x" * 5000 + b"\n")
    (line,) = err.lines
    assert line.endswith("... 905 more bytes")


def test_after_stopping_only_last_words_are_said(console, err, out):
    shown = console()
    shown.stop()
    shown.note("stopped")
    shown.result({"run": 1})
    assert (err.data, out.data) == (b"", b"")
    assert err.last == b"ledgence-local: stopped\n"
    assert out.last == b'{"run":1}\n'


def test_lost_listeners_of_logs_do_not_lose_results(console, err, out):
    def fail(_data):
        raise BrokenPipeError

    err.write = fail
    shown = console()
    shown.note("nobody hears this")
    shown.result({"run": 1})
    assert out.data == b'{"run":1}\n'


# The stream below it.


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        with contextlib.suppress(OSError):
            os.close(descriptor)


@pytest.fixture
def token():
    token = CancelToken()
    yield token
    token.close()


def fill(writer):
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 65536)
    os.set_blocking(writer, True)


def test_a_stream_writes_all(pipe, token):
    reader, writer = pipe
    Stream(writer, token).write(b"abc\n")
    assert os.read(reader, 100) == b"abc\n"


def test_a_write_that_waits_for_its_reader_can_be_cancelled(pipe, token):
    fill(pipe[1])
    token.cancel(2)
    with pytest.raises(Interrupted):
        Stream(pipe[1], token).write(b"abc\n")


def test_last_words_are_not_waited_for_long(pipe, token):
    fill(pipe[1])
    Stream(pipe[1], token).last_words(b"abc\n")


def test_last_words_never_follow_half_a_line(pipe, token, monkeypatch):
    reader, writer = pipe
    stream = Stream(writer, token)
    turns = iter([None, None, Interrupted(2)])

    def check():
        if (stop := next(turns)) is not None:
            raise stop

    monkeypatch.setattr(token, "check", check)
    with pytest.raises(Interrupted):
        stream.write(b"x" * 20_000)
    stream.last_words(b"last")
    os.close(writer)
    assert os.read(reader, 65536) == b"x" * 8192


# Progress.


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_short_work_shows_no_progress():
    clock = Clock()
    progress = Progress(100, contextlib.nullcontext, clock=clock)
    clock.now = 0.39
    progress.update(runs=1, failed=0, position=10)
    assert not progress.line(b"x\n")
    progress.close()


def test_longer_work_shows_a_bar_until_it_is_closed(capfd):
    clock = Clock()
    progress = Progress(100, contextlib.nullcontext, clock=clock)
    clock.now = 0.41
    progress.update(runs=1, failed=0, position=10)
    assert progress.line("é [bold] \\\n".encode())
    progress.close()
    assert not progress.line(b"after\n")
    assert "é [bold] \\" in capfd.readouterr().err
