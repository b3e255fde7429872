"""The command's own output descriptors: whole writes, and bounded last words."""

from __future__ import annotations

import os
import select

from ledgence.local._cancel import CancelToken

__all__ = ["Stream", "fill_standard_descriptors", "forget_stdout"]

# What a pipe takes without blocking once it is ready for writing.
_ATOMIC_BYTES = 4_096
_LAST_WORDS_SECONDS = 1.0


class Stream:
    """Writes to a descriptor without a buffer of its own.

    Args:
        descriptor: Where to write.
        cancel: Ends a write that waits for its reader.
    """

    def __init__(self, descriptor: int, cancel: CancelToken) -> None:
        self._descriptor = descriptor
        self._cancel = cancel
        self._torn = False

    def write(self, data: bytes) -> None:
        """Write all of ``data``, however long the reader takes.

        Raises:
            OSError: Nobody reads any more.
            Interrupted: Cancelled; the line may be half written.
        """
        view = memoryview(data)
        while view:
            select.select([self._cancel], [self._descriptor], [])
            self._cancel.check()
            view = view[os.write(self._descriptor, view[:_ATOMIC_BYTES]) :]
            self._torn = bool(view)

    def last_words(self, data: bytes) -> None:
        """Write a line if the reader takes it soon, and never after half a line."""
        ready = select.select([], [self._descriptor], [], _LAST_WORDS_SECONDS)[1]
        if ready and not self._torn:
            os.write(self._descriptor, data[:_ATOMIC_BYTES])


def fill_standard_descriptors() -> bool:
    """Open the null device where a standard descriptor is closed.

    Otherwise the next pipe would get its number. Returns whether standard input was
    open.
    """
    open_before: list[bool] = []
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            open_before.append(False)
            # The lowest free number is given, which is this one.
            os.open(os.devnull, os.O_RDWR)
        else:
            open_before.append(True)
    return open_before[0]


def forget_stdout() -> None:
    """Keep the interpreter's last flush from complaining about a closed pipe."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
