"""The single owner of the output: order, bounds, and nobody who waits for nothing."""

import fcntl
import json
import os
import select
import threading

import pytest

from ledgence.worker._runner import writer as module
from ledgence.worker._runner.channel import Channel
from ledgence.worker._runner.writer import Outlet, PlainWriter, SharedWriter, write_all
from tests.support.runner import await_true


class Pipe:
    """Stands in for the channel, with the reading end in the test's hands."""

    def __init__(self):
        self.source = -1
        self.read_end, self.sink = os.pipe()
        self.forked = False
        self.when_forked = []

    def stop_child(self):
        assert not self.forked

    def read(self, size=1 << 20):
        return os.read(self.read_end, size)

    def read_lines(self, count):
        data = b""
        while data.count(b"\n") < count:
            assert select.select([self.read_end], [], [], 20)[0]
            data += self.read()
        return data.splitlines(keepends=True)

    def fill(self):
        """Make the pipe full: the next write of any size blocks."""
        os.set_blocking(self.sink, False)
        size = 0
        for chunk in (65536, 4096, 1):
            try:
                while True:
                    size += os.write(self.sink, b"-" * chunk)
            except BlockingIOError:
                pass
        os.set_blocking(self.sink, True)
        return size

    def empty(self, size):
        while size:
            size -= len(self.read(size))

    def close(self):
        for descriptor in (self.read_end, self.sink):
            if descriptor >= 0:
                os.close(descriptor)


@pytest.fixture
def pipe():
    made = Pipe()
    yield made
    made.close()


@pytest.fixture
def shared(pipe):
    return SharedWriter(pipe, 2, 2_097_152)


def log(number, size=0):
    return json.dumps({"log": number, "pad": "x" * size}).encode() + b"\n"


BIG = 8000  # more than a pipe takes without blocking


def test_a_frame_is_written_whole_in_as_many_pieces_as_it_takes(monkeypatch):
    pieces = []

    def write(descriptor, data):
        pieces.append(bytes(data[:3]))
        return len(pieces[-1])

    monkeypatch.setattr(module.os, "write", write)
    write_all(5, b"abcdefgh")
    assert pieces == [b"abc", b"def", b"gh"]


def test_the_plain_writer_writes_and_closes(pipe):
    plain = PlainWriter(pipe)
    plain.control(b"one\n")
    plain.close(b"two\n")
    assert pipe.read() == b"one\ntwo\n"


def test_the_log_limit_is_the_smaller_one(pipe):
    assert SharedWriter(pipe, 3, 2_097_152).limit == 16_384
    assert SharedWriter(pipe, 3, 16_383).limit == 16_383


def test_nothing_is_written_before_the_first_control_frame(pipe, shared):
    for number in range(3):
        shared.emit(log(number))
    assert not select.select([pipe.read_end], [], [], 0)[0]
    shared.control(b"ready\n")
    assert pipe.read_lines(4) == [b"ready\n", log(0), log(1), log(2)]


def test_big_records_from_before_the_first_frame_are_left_to_the_thread(pipe, shared):
    shared.emit(log(0, BIG))
    shared.emit(log(1))
    shared.control(b"ready\n")
    assert pipe.read_lines(3) == [b"ready\n", log(0, BIG), log(1)]


@pytest.fixture
def no_thread(monkeypatch):
    """A writer whose thread never comes."""
    called = []
    monkeypatch.setattr(
        module._thread, "start_new_thread", lambda *call: called.append(call)
    )
    return called


