"""What a runner may send, checked frame by frame; values in, values out.

Each ``check_*`` function takes a decoded frame and returns a record, or raises
``FrameFault`` with the rule that was broken. The rules are those of
runner-protocol.md, sections 5, 11.2 and 16. Nothing here reads or waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ledgence.local._limits import (
    DECISION_DEPTH,
    KEY_BYTES,
    OUTPUT_DEPTH,
    REQUEST_BYTES,
    REQUEST_DEPTH,
)
from ledgence.local._observations import keep_observations
from ledgence.local._shapes import as_list, as_object
from ledgence.local._text import is_text
from ledgence.worker._profile import ProfileError, check, check_wire

__all__ = [
    "Closing",
    "FrameFault",
    "Identity",
    "Ready",
    "Request",
    "Result",
    "check_closing",
    "check_ready",
    "check_request",
    "check_result",
    "frame_type",
]

Frame = dict[str, Any]


class FrameFault(Exception):
    """A frame outside the contract.

    Attributes:
        rule: A stable name of the rule, such as ``result_identity``.
        expected: What the contract asks for.
        got: What was there, bounded.
    """

    def __init__(self, rule: str, *, expected: object, got: object) -> None:
        super().__init__(rule)
        self.rule = rule
        self.expected = expected
        self.got = got


@dataclass(frozen=True, slots=True)
class Identity:
    """The two ids of an invocation; both come back in its frames."""

    event_id: str
    attempt_id: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The process can take invocations."""

    pid: int
    python_version: str


@dataclass(frozen=True, slots=True)
class Result:
    """How an invocation ended.

    Attributes:
        status: ``success``, ``error`` or ``runtime_error``.
        output: The output of a success, else None.
        error: ``(kind, message)`` unless it is a success.
        observations: The measurements that were usable, or None.
    """

    status: str
    output: object
    error: tuple[str, str] | None
    observations: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Request:
    """What an activation asks of its host."""

    id: int
    operation: str
    payload: object


@dataclass(frozen=True, slots=True)
class Closing:
    """The answer to a shutdown."""


def frame_type(value: object, *, protocol: int) -> tuple[Frame, str]:
    """Return the frame and its type after the checks that all frames share."""
    frame = as_object(value)
    if frame is None:
        raise FrameFault(
            "frame_object", expected="a JSON object", got=type(value).__name__
        )
    _require(frame.get("v"), protocol, "frame_version")
    kind = frame.get("type")
    if not isinstance(kind, str):
        raise FrameFault("frame_type", expected="a text", got=_brief(kind))
    return frame, kind


def check_ready(frame: Frame, *, pid: int, python_version: str) -> Ready:
    """Check the first frame of a process (section 5.1)."""
    _members(frame, {"v", "type", "pid", "python_version"}, "ready_members")
    _require(frame["pid"], pid, "ready_pid")
    _require(frame["python_version"], python_version, "ready_python_version")
    return Ready(pid, python_version)


def check_closing(frame: Frame) -> Closing:
    """Check the answer to a shutdown (section 5.7)."""
    _members(frame, {"v", "type"}, "closing_members")
    return Closing()


def check_result(frame: Frame, *, identity: Identity, activation: bool) -> Result:
    """Check a result against the invocation it answers (section 5.4)."""
    _identify(frame, identity, "result_identity")
    status = frame.get("status")
    if status not in ("success", "error", "runtime_error"):
        raise FrameFault(
            "result_status",
            expected="success, error or runtime_error",
            got=_brief(status),
        )
    if status == "runtime_error" and not activation:
        raise FrameFault(
            "result_status", expected="no runtime_error from a task", got=status
        )
    body = "output" if status == "success" else "error"
    members = {"v", "type", "event_id", "attempt_id", "status", body}
    _members(frame, members, "result_members", optional={"observations"})
    kept = keep_observations(frame.get("observations"))
    if status == "success":
        _check_depth(frame["output"], DECISION_DEPTH if activation else OUTPUT_DEPTH)
        return Result(status, frame["output"], None, kept)
    return Result(status, None, _check_error(frame["error"]), kept)


def check_request(frame: Frame, *, identity: Identity, number: int) -> Request:
    """Check a request of an activation (section 11.2); ``number`` is its turn."""
    members = {"v", "type", "event_id", "attempt_id", "id", "operation", "payload"}
    _members(frame, members, "request_members")
    _identify(frame, identity, "request_identity")
    _require(frame["id"], number, "request_id")
    if not is_text(frame["operation"], KEY_BYTES):
        raise FrameFault(
            "request_operation",
            expected="a short text without control characters",
            got=_brief(frame["operation"]),
        )
    try:
        check(frame["payload"], REQUEST_BYTES, max_depth=REQUEST_DEPTH)
    except ProfileError as error:
        raise FrameFault(
            "request_payload",
            expected=f"at most {REQUEST_BYTES} bytes, {REQUEST_DEPTH} deep",
            got=str(error),
        ) from error
    return Request(number, frame["operation"], frame["payload"])


def _check_error(value: object) -> tuple[str, str]:
    error = as_object(value)
    if error is None or set(error) != {"kind", "message"}:
        raise FrameFault(
            "result_error", expected="an object of kind and message", got=_brief(value)
        )
    kind, message = error["kind"], error["message"]
    if not isinstance(kind, str) or not kind or not isinstance(message, str):
        raise FrameFault(
            "result_error",
            expected="a nonempty kind and a message, both texts",
            got=_brief(error),
        )
    return kind, message


def _check_depth(output: object, limit: int) -> None:
    try:
        check_wire(output, max_depth=limit)
    except ProfileError as error:
        raise FrameFault(
            "result_output", expected=f"at most {limit} containers deep", got=str(error)
        ) from error


def _identify(frame: Frame, identity: Identity, rule: str) -> None:
    _require(frame.get("event_id"), identity.event_id, rule)
    _require(frame.get("attempt_id"), identity.attempt_id, rule)


def _require(got: object, expected: object, rule: str) -> None:
    # `True == 1` and `1.0 == 1`: the type is part of the value here.
    if type(got) is not type(expected) or got != expected:
        raise FrameFault(rule, expected=expected, got=_brief(got))


def _members(
    frame: Frame, required: set[str], rule: str, *, optional: set[str] | None = None
) -> None:
    names = set(frame)
    missing = required - names
    extra = names - required - (optional or set())
    if missing or extra:
        got = [f"without {name}" for name in sorted(missing)]
        got += [f"with {_brief(name)}" for name in sorted(extra)[:5]]
        raise FrameFault(
            rule, expected=f"the members {sorted(required)}", got=", ".join(got)
        )


def _brief(value: object) -> str:
    items = as_object(value) or as_list(value)
    if items:
        return f"{type(value).__name__} of {len(items)}"
    if isinstance(value, str):
        value = value[:60]
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
