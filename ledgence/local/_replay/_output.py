"""What a program writes while it is replayed, as lines."""

from __future__ import annotations

import codecs
from collections import deque
from typing import Final

from ledgence.local._logs import Log
from ledgence.local._tracebacks import TracebackTrimmer

__all__ = ["Output"]


_KEPT_LINES: Final = 2_000


class Output:
    """The listener of a replay: keeps the last lines of stderr and logs.

    Args:
        runner_directory: Whose frames are left out of tracebacks.
    """

    def __init__(self, runner_directory: str) -> None:
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._trimmer = TracebackTrimmer(runner_directory)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._partial = ""

    def stderr(self, data: bytes) -> None:
        """Keep raw output line by line."""
        *lines, self._partial = (self._partial + self._decoder.decode(data)).split("\n")
        self.lines += filter(self._trimmer.keep, lines)

    def log(self, log: Log) -> None:
        """Keep a structured record."""
        text = f"{log.severity} {log.logger}: {log.message}"
        self.lines += text.split("\n")

    def frame(self, direction: str, line: bytes) -> None:
        """Frames are not kept."""

    def end(self) -> None:
        """Keep a line that was not ended."""
        if self._partial:
            self.lines.append(self._partial)
        self._partial = ""
