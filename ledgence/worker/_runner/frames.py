"""Frames as values: what is read is checked, what is written is built.

Member orders and checks are those of runner-protocol.md, sections 5 and 11; the ready
and the closing frame are in ``session``, logs in ``_log_records``. Bytes and values in,
bytes and values out: nothing here touches a descriptor.
"""

from ledgence.worker import _stdlib
from ledgence.worker._profile import ProfileError, encode_frame, fit_error, loads
from ledgence.worker._runner.channel import ProtocolFault
from ledgence.worker._tracecontext import is_carrier, is_object

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from typing import Any

DECISION_DEPTH = 97  # containers inside each other: 96, and the frame itself
# What a failure frame can have beside its identities; see room_for_failure.
_FIXED_BYTES = 192
_BYTES_PER_CHARACTER = 6  # at most, as an escape
_LARGE_BYTES = 65_536


class ExchangeError(Exception):
    """A request of an activation was not sent, or not answered as it must be."""


class Call:
    """An invoke frame, checked.

    Attributes:
        event_id: Echoed in every frame of this invocation.
        attempt_id: Likewise.
        event: The decoded event, for the handler.
        carrier: The processing context; None in protocol 1 or without one.
        extension: Not None for a workflow activation (protocol 3).
        observe: Whether the parent asked for observations.
    """

    __slots__ = (
        "attempt_id",
        "carrier",
        "event",
        "event_id",
        "extension",
        "observe",
        "version",
    )

    def __init__(self, frame: "dict[str, Any]", version: int) -> None:
        self.version = version
        self.event_id: str = frame["event_id"]
        self.attempt_id: str = frame["attempt_id"]
        self.event: dict[str, Any] = frame["event"]
        self.carrier = frame["processing_context"] if version >= 2 else None
        self.extension = frame.get("extension") if version >= 3 else None
        self.observe = frame.get("observe") is True

    @property
    def failure_status(self) -> str:
        """The status that a failure of this invocation has."""
        return "error" if self.extension is None else "runtime_error"

    def envelope(self) -> "dict[str, Any]":
        """The first members of each result."""
        return {
            "v": self.version,
            "type": "result",
            "event_id": self.event_id,
            "attempt_id": self.attempt_id,
        }


def read(line: bytes, version: int) -> "Call | None":
    """Decode and check a line of the idle loop; None for a shutdown.

    Raises:
        ProtocolFault: It is neither an invoke nor a shutdown frame of this version.
    """
    try:
        frame = loads(line) if len(line) < _LARGE_BYTES else _loads_large(line)
    except ProfileError as error:
        raise ProtocolFault(f"a line is not a JSON frame: {error}") from None
    if not is_object(frame):
        raise ProtocolFault("a frame must be a JSON object")
    if frame.get("v") != version:
        raise ProtocolFault(f"a frame's v is not {version}")
    kind = frame.get("type")
    if kind == "invoke":
        _check_invoke(frame, version)
        return Call(frame, version)
    if kind == "shutdown":
        return None
    raise ProtocolFault("an idle runner takes invoke and shutdown frames only")


def _loads_large(line: bytes) -> object:
    """Decode without the collector, which would only trace a tree that still grows."""
    gc = _stdlib.load("gc")
    if not gc.isenabled():
        return loads(line)
    gc.disable()
    try:
        return loads(line)
    finally:
        gc.enable()


def _check_invoke(frame: "dict[str, Any]", version: int) -> None:
    for name in ("event_id", "attempt_id"):
        if not _is_text(frame.get(name)):
            raise ProtocolFault(f"{name} must be a nonempty text of Unicode scalars")
    if not isinstance(frame.get("event"), dict):
        raise ProtocolFault("the event must be a JSON object")
    event: dict[str, Any] = frame["event"]
    if event.get("id") != frame["event_id"]:
        raise ProtocolFault("event identity mismatch: id is not the frame's event_id")
    if event.get("ldgattemptid") != frame["attempt_id"]:
        raise ProtocolFault(
            "event identity mismatch: ldgattemptid is not the frame's attempt_id"
        )
    if version < 2:
        return
    if "processing_context" not in frame:
        raise ProtocolFault("processing_context is missing")
    carrier = frame["processing_context"]
    if carrier is not None and not is_carrier(carrier):
        raise ProtocolFault("processing_context is neither null nor a W3C carrier")


