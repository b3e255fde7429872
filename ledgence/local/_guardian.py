"""Ends the programs of a process that was killed and could not do so itself.

A process that ends in order ends its programs. For one that gets SIGKILL, or a signal
that it does not handle, a small shell waits for the end of a pipe, and then kills the
process groups that it was told of.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import threading

__all__ = ["forget", "watch"]

_SCRIPT = """
trap '' HUP INT QUIT TERM
alive=' '
while read -r sign group; do
  case "$sign$alive" in
    +*) alive="$alive$group " ;;
    -*" $group "*) alive="${alive%% $group *} ${alive#* $group }" ;;
  esac
done
for group in $alive; do kill -9 "-$group"; done
"""
_END_SECONDS = 5.0


class _Guardian:
    """The shell of this process, started when there is something to guard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shell: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def tell(self, sign: bytes, group: int) -> None:
        """Tell the shell of a group; without a shell nothing is guarded."""
        with self._lock, contextlib.suppress(OSError):
            if self._owner != os.getpid():  # also in a forked child
                self._start()
            if self._shell is not None and self._shell.stdin is not None:
                self._shell.stdin.write(b"%b %d\n" % (sign, group))

    def _start(self) -> None:
        self._owner = os.getpid()
        self._shell = None
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            bufsize=0,
            cwd="/",
            start_new_session=True,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        atexit.register(self._end, self._owner)

    def _end(self, owner: int) -> None:
        shell = self._shell
        if shell is not None and owner == os.getpid() and shell.stdin is not None:
            shell.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                shell.wait(_END_SECONDS)


_guardian = _Guardian()


def watch(group: int) -> None:
    """From now on this process group does not outlive this process."""
    _guardian.tell(b"+", group)


def forget(group: int) -> None:
    """This process group has ended."""
    _guardian.tell(b"-", group)
