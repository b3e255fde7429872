"""One runner process under supervision: every wait is bounded, nothing outlives it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from typing import Self

from ledgence.local._cancel import CancelToken
from ledgence.local._capture import Allowance, Listener
from ledgence.local._child import Child
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

    Attributes:
        trouble: What ended the process outside any invocation, or None.
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
        self._listener = listener
        self._cancel = cancel
        self._retired = False
        self._child: Child | None = None
        self._talk: Conversation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()

    @property
    def pid(self) -> int | None:
        """The process id once there was a process."""
        return None if self._child is None else self._child.pid

    @property
    def exit_status(self) -> int | None:
        """How the process ended, negative for a signal; None while it lives."""
        return None if self._child is None else self._child.exit_status

    @property
    def reusable(self) -> bool:
        """Whether the next invocation may go to this process."""
        return self._is_idle() and not self._retired

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
            while not isinstance(
                received := self._await(deadline, "execution"), Result
            ):
                if answer is None or not isinstance(received, Request):
                    raise _unanswered(received)
                self._send(talk.reply(answer(received)))
            # What the program wrote before its result is in the pipe already.
            self._running().drain_stderr()
        self._retired = received.status == "runtime_error"
        return received

    def idle(self, *, until: float | None = None, readable: int | None = None) -> None:
        """Hear what an idle process says, until a time or a descriptor is ready.

        What ends an idle process is noted in ``trouble``; it is no error of an
        invocation. Returns at once when there is no process.

        Raises:
            Interrupted: Cancelled; the process is gone.
        """
        try:
            with self._killing():
                done = False
                while self._child is not None and self._child.alive:
                    self._next("cleanup")
                    if done:
                        return
                    done = self._child.pump(until, readable)
        except RunFailure as failure:
            self.trouble = failure

    def close(self, *, timeout: float = CLOSING_SECONDS) -> None:
        """Let the process close in order, then end its group.

        Args:
            timeout: Seconds for its shutdown callbacks and the closing frame. A
                process that does not close properly is noted in ``trouble``.
        """
        try:
            if not self._cancel.cancelled:
                # An end or a frame that nobody asked for is noticed here at last.
                self.idle(until=time.monotonic())
                self._settle()
                self._part(timeout)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process group at once and give everything back."""
        if self._child is not None:
            self._child.kill()

    def _is_idle(self) -> bool:
        return (
            self._child is not None
            and self._child.alive
            and not self._child.ended
            and self._conversation().state is State.IDLE
        )

    def _spawn(self) -> None:
        try:
            self._child = Child(
                self.launch.argv(),
                cancel=self._cancel,
                on_stdout=self._on_stdout,
                on_stderr=self._on_stderr,
            )
        except OSError as error:
            raise StartRefused(
                f"the process cannot be started: {error.strerror}",
                code="cannot_start",
                phase="startup",
                details={"python": self.launch.python},
            ) from error
        self._talk = Conversation(
            self.launch.protocol,
            self._child.pid,
            self.launch.python_version,
            self.launch.max_frame_bytes,
        )

    @contextlib.contextmanager
    def _killing(self) -> Generator[None]:
        """End the process group when the block is left by any exception."""
        try:
            yield
        except BaseException:
            self.kill()
            raise

    def _await(self, deadline: float, phase: Phase) -> Received:
        late = False
        while (received := self._next(phase)) is None:
            if late:
                raise self._late(phase)
            late = self._running().pump(deadline)
        return received

    def _next(self, phase: Phase) -> Received | None:
        """Return the next frame that is no log; None when more must be read."""
        talk = self._conversation()
        while (line := talk.next_line()) is not None:
            self._listener.frame("<", line)
            received = talk.understand(line)
            if not isinstance(received, (Log, DroppedLog)):
                return received
            if (log := self.allowance.log(received)) is not None:
                self._listener.log(log)
        if self._running().ended:
            raise self._gone(phase)
        return None

    def _send(self, frame: bytes) -> None:
        self._listener.frame(">", frame)
        self._running().send(frame)

    def _on_stdout(self, data: bytes) -> None:
        self._conversation().receive(data)

    def _on_stderr(self, data: bytes) -> None:
        if kept := self.allowance.raw(data):
            self._listener.stderr(kept)

    def _settle(self) -> None:
        """Wait for a short silence: closing discards the logs that still wait."""
        if self.launch.protocol == 1:
            return
        most = time.monotonic() + _SETTLE_MOST_SECONDS
        lines = -1
        while self._is_idle() and time.monotonic() < most:
            if lines == self._conversation().lines:
                break
            lines = self._conversation().lines
            self.idle(until=time.monotonic() + _SETTLE_SECONDS)

    def _part(self, timeout: float) -> None:
        if not self._is_idle():
            return
        try:
            self._send(self._conversation().shutdown())
            self._await(time.monotonic() + timeout, "cleanup")
        except RunFailure as failure:
            self.trouble = failure

    def _gone(self, phase: Phase) -> RunFailure:
        child = self._running()
        exited = child.wait_for_exit()
        unfinished = self._conversation().end()
        child.kill()
        what = describe_exit(child.exit_status) if exited else "closed its output"
        made = StartRefused if phase == "startup" else ProcessGone
        return made(
            f"the program's process {what} {_WHEN[phase]}",
            code="start_refused" if phase == "startup" else "process_gone",
            phase=phase,
            exit_status=child.exit_status if exited else None,
            hint=_START_HINT if phase == "startup" else None,
            details={"unfinished_frame_bytes": len(unfinished)} if unfinished else None,
        )

    def _late(self, phase: Phase) -> DeadlineExceeded:
        state = self._conversation().state.value
        return DeadlineExceeded(
            f"the time was up while {state}; the process group was killed",
            code="deadline_exceeded",
            kind="timed_out",
            phase=phase,
        )

    def _conversation(self) -> Conversation:
        if self._talk is None:
            raise RuntimeError("the process was not started")
        return self._talk

    def _running(self) -> Child:
        if self._child is None:
            raise RuntimeError("the process was not started")
        return self._child


def _unanswered(received: Received) -> ProtocolFault:
    return ProtocolFault(
        f"the runner sent a {type(received).__name__} that nobody answers",
        code="frame_order",
        kind="protocol",
    )


_START_HINT = (
    "its output says why; a program sees the standard library, ledgence.worker and"
    " what lies in its own directory"
)
_WHEN: dict[Phase, str] = {
    "startup": "before it was ready",
    "execution": "before its result",
    "cleanup": "outside any run",
}