def _is_text(value: object) -> bool:
    if not isinstance(value, str) or not value:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_room(call: Call, limit: int) -> None:
    """Make sure that any failure of a call fits its frame (section 7.1).

    Raises:
        ProtocolFault: The identities leave no room for an empty message.
    """
    size = _FIXED_BYTES + _BYTES_PER_CHARACTER * (
        len(call.event_id) + len(call.attempt_id)
    )
    if size <= limit:
        return  # without encoding anything: the common case
    try:
        failure(call, "invalid_output", "", limit)
    except ProfileError as error:
        raise ProtocolFault(
            f"the identities leave no room for a failure in {limit} bytes: {error}"
        ) from None


def success(call: Call, output: object, limit: int) -> bytes:
    """The result of an ordinary task.

    Raises:
        ProfileError: The output is not in the profile, or does not fit the frame.
        Exception: Whatever the program's own subclasses raise.
    """
    frame = call.envelope()
    frame["status"] = "success"
    frame["output"] = output
    return encode_frame(frame, limit)


def decided(call: Call, decision: bytes, limit: int) -> bytes:
    """The result of an activation, around its decision's canonical bytes.

    Raises:
        ExchangeError: The frame would be longer than the limit.
    """
    head = encode_frame(call.envelope(), limit)
    frame = b'%b,"status":"success","output":%b}\n' % (head[:-2], decision)
    if len(frame) > limit:
        raise ExchangeError(
            f"the decision does not fit its frame: {len(frame)} bytes with the"
            f" identities, the limit is {limit}"
        )
    return frame


def failure(call: Call, kind: str, message: str, limit: int) -> bytes:
    """A failed result, its message cut to what fits."""
    frame = fit_error(call.envelope(), kind, message, limit, status=call.failure_status)
    return encode_frame(frame, limit)


def with_observations(frame: bytes, observations: bytes, limit: int) -> bytes:
    """A result with its optional last member, or without it where it does not fit."""
    if len(frame) + len(observations) + len(b',"observations":') > limit:
        return frame
    return b"".join((memoryview(frame)[:-2], b',"observations":', observations, b"}\n"))


class Requests:
    """The request and reply frames of one activation (section 11)."""

    def __init__(self, call: Call, limit: int) -> None:
        self._limit = limit
        self._call = call
        self._envelope = {
            "v": call.version,
            "event_id": call.event_id,
            "attempt_id": call.attempt_id,
            "type": "runtime_request",
        }
        self._head = b""
        self.number = 0  # of the last request

    def encode(self, operation: str, payload: "dict[str, Any]") -> bytes:
        """The next request.

        Raises:
            ProfileError: The payload is not in the profile, or too large.
        """
        frame = {
            **self._envelope,
            "id": self.number + 1,
            "operation": operation,
            "payload": payload,
        }
        data = encode_frame(frame, self._limit, max_depth=DECISION_DEPTH)
        self.number += 1
        return data

    def splice(self, operation: str, payload: bytes) -> bytes:
        """The next request around a payload that is encoded already.

        Raises:
            ExchangeError: The frame would be longer than the limit.
        """
        if not self._head:
            self._head = encode_frame(self._envelope, self._limit)[:-2]
        frame = b'%b,"id":%d,"operation":"%b","payload":%b}\n' % (
            self._head,
            self.number + 1,
            operation.encode(),
            payload,
        )
        if len(frame) > self._limit:
            raise ExchangeError(
                f"the request {operation} is too large: {len(frame)} bytes,"
                f" the limit of a frame is {self._limit}"
            )
        self.number += 1
        return frame

    def check_reply(self, line: bytes) -> object:
        """The ``result`` of the reply to the last request, itself unchecked.

        Raises:
            ExchangeError: It is not exactly this request's reply.
        """
        try:
            reply: object = loads(line, unique=True)
        except ProfileError as error:
            raise ExchangeError(f"the reply is not a JSON frame: {error}") from None
        call = self._call
        expected: dict[str, Any] = {
            "v": call.version,
            "type": "runtime_reply",
            "event_id": call.event_id,
            "attempt_id": call.attempt_id,
            "id": self.number,
        }
        if not is_object(reply) or len(reply) != 6 or "result" not in reply:
            raise ExchangeError("the reply does not have exactly its six members")
        result = expected["result"] = reply["result"]
        # By type, too: true and 1.0 are not 1.
        if reply != expected or not type(reply["v"]) is type(reply["id"]) is int:
            name = next(
                name
                for name, value in expected.items()
                if type(reply.get(name)) is not type(value) or reply[name] != value
            )
            raise ExchangeError(f"the reply's {name} is not this request's")
        return result
