"""Bytes in, whole lines out, never more than one bounded line in memory."""

from __future__ import annotations

from collections import deque

__all__ = ["LineOverflow", "Lines"]


class LineOverflow(Exception):
    """A line passed the limit before its end was seen."""


class Lines:
    r"""Splits a stream at ``\n`` and refuses a line longer than ``limit`` bytes.

    Args:
        limit: The most bytes of one line, newline included.
        resume: Whether to go on with the line after an overlong one (a file of an
            author) or to stop for good (a runner that broke the contract).
    """

    def __init__(self, limit: int, *, resume: bool = False) -> None:
        self._limit = limit
        self._resume = resume
        self._ready: deque[bytes | None] = deque()  # None stands for an overlong line
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take what was read; of an overlong line nothing is kept."""
        start = 0
        while start < len(data):
            end = data.find(b"\n", start) + 1
            self._take(data[start : end or len(data)], whole=end > 0)
            start = end or len(data)

    def _take(self, piece: bytes, *, whole: bool) -> None:
        within = self._size <= self._limit
        self._size += len(piece)
        if self._size <= self._limit:
            self._parts.append(piece)
        elif within:
            self._parts.clear()
            self._ready.append(None)
        if whole:
            if self._size <= self._limit:
                self._ready.append(b"".join(self._parts))
            if self._resume or self._size <= self._limit:
                self._size = 0
            self._parts.clear()

    def next(self) -> bytes | None:
        """Return the next whole line with its newline, None when there is none yet.

        Raises:
            LineOverflow: It is this line's turn and it was too long. Without
                ``resume`` every further call raises it too.
        """
        if not self._ready:
            return None
        line = self._ready.popleft()
        if line is None:
            if not self._resume:
                self._ready.appendleft(None)
            raise LineOverflow
        return line

    def rest(self) -> bytes:
        """Return and forget the bytes of an unfinished line within the limit."""
        data = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return data