def test_small_records_are_gathered_for_the_next_control_frame(pipe, shared, no_thread):
    shared.control(b"ready\n")
    for number in range(20):
        shared.emit(log(number))
    assert pipe.read() == b"ready\n"
    shared.control(b"result\n")
    assert pipe.read() == b"".join([*map(log, range(20)), b"result\n"])
    assert len(no_thread) == 1


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_records_and_a_frame_that_a_pipe_takes_at_once_are_one_write(
    pipe, shared, no_thread, monkeypatch, more
):
    shared.control(b"ready\n")
    pipe.read()
    written = []
    real = os.write
    monkeypatch.setattr(
        module.os,
        "write",
        lambda sink, data: written.append(bytes(data)) or real(sink, data),
    )
    records = [log(1), log(2)]
    for record in records:
        shared.emit(record)
    batch = b"".join(records)
    frame = b"f" * (select.PIPE_BUF - len(batch) + more - 1) + b"\n"
    shared.control(frame)
    assert written == ([batch, frame] if more > 0 else [batch + frame])
    assert pipe.read() == batch + frame


def test_the_record_that_finds_the_batch_full_writes_it(pipe, shared, no_thread):
    shared.control(b"ready\n")
    for number in range(1, 5):
        shared.emit(log(number, 1100))
    assert pipe.read() == b"ready\n" + b"".join(log(n, 1100) for n in (1, 2, 3))
    assert list(shared._waiting) == [log(4, 1100)]


def test_a_batch_of_exactly_what_a_pipe_takes_is_one(pipe, shared, no_thread):
    shared.control(b"ready\n")
    for size in (4000, 96, 1):
        shared.emit(b"x" * (size - 1) + b"\n")
    assert pipe.read() == b"ready\n" + b"x" * 3999 + b"\n" + b"x" * 95 + b"\n"
    assert list(shared._waiting) == [b"\n"]


def test_records_that_nobody_comes_for_are_written_by_the_thread(pipe, shared):
    shared.control(b"ready\n")
    for turn in range(3):
        shared.emit(log(turn))
        shared.emit(log("more"))
        assert pipe.read_lines(2 if turn else 3)[-2:] == [log(turn), log("more")]


def test_the_thread_rests_when_there_is_no_work_and_comes_when_called(
    pipe, shared, monkeypatch
):
    monkeypatch.setattr(module, "_QUIET_TICKS", 2)
    monkeypatch.setattr(module, "_TICK_SECONDS", 0.001)
    shared.control(b"ready\n")
    assert pipe.read() == b"ready\n"
    for turn in range(5):
        shared.emit(log(turn))
        assert pipe.read_lines(1) == [log(turn)]
        await_true(lambda: not shared._awake)


def test_what_waits_can_be_flushed_before_the_process_ends(pipe, shared, no_thread):
    shared.flush()
    shared.control(b"ready\n")
    shared.emit(log(0))
    shared._busy = True
    shared.flush()  # somebody else is writing
    assert pipe.read() == b"ready\n"
    shared._busy = False
    shared.flush()
    assert pipe.read() == log(0)


def test_records_beyond_the_batch_are_flushed_in_batches(pipe, shared, no_thread):
    for number in range(60):
        shared.emit(log(number, 200))
    shared.control(b"ready\n")
    assert pipe.read() == b"".join([b"ready\n", *(log(n, 200) for n in range(60))])


def test_64_small_records_are_a_full_batch_too(pipe, shared, no_thread):
    shared.control(b"ready\n")
    for _ in range(65):
        shared.emit(b"x\n")
    assert pipe.read() == b"ready\n" + b"x\n" * 64
    assert len(shared._waiting) == 1


def test_big_records_are_written_by_the_thread_in_order(pipe, shared):
    shared.control(b"ready\n")
    for number in range(5):
        shared.emit(log(number, BIG))
        shared.emit(log(number))
    lines = pipe.read_lines(11)
    assert lines[1:] == [log(n, size) for n in range(5) for size in (BIG, 0)]
    shared.emit(log("again", BIG))
    assert pipe.read_lines(1) == [log("again", BIG)]
    assert shared.dropped == 0


def test_emitting_never_blocks_and_what_exceeds_64_records_is_dropped(pipe, shared):
    shared.control(b"ready\n")
    assert pipe.read() == b"ready\n"
    full = pipe.fill()
    shared.emit(log("under way"))
    await_true(lambda: shared._busy)
    for number in range(70):
        shared.emit(log(number))
    assert (len(shared._waiting), shared.dropped) == (64, 6)
    pipe.empty(full)
    assert pipe.read_lines(65) == [log("under way"), *map(log, range(64))]
    shared.emit(log("later"))
    assert pipe.read_lines(1) == [log("later")]


