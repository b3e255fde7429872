"""The single owner of the protocol's output (runner-protocol.md, 13.5).

``PlainWriter`` serves protocol 1, which has no logs. ``SharedWriter`` carries optional
log frames beside the control frames:

* a control frame is written by the thread that has it, at once: a result pays for no
  hand-off;
* log frames are gathered and written together, by whoever comes along: the record that
  finds the batch full, the next control frame, or, within a hundredth of a second, a
  thread that is started for the first record;
* only that thread ever does a write of logs that may block. Meanwhile records wait
  within bounds, and a control frame overtakes all of them: at most the one record that
  is being written precedes it.
"""

import _thread
import os
import stat
from collections import deque

from ledgence.worker import _stdlib

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from ledgence.worker._runner.channel import Channel

MAX_WAITING_RECORDS = 64
MAX_WAITING_BYTES = 1_048_576
LOG_FRAME_BYTES = 16_384
_MAX_COUNT = 2**64 - 1
_TICK_SECONDS = 0.01  # how long a record may wait for company
_FILE_BATCH_BYTES = 65_536
_QUIET_TICKS = 100  # without work, before the thread rests until it is called


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

    def flush(self) -> None:
        """Nothing ever waits here."""


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
        self._call: _thread.LockType | None = None  # released to call the thread
        self._awake = False  # whether the thread looks here within a tick
        self._urgent = False  # whether it must not wait for the tick
        self._outlet: Outlet | None = None
        channel.when_forked.append(self._leave_child)

    def control(self, frame: bytes) -> None:
        """Write a frame completely, before every record that has to wait.

        Raises:
            OSError: The pipe is broken.
        """
        self._channel.stop_child()
        turn = None
        me = _thread.get_ident()
        with self._lock:
            self._holder = me
            try:
                if self._busy:
                    turn = self._turn = _thread.allocate_lock()
                    turn.acquire()
                elif self._waiting:
                    frame = self._flush(frame)
                self._busy = True
            finally:
                self._holder = 0
        if turn is not None:
            turn.acquire()  # the thread hands over after the record that it writes
        try:
            write_all(self._channel.sink, frame)
            self._open = True
        finally:
            with self._lock:
                self._holder = me
                self._busy = False
                try:
                    if self._waiting:
                        self._flush()
                    if self._waiting:
                        self._wake(urgent=True)
                finally:
                    self._holder = 0

    def close(self, frame: bytes) -> None:
        """Write the last frame; records that have to wait are discarded."""
        self.flush()
        with self._lock:
            self._over = True
            self._count(len(self._waiting))
            self._waiting.clear()
        self.control(frame)

    def flush(self) -> None:
        """Write the records that can be written at once, as before the process ends."""
        me = _thread.get_ident()
        with self._lock:
            self._holder = me
            try:
                if not self._busy:
                    self._flush()
            finally:
                self._holder = 0

    def emit(self, frame: bytes) -> None:
        """Take a log frame, to be written soon, or drop it; never block."""
        me = _thread.get_ident()
        if self._over or self._holder == me:
            # The second: a signal handler or a finalizer has interrupted this very
            # thread inside of the lock. To wait for it would be to wait for ever.
            self.drop()
            return
        with self._lock:
            self._holder = me
            try:
                self._take(frame)
            finally:
                self._holder = 0

    def drop(self) -> None:
        """Count a record that could not be made into a frame."""
        self._count(1)

    def _count(self, records: int) -> None:
        self.dropped = min(self.dropped + records, _MAX_COUNT)

    def _take(self, frame: bytes) -> None:
        """Gather a record, and see to it that somebody writes it."""
        size = len(frame)
        if self._open and not self._busy:
            outlet = self._outlet or self._find_outlet()
            full = self._is_full(size, outlet)
            if full:
                self._flush()
                full = self._is_full(size, outlet)
            if full or not self._awake:
                self._wake(urgent=full)
        size += self._waiting_bytes
        if len(self._waiting) >= MAX_WAITING_RECORDS or size > MAX_WAITING_BYTES:
            self._count(1)
            return
        self._waiting.append(frame)
        self._waiting_bytes = size

    def _is_full(self, size: int, outlet: "Outlet") -> bool:
        """Whether the batch cannot take another record."""
        if self._waiting_bytes + size > outlet.largest:
            return True
        return len(self._waiting) >= MAX_WAITING_RECORDS

    def _find_outlet(self) -> "Outlet":
        self._outlet = Outlet(self._channel.sink)
        return self._outlet

    def _flush(self, last: bytes = b"") -> bytes:
        """Write whole records for as long as that cannot block.

        Returns:
            What is still to be written: ``last``, maybe after the last records, where
            all of it can be written at once.
        """
        if self._over or not self._open:
            return last
        outlet = self._outlet or self._find_outlet()
        while batch := self._next_batch(outlet.largest):
            size = sum(map(len, batch))
            if not outlet.takes(size):
                break
            for _ in batch:
                self._waiting.popleft()
            self._waiting_bytes -= size
            if last and not self._waiting and size + len(last) <= outlet.largest:
                batch.append(last)
                return b"".join(batch)
            self._write_records(b"".join(batch), len(batch))
        return last

    def _next_batch(self, largest: int) -> list[bytes]:
        """The first waiting records, as many as fit into so many bytes."""
        if self._waiting_bytes <= largest:
            return list(self._waiting)
        batch: list[bytes] = []
        for frame in self._waiting:
            largest -= len(frame)
            if largest < 0:
                break
            batch.append(frame)
        return batch

    def _write_records(self, frames: bytes, count: int) -> None:
        try:
            write_all(self._channel.sink, frames)
        except OSError:
            # Records may be lost. The next control frame meets the broken pipe.
            self._over = True
            self._count(count)

    def _wake(self, *, urgent: bool) -> None:
        """Make sure that the thread comes within a tick, or at once."""
        self._awake = True
        self._urgent = self._urgent or urgent
        if self._call is None:
            self._call = _thread.allocate_lock()
            # A bare thread: it never calls the program, and threading is not needed.
            _thread.start_new_thread(self._work, (self._call,))
        elif self._call.locked():
            self._call.release()

    def _work(self, call: _thread.LockType) -> None:
        """The thread, for ever: rest until called, then look around tick by tick."""
        while True:
            call.acquire()
            quiet = 0
            while quiet < _QUIET_TICKS or not self._may_rest():
                if not self._urgent:
                    call.acquire(timeout=_TICK_SECONDS)
                quiet = 0 if self._write_waiting() else quiet + 1

    def _may_rest(self) -> bool:
        me = _thread.get_ident()
        with self._lock:
            self._holder = me
            self._awake = len(self._waiting) > 0
            self._holder = 0
        return not self._awake

    def _write_waiting(self) -> bool:
        """Write all that waits, in the thread; whether there was anything."""
        found = False
        while self._write_one():
            found = True
        return found

    def _write_one(self) -> bool:
        me = _thread.get_ident()
        frame = None
        with self._lock:
            self._holder = me
            self._urgent = False
            if not self._busy:
                self._flush()
                if self._waiting and not self._over:
                    self._busy = True
                    frame = self._waiting.popleft()
                    self._waiting_bytes -= len(frame)
            self._holder = 0
        if frame is None:
            return False
        self._write_records(frame, 1)
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
    """Tells whether some bytes can be written to a descriptor without blocking.

    Attributes:
        largest: The most bytes that can ever be written so; -1 for none.
    """

    def __init__(self, descriptor: int) -> None:
        self.largest = -1
        try:
            mode = os.fstat(descriptor).st_mode
            select = _stdlib.load("select")
        except (OSError, ImportError):
            return
        if stat.S_ISREG(mode):
            self.largest = _FILE_BATCH_BYTES
        elif stat.S_ISFIFO(mode):
            # POSIX: a pipe that polls as writable takes this much without blocking.
            self.largest = select.PIPE_BUF
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        self._poll = poll.poll

    def takes(self, size: int) -> bool:
        """Whether that many bytes can be written at once."""
        return size <= self.largest and bool(self._poll(0))
