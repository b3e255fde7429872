"""Which log frames are kept (runner-protocol.md, sections 13 and 16)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ledgence.local._limits import LOG_DEPTH, LOG_LINE_BYTES
from ledgence.local._shapes import as_object
from ledgence.local._text import byte_length, is_text
from ledgence.worker._profile import ProfileError, check_wire

__all__ = ["DroppedLog", "Log", "keep_log"]

_REQUIRED = {"v", "type", "time", "severity", "logger", "message", "attributes"}
_OPTIONAL = {"invocation", "trace_id", "span_id"}
_IDENTITY = {
    "event_id": 128,
    "attempt_id": 128,
    "source": 2048,
    "tenant_id": 128,
    "namespace": 128,
    "run_id": 128,
    "task_id": 128,
}
_WORKFLOW = {"workflow_id", "activation_id"}
_LINEAGE = {"parent_workflow_id", "root_workflow_id"}
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Log:
    """One structured record of the program.

    Attributes:
        invocation: The identities of the run it belongs to, or None.
        trace: ``(trace_id, span_id)`` or None.
        size: The bytes of its line.
    """

    time: str
    severity: str
    logger: str
    message: str
    attributes: dict[str, Any]
    invocation: dict[str, Any] | None
    trace: tuple[str, str] | None
    size: int


@dataclass(frozen=True, slots=True)
class DroppedLog:
    """A log frame that the service would drop and count."""

    reason: str
    size: int


def keep_log(frame: dict[str, Any], *, protocol: int, size: int) -> Log | DroppedLog:
    """Return the record, or why it is dropped; a log never harms a run."""
    reason = _objection(frame, protocol, size)
    if reason is not None:
        return DroppedLog(reason, size)
    trace = (frame["trace_id"], frame["span_id"]) if "trace_id" in frame else None
    return Log(
        time=frame["time"],
        severity=frame["severity"],
        logger=frame["logger"],
        message=frame["message"],
        attributes=frame["attributes"],
        invocation=frame.get("invocation"),
        trace=trace,
        size=size,
    )


def _objection(frame: dict[str, Any], protocol: int, size: int) -> str | None:
    if size > LOG_LINE_BYTES:
        return "line"
    if not _REQUIRED <= set(frame) <= _REQUIRED | _OPTIONAL:
        return "members"
    if not isinstance(frame["attributes"], dict):
        return "attributes"
    if not _is_time(frame["time"]):
        return "time"
    if not _sized(frame["severity"], 1, 32):
        return "severity"
    if not _sized(frame["logger"], 0, 1024) or not _sized(frame["message"], 0, 16384):
        return "text"
    if not _is_trace(frame):
        return "trace"
    if "invocation" in frame and not _is_invocation(frame["invocation"], protocol):
        return "invocation"
    try:
        check_wire(frame, max_depth=LOG_DEPTH)
    except ProfileError:
        return "depth"
    return None


def _sized(value: object, low: int, high: int) -> bool:
    return isinstance(value, str) and low <= byte_length(value) <= high


def _is_time(value: object) -> bool:
    if not _sized(value, 1, 64) or not isinstance(value, str):
        return False
    if _TIME.fullmatch(value) is None:
        return False
    try:
        # The fraction may be longer than datetime reads; only the rest is checked.
        datetime.fromisoformat(re.sub(r"\.\d+", "", value).upper())
    except ValueError:
        return False
    return True


def _is_trace(frame: dict[str, Any]) -> bool:
    if "trace_id" not in frame and "span_id" not in frame:
        return True
    return _is_hex(frame.get("trace_id"), 32) and _is_hex(frame.get("span_id"), 16)


def _is_hex(value: object, digits: int) -> bool:
    return (
        isinstance(value, str)
        and re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is not None
        and value.strip("0") != ""
    )


def _is_invocation(value: object, protocol: int) -> bool:
    invocation = as_object(value)
    if invocation is None:
        return False
    extra = set(invocation) - set(_IDENTITY) - {"attempt_no"}
    if extra and (protocol < 3 or not _is_lineage(extra)):
        return False
    number = invocation.get("attempt_no")
    return (
        all(is_text(invocation.get(name), limit) for name, limit in _IDENTITY.items())
        and all(is_text(invocation[name]) for name in extra)
        and type(number) is int
        and number >= 1
    )


def _is_lineage(names: set[str]) -> bool:
    # Children of a workflow carry its id without an activation of their own.
    return (
        "workflow_id" in names
        and names <= _WORKFLOW | _LINEAGE
        and (names & _LINEAGE in (set(), _LINEAGE))
    )
