"""The parent's side of one conversation with a runner, without any I/O.

Bytes from the runner go in with :meth:`Conversation.receive`; what they mean comes
out of :meth:`Conversation.next`; the bytes to send are returned by the methods that
say something. The order of frames (runner-protocol.md, section 16) is kept here:
ready first, one invocation at a time, requests numbered, one closing, logs at any
time in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ledgence.local._errors import InputError, Phase, ProtocolFault
from ledgence.local._frames import (
    Closing,
    Frame,
    FrameFault,
    Identity,
    Ready,
    Request,
    Result,
    check_closing,
    check_ready,
    check_request,
    check_result,
    frame_type,
)
from ledgence.local._json import decode_line
from ledgence.local._limits import (
    EXTENSION_BYTES,
    FRAME_BYTES,
    LINE_DEPTH,
    REQUEST_BYTES,
    REQUEST_DEPTH,
)
from ledgence.local._lines import LineOverflow, Lines
from ledgence.local._logs import DroppedLog, Log, keep_log
from ledgence.local._text import shorten
from ledgence.worker._profile import ProfileError, check, encode_frame

__all__ = ["Conversation", "Invocation", "Received", "State"]

Received = Ready | Result | Request | Closing | Log | DroppedLog


class State(Enum):
    """Where a conversation stands."""

    STARTING = "waiting for the ready frame"
    IDLE = "idle"
    RUNNING = "waiting for the result"
    ANSWERING = "waiting for the reply to be sent"
    CLOSING = "waiting for the closing frame"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Invocation:
    """What an invoke frame carries.

    Attributes:
        event: The CloudEvent; ``id`` and ``ldgattemptid`` are its identities.
        extension: The workflow extension of an activation, else None.
        processing_context: A trace carrier or None.
    """

    event: dict[str, Any]
    extension: dict[str, Any] | None = None
    processing_context: dict[str, Any] | None = None

    @property
    def identity(self) -> Identity:
        """The ids that the answer must bear."""
        return Identity(self.event["id"], self.event["ldgattemptid"])


@dataclass(slots=True)
class _Turn:
    """The invocation under way."""

    identity: Identity
    activation: bool
    requests: int = 0


@dataclass(slots=True)
class Conversation:
    """One runner process as its parent sees it.

    Args:
        protocol: The negotiated version, 1, 2 or 3.
        pid: The process that was started.
        python_version: Its ``MAJOR.MINOR``, as the package asks for.
        max_frame_bytes: The most bytes of a line in either direction.
    """

    protocol: int
    pid: int
    python_version: str
    max_frame_bytes: int = FRAME_BYTES
    state: State = State.STARTING
    lines: int = 0
    offset: int = 0
    _lines: Lines = field(init=False)
    _turn: _Turn | None = None

    def __post_init__(self) -> None:
        self._lines = Lines(self.max_frame_bytes)

    # What the parent says.

    def invoke(self, invocation: Invocation) -> bytes:
        """Return the invoke frame.

        Raises:
            InputError: The frame is larger than the limit or not JSON; nothing is to
                be sent and the process is as good as before.
        """
        self._expect_state(State.IDLE)
        identity = invocation.identity
        frame: Frame = {
            "v": self.protocol,
            "type": "invoke",
            "event_id": identity.event_id,
            "attempt_id": identity.attempt_id,
            "event": invocation.event,
            "processing_context": invocation.processing_context,
            "observe": True,
        }
        if invocation.extension is not None:
            payload = invocation.extension.get("payload")
            self._measure(payload, EXTENSION_BYTES, "extension")
            frame["extension"] = invocation.extension
        data = self._encode(frame, "invocation")
        self._turn = _Turn(identity, activation=invocation.extension is not None)
        self.state = State.RUNNING
        return data

    def reply(self, result: object) -> bytes:
        """Return the acknowledgement of the request that was received last."""
        self._expect_state(State.ANSWERING)
        turn = self._running()
        self._measure(result, REQUEST_BYTES, "reply")
        data = self._encode(
            {
                "v": self.protocol,
                "type": "runtime_reply",
                "event_id": turn.identity.event_id,
                "attempt_id": turn.identity.attempt_id,
                "id": turn.requests,
                "result": result,
            },
            "reply",
        )
        self.state = State.RUNNING
        return data

    def shutdown(self) -> bytes:
        """Return the shutdown frame."""
        self._expect_state(State.IDLE)
        self.state = State.CLOSING
        return self._encode({"v": self.protocol, "type": "shutdown"}, "shutdown")

    # What the runner says.

    def receive(self, data: bytes) -> None:
        """Take bytes of the runner's output."""
        self._lines.feed(data)

    def next_line(self) -> bytes | None:
        """Return the next whole line, None when more bytes are needed.

        Raises:
            ProtocolFault: The line is longer than the limit.
        """
        try:
            return self._lines.next()
        except LineOverflow:
            fault = FrameFault(
                "line_limit",
                expected=f"at most {self.max_frame_bytes} bytes a line",
                got="a longer line",
            )
            raise self._fault(fault, line=None) from None

    def understand(self, line: bytes) -> Received:
        """Return what a line means at this point.

        Raises:
            ProtocolFault: The line breaks the contract; the conversation is over.
        """
        try:
            received = self._understand(line)
        except ProfileError as error:
            fault = FrameFault("line_json", expected="strict JSON", got=str(error))
            raise self._fault(fault, line=line) from error
        except FrameFault as fault:
            raise self._fault(fault, line=line) from fault
        self.lines += 1
        self.offset += len(line)
        return received

    def end(self) -> bytes:
        """Note the end of the output and return the bytes of an unfinished line."""
        self.state = State.CLOSED
        return self._lines.rest()

    def _understand(self, line: bytes) -> Received:
        frame, kind = frame_type(decode_line(line), protocol=self.protocol)
        if kind == "log" and self.protocol > 1 and self.state is not State.STARTING:
            return keep_log(frame, protocol=self.protocol, size=len(line))
        match self.state, kind:
            case State.STARTING, "ready":
                return self._on_ready(frame)
            case State.RUNNING, "result":
                return self._on_result(frame)
            case State.RUNNING, "runtime_request":
                return self._on_request(frame)
            case State.CLOSING, "closing":
                return self._on_closing(frame)
            case _:
                raise FrameFault(
                    "frame_order",
                    expected=f"what fits: {self.state.value}",
                    got=f"a frame of type {shorten(repr(kind))}",
                )

    def _on_ready(self, frame: Frame) -> Ready:
        ready = check_ready(frame, pid=self.pid, python_version=self.python_version)
        self.state = State.IDLE
        return ready

    def _on_result(self, frame: Frame) -> Result:
        turn = self._running()
        result = check_result(frame, identity=turn.identity, activation=turn.activation)
        self._turn = None
        self.state = State.IDLE
        return result

    def _on_request(self, frame: Frame) -> Request:
        turn = self._running()
        if not turn.activation:
            raise FrameFault(
                "frame_order", expected="no request from a task", got="runtime_request"
            )
        request = check_request(frame, identity=turn.identity, number=turn.requests + 1)
        turn.requests += 1
        self.state = State.ANSWERING
        return request

    def _on_closing(self, frame: Frame) -> Closing:
        closing = check_closing(frame)
        self.state = State.CLOSED
        return closing

    def _running(self) -> _Turn:
        if self._turn is None:
            raise RuntimeError("no invocation is under way")
        return self._turn

    def _expect_state(self, state: State) -> None:
        if self.state is not state:
            raise RuntimeError(f"the runner is {self.state.value}, not {state.value}")

    def _encode(self, frame: Frame, what: str) -> bytes:
        try:
            return encode_frame(frame, self.max_frame_bytes, max_depth=LINE_DEPTH)
        except ProfileError as error:
            raise self._refuse(what, error) from error

    def _measure(self, value: object, limit: int, what: str) -> None:
        try:
            check(value, limit, max_depth=REQUEST_DEPTH)
        except ProfileError as error:
            raise self._refuse(what, error) from error

    def _refuse(self, what: str, error: ProfileError) -> InputError:
        return InputError(
            f"the {what} cannot be sent: {error}",
            code=f"{what}_{error.reason}",
            details={"limit": error.limit} if error.limit is not None else None,
        )

    def _fault(self, fault: FrameFault, *, line: bytes | None) -> ProtocolFault:
        details: dict[str, object] = {
            "line": self.lines + 1,
            "offset": self.offset,
            "expected": fault.expected,
            "got": fault.got,
        }
        if line is not None:
            details["began"] = shorten(repr(line[:60]))
        return ProtocolFault(
            "the runner broke the protocol",
            code=fault.rule,
            kind="protocol",
            phase=_PHASES.get(self.state, "execution"),
            details=details,
            hint="its process was ended; nothing may write to its frame descriptor",
        )


_PHASES: dict[State, Phase] = {
    State.STARTING: "startup",
    State.CLOSING: "cleanup",
    State.CLOSED: "cleanup",
}
