"""The two private descriptors of the protocol (runner-protocol.md, 2 and 4.2).

``Channel`` owns them and takes them away from a forked child; ``LineReader`` turns the
bytes of one into whole lines.
"""

import _thread
import os
import sys

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

EXIT_FAULT = 70
_CHUNK = 65536  # what a pipe holds, as a rule


class ProtocolFault(Exception):
    """The parent violated the protocol while the runner was idle: status 70."""


class Channel:
    """The private input and output of the protocol.

    A child made by ``os.fork`` has neither: both are closed in it before the program's
    code goes on, and ``forked`` is true there.
    """

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.forked = False
        self.when_forked: list[Callable[[], None]] = []
        self._main_thread = _thread.get_ident()
        self._farewell: object = None
        os.register_at_fork(after_in_child=self._leave_child)

    def _leave_child(self) -> None:
        self.forked = True
        source, sink = self.source, self.sink
        self.source = self.sink = -1
        for descriptor in (source, sink):
            if descriptor >= 0:
                os.close(descriptor)
        for callback in self.when_forked:
            callback()
        if _thread.get_ident() != self._main_thread:
            # The thread that forked is all that the child has: there is no handler
            # to come back out of, so the end of the thread is the end of the child.
            local = _thread._local()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - threading.local without threading
            local.farewell = _Farewell()
            self._farewell = local

    def stop_child(self) -> None:
        """In a forked child that came back out of the program: end, with status 70."""
        if self.forked:
            end_child()


class _Farewell:
    """Dies with the thread whose local data it is."""

    def __del__(self) -> None:
        end_child()


def end_child() -> "NoReturn":
    """End a forked child: exit functions and threads are its parent's affair."""
    try:
        sys.stderr.write(
            "ledgence: a forked child came back out of the program; a child must"
            f" end itself, for example with os._exit() (status {EXIT_FAULT})\n"
        )
        sys.stderr.flush()
    except Exception:  # noqa: BLE001, S110 - nothing is left that could be told
        pass
    finally:
        os._exit(EXIT_FAULT)


class LineReader:
    """Whole lines from a descriptor, each with its newline and within a limit.

    Nothing is read ahead of need except what one ``os.read`` gives. The descriptor
    stays in blocking mode: ``fill`` after its readiness does not block.
    """

    def __init__(self, channel: Channel, limit: int) -> None:
        self._channel = channel
        self._limit = limit
        self._parts: list[bytes] = []  # none but the last can hold a newline
        self._size = 0  # of all parts but the last
        self._ended = False

    def readline(self) -> bytes:
        """The next line; empty at the end of the input.

        Raises:
            ProtocolFault: The line is longer than the limit (as much of it as shows
                that is consumed), or the input ends inside it.
        """
        while (line := self.take()) is None:
            self.fill()
        return line

    def fill(self) -> None:
        """Read once."""
        chunk = os.read(self._channel.source, _CHUNK)
        if not chunk:
            self._ended = True
            return
        if self._parts:
            self._size += len(self._parts[-1])
        self._parts.append(chunk)

    def take(self) -> bytes | None:
        """The next line if it is complete, empty at the end, None if more is needed."""
        if not self._parts:
            return b"" if self._ended else None
        last = self._parts[-1]
        end = last.find(b"\n") + 1
        size = self._size + (end or len(last))
        if size > self._limit:
            self._skip(self._limit + 1)  # never more: what follows is another line
            raise ProtocolFault(f"a line is longer than {self._limit} bytes")
        if end:
            return self._cut(end)
        if self._ended:
            self._skip(size)
            raise ProtocolFault("the input ended inside a line")
        return None

    def discard(self) -> None:
        """Read and forget all that comes until the input ends."""
        self._parts.clear()
        while os.read(self._channel.source, _CHUNK):
            pass

    def _cut(self, end: int) -> bytes:
        """Take all parts up to a place in the last one."""
        last = self._parts.pop()
        line = last if end == len(last) else last[:end]
        if self._parts:
            self._parts.append(line)
            line = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        if end < len(last):
            self._parts.append(last[end:])
        return line

    def _skip(self, size: int) -> None:
        rest = b"".join(self._parts)[size:]
        self._parts = [rest] if rest else []
        self._size = 0