def test_what_exceeds_a_mebibyte_is_dropped(pipe, shared):
    size = 1_048_576 // 4
    for number in range(4):
        shared.emit(b"%d" % number * (size - 1) + b"\n")
    assert (len(shared._waiting), shared._waiting_bytes) == (4, 1_048_576)
    shared.emit(b"\n")
    assert (len(shared._waiting), shared.dropped) == (4, 1)


def test_a_control_frame_overtakes_all_but_the_record_under_way(pipe, shared):
    shared.control(b"ready\n")
    assert pipe.read() == b"ready\n"
    full = pipe.fill()
    for number in range(5):
        shared.emit(log(number, BIG))
    await_true(lambda: shared._busy)
    done = threading.Event()

    def answer():
        shared.control(b"result\n")
        done.set()

    thread = threading.Thread(target=answer)
    thread.start()
    await_true(lambda: shared._turn is not None)
    assert not done.is_set()
    pipe.empty(full)
    lines = pipe.read_lines(6)
    assert lines == [log(0, BIG), b"result\n", *(log(n, BIG) for n in range(1, 5))]
    thread.join(20)
    assert done.is_set()


def test_closing_discards_what_has_to_wait_and_drops_what_follows(pipe, shared):
    for number in range(3):
        shared.emit(log(number))  # before the ready frame
    shared.close(b"closing\n")
    shared.emit(log("late"))
    assert pipe.read() == b"closing\n"
    assert shared.dropped == 4
    assert not shared._waiting


def test_closing_writes_what_can_be_written_at_once(pipe, shared, no_thread):
    shared.control(b"ready\n")
    shared.emit(log(0))
    shared.close(b"closing\n")
    assert pipe.read() == b"ready\n" + log(0) + b"closing\n"
    assert shared.dropped == 0


def test_the_counter_saturates(shared):
    shared.dropped = 2**64 - 2
    for _ in range(3):
        shared.drop()
    assert shared.dropped == 2**64 - 1


def test_a_broken_pipe_drops_records_and_fails_control_frames(pipe, shared, no_thread):
    shared.control(b"ready\n")
    os.close(pipe.read_end)
    pipe.read_end = -1
    shared.emit(log(0))
    shared.emit(log(1))
    shared.flush()
    assert shared.dropped == 2
    shared.emit(log(2))
    assert shared.dropped == 3
    for _ in range(2):  # and does not wait for its turn the second time
        with pytest.raises(BrokenPipeError):
            shared.control(b"result\n")


def test_a_pipe_that_breaks_under_the_thread_drops_what_waits(pipe, shared):
    shared.control(b"ready\n")
    assert pipe.read() == b"ready\n"
    pipe.fill()
    for number in range(3):
        shared.emit(log(number, BIG))
    await_true(lambda: shared._busy)
    os.close(pipe.read_end)
    pipe.read_end = -1
    await_true(lambda: shared._over)
    with pytest.raises(BrokenPipeError):
        shared.control(b"result\n")


def test_a_thread_that_interrupts_itself_drops_its_record(
    pipe, shared, no_thread, monkeypatch
):
    """A signal handler logs while its thread is inside the writer."""
    shared.control(b"ready\n")
    write = module.write_all

    def interrupted(descriptor, frame):
        shared.emit(log("from the handler"))
        write(descriptor, frame)

    shared.emit(log("from the program"))
    monkeypatch.setattr(module, "write_all", interrupted)
    shared.flush()
    assert pipe.read() == b"ready\n" + log("from the program")
    assert shared.dropped == 1


