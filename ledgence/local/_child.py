"""A child process and its three pipes; knows nothing of what is said through them.

The child leads its own process group and works in a private directory. However it
ends, the whole group gets SIGKILL while its leader is not yet reaped, so that the
group's number cannot have been given to somebody else. When this process is killed
itself, ``_guardian`` does that.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import IO, cast

from ledgence.local import _guardian
from ledgence.local._cancel import CancelToken

__all__ = ["Child"]

_CHUNK = 65_536
# A pipe holds a mebibyte at most; what comes after that is a new flood.
_DRAIN_CHUNKS = 32
# Where the system cannot wake us for an exit, it is looked for this often.
_EXIT_POLL_SECONDS = 0.1
_EXIT_LOOK_SECONDS = 0.005
# How long an exit may take after the end of the output, and reaping after SIGKILL.
_EXIT_SECONDS = 1.0
_REAP_SECONDS = 5.0


class Child:
    """One process, from its start to the end of its group.

    Args:
        argv: The command line.
        cancel: When cancelled, every wait ends with ``Interrupted``.
        on_stdout: Takes what was read, in the thread that pumps.
        on_stderr: The same for the other stream.

    Raises:
        OSError: It cannot be started; nothing is left behind.
    """

    def __init__(
        self,
        argv: list[str],
        *,
        cancel: CancelToken,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
    ) -> None:
        self.ended = False
        self.exit_status: int | None = None
        self._cancel = cancel
        self._on_stdout = on_stdout
        self._on_stderr = on_stderr
        self._outgoing = memoryview(b"")
        self._directory = tempfile.mkdtemp(prefix="ledgence-run-")
        try:
            self._process = subprocess.Popen(
                argv,
                bufsize=0,
                cwd=self._directory,
                process_group=0,
                stderr=subprocess.PIPE,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        except OSError:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        self.pid = self._process.pid
        _guardian.watch(self.pid)
        self._stdin = _descriptor(self._process.stdin)
        self._stdout = _descriptor(self._process.stdout)
        self._stderr = _descriptor(self._process.stderr)
        self._pidfd: int | None = None
        self._selector = _new_selector()
        self.alive = True
        try:
            self._watch()
        except BaseException:
            self.kill()
            raise

    def send(self, data: bytes) -> None:
        """Queue bytes for the child's input; pumping writes them."""
        if self._outgoing:  # it answered without reading to the end
            self._outgoing = memoryview(bytes(self._outgoing) + data)
        else:
            self._outgoing = memoryview(data)
            self._selector.register(self._stdin, selectors.EVENT_WRITE, "stdin")

    def pump(self, deadline: float | None, readable: int | None = None) -> bool:
        """Wait for bytes and move them once.

        Args:
            deadline: On the clock ``time.monotonic``; None waits for as long as
                the child lives. Bytes that are there are moved even past it.
            readable: A descriptor of the caller that ends the waiting, too.

        Returns:
            Whether the deadline has passed or ``readable`` is ready.

        Raises:
            Interrupted: Cancelled.
        """
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        timeout = left
        if self._pidfd is None:
            timeout = (
                _EXIT_POLL_SECONDS if left is None else min(left, _EXIT_POLL_SECONDS)
            )
        if readable is not None:
            self._selector.register(readable, selectors.EVENT_READ, "readable")
        try:
            ready = {key.data for key, _ in self._selector.select(timeout)}
        finally:
            if readable is not None:
                self._selector.unregister(readable)
        self._cancel.check()
        self._move(ready)
        return left == 0.0 or "readable" in ready

    def drain_stderr(self) -> None:
        """Take what the child has written to stderr until now."""
        for _ in range(_DRAIN_CHUNKS):
            if not self._read_stderr():
                break

    def wait_for_exit(self) -> bool:
        """Give an ending child a moment, so that its own status can be told."""
        deadline = time.monotonic() + _EXIT_SECONDS
        while not self._has_exited():
            if time.monotonic() >= deadline:
                return False
            self.drain_stderr()
            time.sleep(_EXIT_LOOK_SECONDS)
        return True

    def kill(self) -> None:
        """End the process group, reap the child and give everything back."""
        if not self.alive:
            return
        self.alive = False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.exit_status = self._process.wait(_REAP_SECONDS)
            _guardian.forget(self.pid)
        self.drain_stderr()
        self.ended = True
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _watch(self) -> None:
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._selector.register(self._stdout, selectors.EVENT_READ, "stdout")
        self._selector.register(self._stderr, selectors.EVENT_READ, "stderr")
        self._selector.register(self._cancel.fileno(), selectors.EVENT_READ, "cancel")
        self._pidfd = _open_pidfd(self.pid)
        if self._pidfd is not None:
            self._selector.register(self._pidfd, selectors.EVENT_READ, "exit")

    def _move(self, ready: set[str]) -> None:
        if "stdin" in ready:
            self._write()
        if "stderr" in ready:
            self._read_stderr()
        if "exit" in ready or (self._pidfd is None and self._has_exited()):
            self._drain_stdout()
        elif "stdout" in ready:
            self._read_stdout()

    def _has_exited(self) -> bool:
        """Whether the child is a zombie; it must not be reaped before the kill."""
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, options) is not None

    def _write(self) -> None:
        try:
            written = os.write(self._stdin, self._outgoing)
        except BlockingIOError:
            return
        except OSError:
            # Nobody reads any more; the end of the output tells what happened.
            written = len(self._outgoing)
        self._outgoing = self._outgoing[written:]
        if not self._outgoing:
            self._selector.unregister(self._stdin)

    def _read_stdout(self) -> bool:
        """Read once; False when there is nothing to read now or ever."""
        data = _read(self._stdout)
        if data:
            self._on_stdout(data)
        elif data is not None:
            self.ended = True
        return bool(data)

    def _drain_stdout(self) -> None:
        """Take what the child left; a process it started may hold the pipe open."""
        for _ in range(_DRAIN_CHUNKS):
            if not self._read_stdout():
                break
        self.ended = True

    def _read_stderr(self) -> bool:
        data = _read(self._stderr)
        if data:
            self._on_stderr(data)
        elif data is not None and self._stderr in self._selector.get_map():
            self._selector.unregister(self._stderr)
        return bool(data)


def _new_selector() -> selectors.BaseSelector:
    # Unlike epoll and kqueue these two also take regular files and terminals.
    poll = getattr(selectors, "PollSelector", None)
    if poll is None or os.uname().sysname == "Darwin":
        return selectors.SelectSelector()
    return cast("selectors.BaseSelector", poll())


def _open_pidfd(pid: int) -> int | None:
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return cast("int", opener(pid))
    except OSError:
        return None


def _read(descriptor: int) -> bytes | None:
    """Read what is there: None for nothing now, empty for nothing ever again."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _descriptor(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise RuntimeError("the child has no such stream")
    return stream.fileno()
