"""What one runner process says, handed on with the attempt it belongs to."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable

from ledgence.local._capture import Allowance
from ledgence.local._host._listener import HostListener, Origin
from ledgence.local._logs import Log
from ledgence.local._tracebacks import TracebackTrimmer

__all__ = ["Output"]

_PARTIAL_LINE = 8_192
_TAIL_LINES = 30

FrameHook = Callable[[Origin, str, bytes], None]


class Output:
    """The listener of a runner process, from one attempt to the next.

    Args:
        listener: Who hears it in the end.
        runner_directory: Whose frames are left out of tracebacks.
        on_frame: Called for each frame; it may raise what ends the process.
    """

    def __init__(
        self, listener: HostListener, runner_directory: str, on_frame: FrameHook
    ) -> None:
        self._listener = listener
        self._on_frame = on_frame
        self._trimmer = TracebackTrimmer(runner_directory)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._partial = ""
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._origin: Origin | None = None
        self._running = False

    def begin(self, origin: Origin) -> None:
        """From now on everything belongs to this attempt."""
        self._flush()
        self._origin = origin
        self._running = True
        self._tail.clear()

    def end(self, allowance: Allowance) -> None:
        """The attempt is over; say what was not passed on."""
        self._flush()
        self._running = False
        if allowance.dropped_bytes:
            self._line(f"... {allowance.dropped_bytes} more bytes of output dropped")
        if allowance.dropped_logs:
            self._line(f"... {allowance.dropped_logs} log records dropped")
        allowance.renew()

    @property
    def tail(self) -> str:
        """The last lines of the attempt's output."""
        self._flush()
        return "\n".join(self._tail)

    # The listener of the process.

    def stderr(self, data: bytes) -> None:
        """Hand raw output on line by line."""
        *lines, self._partial = (self._partial + self._decoder.decode(data)).split("\n")
        for line in lines:
            self._program_line(line)
        if len(self._partial) > _PARTIAL_LINE:
            self._flush()

    def log(self, log: Log) -> None:
        """Hand a structured record on."""
        if self._origin is not None:
            self._listener.log(self._origin, log)

    def frame(self, direction: str, line: bytes) -> None:
        """Hand a frame on; this may end the process."""
        if self._origin is not None:
            self._listener.frame(self._origin, direction, line)
            if self._running:
                self._on_frame(self._origin, direction, line)

    def _flush(self) -> None:
        partial = self._partial + self._decoder.decode(b"", final=True)
        self._decoder.reset()
        self._partial = ""
        if partial:
            self._program_line(partial)

    def _program_line(self, line: str) -> None:
        line = line.removesuffix("\r")
        if self._trimmer.keep(line):
            self._line(line)

    def _line(self, line: str) -> None:
        self._tail.append(line)
        if self._origin is not None:
            self._listener.output(self._origin, line)