def test_a_control_frame_that_is_interrupted_takes_the_record(
    pipe, shared, no_thread, monkeypatch
):
    """A signal handler logs while its thread writes a result."""
    shared.control(b"ready\n")
    write = module.write_all

    def interrupted(descriptor, frame):
        if frame == b"result\n":
            shared.emit(log("from the handler"))
        write(descriptor, frame)

    monkeypatch.setattr(module, "write_all", interrupted)
    shared.control(b"result\n")
    assert pipe.read() == b"ready\nresult\n" + log("from the handler")


@pytest.mark.parametrize("where", ["emit", "flush", "before", "control"])
def test_an_exception_inside_the_writer_leaves_it_usable(
    pipe, shared, no_thread, monkeypatch, where
):
    """A signal handler raises while its thread is inside the writer."""
    shared.control(b"ready\n")
    write = module.write_all

    def interrupted(descriptor, frame):
        if (where == "control") == (frame == b"result\n"):
            raise KeyboardInterrupt
        write(descriptor, frame)

    shared.emit(log(0, 0 if where != "emit" else 4000))
    if where == "control":
        shared.flush()
    act = {
        "emit": lambda: shared.emit(log(1, 4000)),
        "flush": shared.flush,
        "before": lambda: shared.control(b"result\n"),
        "control": lambda: shared.control(b"result\n"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(module, "write_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            act[where]()
    assert pipe.read().startswith(b"ready\n")
    shared.emit(log(2))
    shared.control(b"result\n")
    assert pipe.read().endswith(log(2) + b"result\n")


def test_frames_of_many_threads_never_interleave(pipe, shared):
    shared.control(b"ready\n")
    received = []

    def drain():
        data = b""
        while not data.endswith(b"closing\n"):
            data += pipe.read()
        received.extend(data.splitlines())

    reader = threading.Thread(target=drain)
    reader.start()

    def flood(name):
        for number in range(200):
            shared.emit(log(f"{name}{number}", number * 40 % 9000))

    threads = [threading.Thread(target=flood, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for number in range(50):
        shared.control(b'"result %d"\n' % number)
    for thread in threads:
        thread.join(30)
    shared.close(b'"x"closing\n')
    reader.join(30)
    values = [json.loads(text) for text in received[1:-1]]
    results = [value for value in values if isinstance(value, str)]
    assert results == [f"result {number}" for number in range(50)]
    assert len(values) - 50 + shared.dropped == 600


def test_the_child_of_a_fork_drops_everything(pipe, shared):
    shared.control(b"ready\n")
    shared._lock.acquire()  # another thread had it when the process forked
    for callback in pipe.when_forked:
        callback()
    shared.emit(log(0))
    assert shared.dropped == 1
    assert pipe.read() == b"ready\n"


def test_a_pipe_takes_what_posix_promises():
    read_end, write_end = os.pipe()
    try:
        outlet = Outlet(write_end)
        assert outlet.takes(select.PIPE_BUF)
        assert not outlet.takes(select.PIPE_BUF + 1)
        assert fcntl.fcntl(write_end, fcntl.F_GETFL) & os.O_NONBLOCK == 0
    finally:
        os.close(read_end)
        os.close(write_end)


def test_a_file_takes_large_batches(tmp_path):
    with (tmp_path / "frames").open("wb") as file:
        assert Outlet(file.fileno()).takes(65_536)


def test_a_socket_or_a_terminal_takes_nothing_without_the_thread():
    import socket

    one, other = socket.socketpair()
    with one, other:
        assert not Outlet(one.fileno()).takes(1)


def test_an_outlet_that_cannot_be_judged_takes_nothing(monkeypatch, pipe):
    def absent(name):
        raise ImportError(name)

    assert not Outlet(1_000_000).takes(0)  # no such descriptor
    monkeypatch.setattr(module._stdlib, "load", absent)
    assert not Outlet(pipe.sink).takes(0)


def test_a_channel_of_the_parent_stops_nobody(monkeypatch):
    monkeypatch.setattr("os.register_at_fork", lambda **_: None)
    Channel(-1, -1).stop_child()
