"""One runner process under supervision: every wait is bounded, nothing outlives it.

The process runs in its own process group and in a private directory. Whatever goes
wrong, and at the end, the whole group gets SIGKILL while its leader is not yet
reaped, so that the group's number cannot have been given to somebody else.
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
from collections.abc import Callable, Generator
from typing import IO, Self, cast

from ledgence.local._cancel import CancelToken
from ledgence.local._capture import Allowance, Listener
from ledgence.local._conversation import Conversation, Invocation, Received, State
from ledgence.local._errors import (
    DeadlineExceeded,
    Phase,
    ProcessGone,
    ProtocolFault,
    RunFailure,
    StartRefused,
)
from ledgence.local._frames import Request, Result
from ledgence.local._launch import Launch, describe_exit
from ledgence.local._limits import CLOSING_SECONDS
from ledgence.local._logs import DroppedLog, Log

__all__ = ["RunnerProcess"]

_CHUNK = 65_536
# A pipe holds at most a mebibyte by default; more than this is a new flood.
_DRAIN_CHUNKS = 32
# Where the system cannot wake us for an exit, it is looked for this often.
_EXIT_POLL_SECONDS = 0.1
_EXIT_LOOK_SECONDS = 0.005
# How long an exit may take after the end of its output, and reaping after SIGKILL.
_EXIT_SECONDS = 1.0
_REAP_SECONDS = 5.0
# Log frames may follow their result: the writer is given this much silence.
_SETTLE_SECONDS = 0.05
_SETTLE_MOST_SECONDS = 0.5

Answer = Callable[[Request], object]


class RunnerProcess:
    """A runner, from its start to the end of its process group.

    Args:
        launch: What to start.
        listener: Hears program output, logs and frames; called in this thread.
        cancel: When cancelled, every wait ends with ``Interrupted``.
        allowance: How much output is passed on per invocation.

    One thread uses it at a time. After ``start`` it serves invocations until one of
    them fails with more than an error result; ``reusable`` tells. Use it as a
    context manager, or call ``kill`` in the end.
    """

    def __init__(
        self,
        launch: Launch,
        listener: Listener,
        *,
        cancel: CancelToken,
        allowance: Allowance | None = None,
    ) -> None:
        self.launch = launch
        self.allowance = allowance or Allowance()
        self.trouble: RunFailure | None = None
        self.exit_status: int | None = None
        self._listener = listener
        self._cancel = cancel
        self._selector = _new_selector()
        self._outgoing = memoryview(b"")
        self._directory: str | None = None
        self._ended = False
        self._retired = False
        self._pidfd: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._talk: Conversation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()

    @property
    def pid(self) -> int | None:
        """The process id while there is a process."""
        return None if self._process is None else self._process.pid

    @property
    def reusable(self) -> bool:
        """Whether the next invocation may go to this process."""
        return self._is_idle() and not self._retired

    def _is_idle(self) -> bool:
        return (
            self._process is not None
            and self._talk is not None
            and self._talk.state is State.IDLE
            and not self._ended
        )

    # The life of a process.

    def start(self, *, deadline: float) -> None:
        """Start the process and wait for its ready frame.

        Args:
            deadline: On the clock ``time.monotonic``.

        Raises:
            StartRefused: It cannot be started, or ended before it was ready.
            ProtocolFault: The first frame is not the right ready frame.
            DeadlineExceeded: Not ready in time.
            Interrupted: Cancelled.
        """
        with self._killing():
            self._spawn()
            self._await(deadline, "startup")

    def invoke(
        self, invocation: Invocation, *, deadline: float, answer: Answer | None = None
    ) -> Result:
        """Send one invocation and wait for its result.

        Args:
            invocation: The event, and the extension of an activation.
            deadline: On the clock ``time.monotonic``; then the group is killed.
            answer: Gives the result of a request; it may refuse with a
                ``LocalError``, which ends the process (the request stays unanswered).

        Raises:
            InputError: The frame is too large; the process is as good as before.
            RunFailure: No result; the process is gone.
            Interrupted: Cancelled; the process is gone.
        """
        talk = self._conversation()
        frame = talk.invoke(invocation)
        self.allowance.renew()
        with self._killing():
            self._send(frame)
            while True:
                received = self._await(deadline, "execution")
                if isinstance(received, Request) and answer is not None:
                    self._send(talk.reply(answer(received)))
                elif isinstance(received, Result):
                    break
                else:
                    raise self._unasked(received)
            self._drain_stderr()
        if received.status == "runtime_error":
            self._retired = True
        return received

    def idle(self, *, until: float | None = None, readable: int | None = None) -> None:
        """Drain what an idle process says, until a time or a descriptor is ready.

        What ends an idle process is noted in ``trouble``; it is not an error of an
        invocation. Returns at once when the process has ended.

        Raises:
            Interrupted: Cancelled; the process is gone.
        """
        try:
            with self._killing():
                while self._process is not None:
                    done = self._pump(until, readable)
                    self._next(phase="cleanup")
                    if done:
                        return
        except RunFailure as failure:
            self.trouble = failure

    def close(self, *, timeout: float = CLOSING_SECONDS) -> None:
        """Let the process close in order, then end its group.

        A process that does not close properly is noted in ``trouble``.
        """
        try:
            if not self._cancel.cancelled:
                self._settle()
                self._part(timeout)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process group at once, reap it and give everything back."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.exit_status = process.wait(_REAP_SECONDS)
        self._drain_stderr()
        self._release(process)

    # Starting and ending.

    def _spawn(self) -> None:
        try:
            self._directory = tempfile.mkdtemp(prefix="ledgence-run-")
            process = subprocess.Popen(
                self.launch.argv(),
                bufsize=0,
                cwd=self._directory,
                process_group=0,
                stderr=subprocess.PIPE,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        except OSError as error:
            if self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)
            raise StartRefused(
                f"the process cannot be started: {error.strerror}",
                code="cannot_start",
                phase="startup",
                details={"python": self.launch.python},
            ) from error
        self._process = process
        self._talk = Conversation(
            self.launch.protocol,
            process.pid,
            self.launch.python_version,
            self.launch.max_frame_bytes,
        )
        self._watch(process)

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        for stream in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(_fd(stream), False)
        self._selector.register(_fd(process.stdout), selectors.EVENT_READ, "stdout")
        self._selector.register(_fd(process.stderr), selectors.EVENT_READ, "stderr")
        self._selector.register(self._cancel.fileno(), selectors.EVENT_READ, "cancel")
        self._pidfd = _open_pidfd(process.pid)
        if self._pidfd is not None:
            self._selector.register(self._pidfd, selectors.EVENT_READ, "exit")

    def _release(self, process: subprocess.Popen[bytes]) -> None:
        self._process = None
        self._ended = True
        self._selector.close()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    @contextlib.contextmanager
    def _killing(self) -> Generator[None]:
        """End the process group when the block is left by any exception."""
        try:
            yield
        except BaseException:
            self.kill()
            raise

    # Waiting.

    def _await(self, deadline: float, phase: Phase) -> Received:
        late = False
        while (received := self._next(phase=phase)) is None:
            if late:
                raise self._late(phase)
            late = self._pump(deadline)
        return received

    def _next(self, *, phase: Phase) -> Received | None:
        """Return the next frame that is no log; None when more must be read."""
        talk = self._conversation()
        while (line := talk.next_line()) is not None:
            self._listener.frame("<", line)
            received = talk.understand(line)
            if isinstance(received, (Log, DroppedLog)):
                if (log := self.allowance.log(received)) is not None:
                    self._listener.log(log)
            else:
                return received
        if self._ended:
            raise self._gone(phase)
        return None

    def _pump(self, deadline: float | None, readable: int | None = None) -> bool:
        """Wait for bytes and move them once; True when the waiting is over."""
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

    def _move(self, ready: set[str]) -> None:
        if "stdin" in ready:
            self._write()
        if "stderr" in ready:
            self._read_stderr()
        exited = "exit" in ready or (self._pidfd is None and self._has_exited())
        if exited:
            self._drain_stdout()
        elif "stdout" in ready:
            self._read_stdout()

    def _has_exited(self) -> bool:
        """Whether the process is a zombie; it must not be reaped before the kill."""
        if self._process is None:
            return True
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def _send(self, frame: bytes) -> None:
        self._listener.frame(">", frame)
        self._outgoing = memoryview(frame)
        self._selector.register(
            _fd(self._running().stdin), selectors.EVENT_WRITE, "stdin"
        )

    def _write(self) -> None:
        descriptor = _fd(self._running().stdin)
        try:
            written = os.write(descriptor, self._outgoing[: _CHUNK * 4])
        except BlockingIOError:
            return
        except OSError:
            # Nobody reads any more; the end of the output tells what happened.
            written = len(self._outgoing)
        self._outgoing = self._outgoing[written:]
        if not self._outgoing:
            self._selector.unregister(descriptor)

    def _read_stdout(self) -> bool:
        """Read once; False when there is nothing to read now or ever."""
        data = _read(_fd(self._running().stdout))
        if data:
            self._conversation().receive(data)
        elif data is not None:
            self._end_of_output()
        return bool(data)

    def _drain_stdout(self) -> None:
        """Take what a process left behind; a child of it may hold the pipe open."""
        for _ in range(_DRAIN_CHUNKS):
            if not self._read_stdout():
                break
        self._end_of_output()

    def _end_of_output(self) -> None:
        self._ended = True

    def _read_stderr(self) -> bool:
        descriptor = _fd(self._running().stderr)
        data = _read(descriptor)
        if data:
            kept = self.allowance.raw(data)
            if kept:
                self._listener.stderr(kept)
        elif data is not None and descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)
        return bool(data)

    def _drain_stderr(self) -> None:
        for _ in range(_DRAIN_CHUNKS):
            if not self._read_stderr():
                break

    def _settle(self) -> None:
        """Wait for a short silence: closing discards the logs that still wait."""
        if self.launch.protocol == 1:
            return
        talk = self._talk
        if talk is None:
            return
        most = time.monotonic() + _SETTLE_MOST_SECONDS
        lines = -1
        while self._is_idle() and lines != talk.lines and time.monotonic() < most:
            lines = talk.lines
            self.idle(until=time.monotonic() + _SETTLE_SECONDS)

    def _part(self, timeout: float) -> None:
        if not self._is_idle():
            return
        try:
            self._send(self._conversation().shutdown())
            self._await(time.monotonic() + timeout, "cleanup")
        except RunFailure as failure:
            self.trouble = failure

    # What went wrong.

    def _gone(self, phase: Phase) -> RunFailure:
        exited = self._wait_for_exit()
        unfinished = self._conversation().end()
        self.kill()
        what = describe_exit(self.exit_status) if exited else "closed its output"
        details: dict[str, object] = {}
        if unfinished:
            details["unfinished_frame_bytes"] = len(unfinished)
        made = StartRefused if phase == "startup" else ProcessGone
        return made(
            f"the program's process {what} {_WHEN[phase]}",
            code="start_refused" if phase == "startup" else "process_gone",
            phase=phase,
            exit_status=self.exit_status if exited else None,
            details=details,
        )

    def _wait_for_exit(self) -> bool:
        """Give an ending process a moment, so that its own status can be told."""
        deadline = time.monotonic() + _EXIT_SECONDS
        while not self._has_exited():
            if time.monotonic() >= deadline:
                return False
            self._drain_stderr()
            time.sleep(_EXIT_LOOK_SECONDS)
        return True

    def _late(self, phase: Phase) -> DeadlineExceeded:
        talk = self._conversation()
        return DeadlineExceeded(
            f"the time was up while {talk.state.value}; the process group was killed",
            code="deadline_exceeded",
            kind="timed_out",
            phase=phase,
        )

    def _unasked(self, received: Received) -> ProtocolFault:
        return ProtocolFault(
            f"the runner sent a {type(received).__name__} that nobody answers",
            code="frame_order",
            kind="protocol",
        )

    def _conversation(self) -> Conversation:
        if self._talk is None:
            raise RuntimeError("the process was not started")
        return self._talk

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the process is gone")
        return self._process


_WHEN: dict[Phase, str] = {
    "startup": "before it was ready",
    "execution": "before its result",
    "cleanup": "outside any run",
}


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
        descriptor: int = opener(pid)
    except OSError:
        return None
    return descriptor


def _read(descriptor: int) -> bytes | None:
    """Read what is there: None for nothing now, empty for nothing ever again."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _fd(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise RuntimeError("the process has no such stream")
    return stream.fileno()
