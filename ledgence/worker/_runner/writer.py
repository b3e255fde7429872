"""The single owner of the protocol's output (runner-protocol.md, 13.5).

``PlainWriter`` serves protocol 1, which has no logs. ``SharedWriter`` carries optional
log frames beside the control frames:

* whoever has a frame writes it himself, as long as nobody else is writing and, for a
  log frame, as long as that cannot block: neither a result nor an ordinary record pays
  for a hand-off to another thread;
* what cannot be written at once waits, within bounds, for a thread that is started for
  the first such record;
* a control frame overtakes all that waits: at most the one record that is being
  written precedes it.
"""

import _thread
import os
import stat
import sys
from collections import deque

from ledgence.worker import _stdlib

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from ledgence.worker._runner.channel import Channel

MAX_WAITING_RECORDS = 64
MAX_WAITING_BYTES = 1_048_576
LOG_FRAME_BYTES = 16_384
_MAX_COUNT = 2**64 - 1


def write_all(descriptor: int, frame: bytes) -> None:
    """Write a frame completely, in as many pieces as the descriptor takes."""
    done = os.write(descriptor, frame)
    if done < len(frame):
        view = memoryview(frame)
        while done < len(frame):
            done += os.write(descriptor, view[done:])


class PlainWriter:
    """Control frames only, from the main thread only."""

    def __init__(self, channel: "Channel") -> None:
        self._channel = channel

    def control(self, frame: bytes) -> None:
        """Write a frame completely."""
        self._channel.stop_child()
        write_all(self._channel.sink, frame)

    def close(self, frame: bytes) -> None:
        """Write the last frame."""
        self.control(frame)


class SharedWriter:
    """Control frames from the main thread, log frames from any.

    ``_lock`` guards the fields and is held for moments only: no write that may block
    happens under it. ``_busy`` says that somebody is writing outside of it.
    ``_holder`` is set first of all under the lock, with nothing called before: signal
    handlers and finalizers, which may log, run between calls.

    Attributes:
        protocol: The version of the frames.
        limit: The most bytes of a log frame, its newline included.
        dropped: How many records were dropped or discarded, up to 2**64 - 1.
    """

    def __init__(self, channel: "Channel", protocol: int, frame_limit: int) -> None:
        self.protocol = protocol
        self.limit = min(LOG_FRAME_BYTES, frame_limit)
        self.dropped = 0
        self._channel = channel
        self._lock = _thread.allocate_lock()
        self._holder = 0  # the thread that has _lock
        self._open = False  # since the ready frame
        self._over = False  # since the closing frame, or a broken pipe
        self._busy = False
        self._turn: _thread.LockType | None = None  # a control frame waits for it
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._work: _thread.LockType | None = None  # locked while the thread rests
        self._outlet: Outlet | None = None
        channel.when_forked.append(self._leave_child)

    def control(self, frame: bytes) -> None:
        """Write a frame completely, before every record that still waits.

        Raises:
            OSError: The pipe is broken.
        """
        self._channel.stop_child()
        turn = None
        me = _thread.get_ident()
        with self._lock:
            self._holder = me
            if self._busy:
                turn = self._turn = _thread.allocate_lock()
                turn.acquire()
            self._busy = True
            self._holder = 0
        if turn is not None:
            turn.acquire()  # the thread hands over after the record that it writes
        write_all(self._channel.sink, frame)
        with self._lock:
            self._holder = me
            self._busy = False
            self._open = True
            if self._waiting:
                self._flush()
            self._holder = 0

    def close(self, frame: bytes) -> None:
        """Discard what waits and write the last frame."""
        with self._lock:
            self._over = True
            self._count(len(self._waiting))
            self._waiting.clear()
        self.control(frame)

    def emit(self, frame: bytes) -> None:
        """Write or queue a log frame, or drop it; never block."""
        me = _thread.get_ident()
        if self._over or self._holder == me:
            # The second: a signal handler or a finalizer has interrupted this very
            # thread inside of the lock. To wait for it would be to wait for ever.
            self.drop()
            return
        with self._lock:
            self._holder = me
            try:
                if self._over or not (self._write_now(frame) or self._queue(frame)):
                    self._count(1)
            finally:
                self._holder = 0

    def drop(self) -> None:
        """Count a record that could not be made into a frame."""
        self._count(1)

    def _count(self, records: int) -> None:
        self.dropped = min(self.dropped + records, _MAX_COUNT)

    def _write_now(self, frame: bytes) -> bool:
        """Write at once if that keeps the order and cannot block."""
        if self._busy or self._waiting or not self._open:
            return False
        outlet = self._outlet
        if outlet is None:
            outlet = self._outlet = Outlet(self._channel.sink)
        if not outlet.takes(len(frame)):
            return False
        self._write_record(frame)
        return True

    def _write_record(self, frame: bytes) -> None:
        try:
            write_all(self._channel.sink, frame)
        except OSError:
            # A record may be lost. The next control frame meets the broken pipe.
            self._over = True
            self._count(1)

    def _queue(self, frame: bytes) -> bool:
        size = self._waiting_bytes + len(frame)
        if len(self._waiting) >= MAX_WAITING_RECORDS or size > MAX_WAITING_BYTES:
            return False
        self._waiting.append(frame)
        self._waiting_bytes = size
        if self._open and not self._busy:
            self._wake()
        return True

    def _next(self) -> bytes:
        frame = self._waiting.popleft()
        self._waiting_bytes -= len(frame)
        return frame

    def _flush(self) -> None:
        """After a control frame: write what cannot block, leave the rest to the thread.

        This is the way of the records that were emitted before the ready frame.
        """
        outlet = self._outlet
        if outlet is None:
            outlet = self._outlet = Outlet(self._channel.sink)
        while self._waiting and outlet.takes(len(self._waiting[0])):
            self._write_record(self._next())
        if self._waiting:
            self._wake()

    def _wake(self) -> None:
        if self._work is None:
            self._work = _thread.allocate_lock()
            # A bare thread: it never calls the program, and threading is not needed.
            _thread.start_new_thread(self._write_waiting, (self._work,))
        elif self._work.locked():
            self._work.release()

    def _write_waiting(self, work: _thread.LockType) -> None:
        """The thread: one record after the other, for ever."""
        while True:
            work.acquire()
            while self._write_one():
                pass

    def _write_one(self) -> bool:
        me = _thread.get_ident()
        frame = None
        with self._lock:
            self._holder = me
            if self._waiting and not (self._busy or self._over):
                self._busy = True
                frame = self._next()
            self._holder = 0
        if frame is None:
            return False
        self._write_record(frame)
        with self._lock:
            self._holder = me
            turn, self._turn = self._turn, None
            self._busy = turn is not None  # if so it is the control frame's now
            self._holder = 0
        if turn is None:
            return True
        turn.release()
        return False

    def _leave_child(self) -> None:
        self._over = True
        self._lock = _thread.allocate_lock()  # another thread may have held it
        self._waiting.clear()


class Outlet:
    """Tells whether a small frame can be written to a descriptor without blocking."""

    def __init__(self, descriptor: int) -> None:
        self._largest = -1
        try:
            mode = os.fstat(descriptor).st_mode
            select = _stdlib.load("select")
        except (OSError, ImportError):
            return
        if stat.S_ISREG(mode):
            self._largest = sys.maxsize
        elif stat.S_ISFIFO(mode):
            # POSIX: a pipe that polls as writable takes this much without blocking.
            self._largest = select.PIPE_BUF
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        self._poll = poll.poll

    def takes(self, size: int) -> bool:
        """Whether that many bytes can be written at once."""
        return size <= self._largest and bool(self._poll(0))
