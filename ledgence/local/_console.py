"""What the caller sees: results on stdout, everything else marked on stderr."""

from __future__ import annotations

import codecs
import contextlib
import json
from collections import OrderedDict
from typing import Any

from ledgence.local._logs import Log
from ledgence.local._progress import Progress
from ledgence.local._streams import Stream
from ledgence.local._tracebacks import TracebackTrimmer
from ledgence.worker._profile import encode_frame

__all__ = ["Console"]

# A result is a frame with a few members more.
_RESULT_BYTES = 16_777_216
_RESULT_DEPTH = 127
_SHOWN_FRAME_BYTES = 4_096
_PARTIAL_LINE = 8_192
_REMEMBERED_RUNS = 256


class Console:
    """The listener of the command ``run``.

    Args:
        out: Where results go, one JSON object each.
        err: Where logs, program output and notes go.
        pretty: Indent the results.
        frames: Show the frames and the runner's own traceback lines.
        runner_directory: Whose frames are left out of tracebacks.
        progress: Shown between the lines, or None.
    """

    def __init__(
        self,
        out: Stream,
        err: Stream,
        *,
        pretty: bool,
        frames: bool,
        runner_directory: str,
        progress: Progress | None,
    ) -> None:
        self._out = out
        self._err = err
        self._pretty = pretty
        self._frames = frames
        self._progress = progress
        self._trimmer = TracebackTrimmer(runner_directory)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._partial = ""
        self._mark = "[runner] "
        self._runs: OrderedDict[str, int] = OrderedDict()
        self._stopping = False

    def begin(self, run: int, event_id: str) -> None:
        """From now on program output belongs to this run."""
        self._flush_partial()
        self._mark = f"[run {run}] "
        self._runs[event_id] = run
        if len(self._runs) > _REMEMBERED_RUNS:
            self._runs.popitem(last=False)

    def end(self, *, dropped_bytes: int = 0, dropped_logs: int = 0) -> None:
        """The run is over; say what was not passed on."""
        self._flush_partial()
        if dropped_bytes:
            self._line(f"{self._mark}... {dropped_bytes} more bytes of output dropped")
        if dropped_logs:
            self._line(f"{self._mark}... {dropped_logs} log records dropped")
        self._mark = "[runner] "

    def result(self, value: dict[str, Any]) -> None:
        """Print one result.

        Raises:
            BrokenPipeError: Nobody reads any more.
        """
        if self._pretty:
            text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
            data = text.encode()
        else:
            data = encode_frame(value, _RESULT_BYTES, max_depth=_RESULT_DEPTH)
        if self._stopping:
            self._out.last_words(data)
        elif self._progress is None or not self._progress.result(data):
            self._out.write(data)

    def stop(self) -> None:
        """From now on say only what the readers take at once."""
        self._stopping = True
        self._progress = None

    def note(self, text: str) -> None:
        """Print something of the command itself."""
        self._flush_partial()
        self._line(f"ledgence-local: {text}")

    # The listener.

    def stderr(self, data: bytes) -> None:
        """Show raw program output line by line."""
        *lines, self._partial = (self._partial + self._decoder.decode(data)).split("\n")
        for line in lines:
            self._program_line(line)
        if len(self._partial) > _PARTIAL_LINE:
            self._flush_partial()

    def log(self, log: Log) -> None:
        """Show a structured record, marked with the run it was made in."""
        mark = self._mark
        if log.invocation is not None:
            run = self._runs.get(log.invocation["event_id"])
            mark = mark if run is None else f"[run {run}] "
        text = f"{log.severity} {log.logger}: {log.message}"
        if log.attributes:
            data = encode_frame(log.attributes, _RESULT_BYTES, max_depth=_RESULT_DEPTH)
            text += "  " + data.decode().rstrip("\n")
        for line in text.split("\n"):
            self._line(mark + line)

    def frame(self, direction: str, line: bytes) -> None:
        """Show a frame under ``-v``, a long one shortened."""
        if self._frames:
            text = line[:_SHOWN_FRAME_BYTES].decode(errors="replace").rstrip("\n")
            more = len(line) - _SHOWN_FRAME_BYTES
            text += f" ... {more} more bytes" if more > 0 else ""
            self._line(f"{self._mark}{direction} {text}")

    def _flush_partial(self) -> None:
        partial = self._partial + self._decoder.decode(b"", final=True)
        self._decoder.reset()
        self._partial = ""
        if partial:
            self._program_line(partial)

    def _program_line(self, line: str) -> None:
        line = line.removesuffix("\r")
        if self._trimmer.keep(line) or self._frames:
            self._line(self._mark + line)

    def _line(self, text: str) -> None:
        data = text.encode(errors="replace") + b"\n"
        if self._progress is not None and self._progress.line(data):
            return
        with contextlib.suppress(OSError):  # the results count without the logs, too
            if self._stopping:
                self._err.last_words(data)
            else:
                self._err.write(data)
