"""The CloudEvent profile of event wakes (workflow-wire.md, section 4)."""

from __future__ import annotations

from ledgence.worker._tracecontext import is_traceparent, is_tracestate
from ledgence.worker.workflow._fields import clean, is_integer, utf8_size
from ledgence.worker.workflow._kinds import is_dict
from ledgence.worker.workflow._limits import (
    MAX_EVENT_BYTES,
    SOURCE_BYTES,
    TEXT_BYTES,
    VALUE_DEPTH,
)
from ledgence.worker.workflow._payload import encode, invalid, member
from ledgence.worker.workflow._timestamps import is_timestamp
from ledgence.worker.workflow._uri import is_absolute, is_reference

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

_NAME = "abcdefghijklmnopqrstuvwxyz0123456789"
_INTEGER = 2**31


def check_event(event: object) -> bytes:
    """Check the event of a wake.

    Returns:
        Its canonical bytes: the event is kept exactly as it was received.

    Raises:
        ActivationError: With the path inside the event.
    """
    if not is_dict(event):
        raise invalid("$", "an object", event)
    # The event itself is one container; its data may nest 64 more. Other attributes
    # are no containers, so this is the limit of the data alone.
    data = encode("$", event, MAX_EVENT_BYTES, VALUE_DEPTH + 1)
    for name, value in event.items():
        if name != "data":
            _check_attribute(name, value)
    if "data" not in event:
        raise invalid("$.data", "data, which may be null", None)
    _check_required(event)
    _check_optional(event)
    return data


def _check_attribute(name: str, value: object) -> None:
    if not name or name.strip(_NAME):
        raise invalid("$", "attribute names of a-z and 0-9", name)
    # The types are exact: the event has been encoded before.
    if isinstance(value, str):
        fits = clean(value)
    else:
        fits = isinstance(value, bool) or is_integer(value, -_INTEGER, _INTEGER - 1)
    if not fits:
        expected = "a text without control characters, a boolean or a 32-bit integer"
        raise invalid(member(name), expected, value)


def _check_required(event: dict[str, Any]) -> None:
    for name, wanted in (
        ("specversion", "1.0"),
        ("datacontenttype", "application/json"),
    ):
        value = event.get(name)
        if type(value) is not str or value != wanted:
            raise invalid(member(name), f"{wanted!r}", value)
    _text(event, "id", TEXT_BYTES)
    _text(event, "type")
    source = _text(event, "source", SOURCE_BYTES)
    if not is_reference(source):
        raise invalid("$.source", "a URI reference", source)


def _check_optional(event: dict[str, Any]) -> None:
    if "subject" in event:
        _text(event, "subject")
    if "dataschema" in event and not is_absolute(_text(event, "dataschema")):
        raise invalid("$.dataschema", "an absolute URI", event["dataschema"])
    if "time" in event and not is_timestamp(_text(event, "time")):
        raise invalid("$.time", "an RFC 3339 date-time", event["time"])
    if "traceparent" in event:
        parent = event["traceparent"]
        if not is_traceparent(parent):
            raise invalid("$.traceparent", "a W3C traceparent of version 00", parent)
    if "tracestate" in event:
        state = event["tracestate"]
        if not is_tracestate(state):
            raise invalid("$.tracestate", "a W3C tracestate", state)
        if "traceparent" not in event:
            raise invalid("$.tracestate", "a traceparent beside it", state)


def _text(event: dict[str, Any], name: str, limit: int | None = None) -> str:
    value = event.get(name)
    if type(value) is not str or not value:
        raise invalid(member(name), "a text that is not empty", value)
    if limit is not None and (utf8_size(value) or 0) > limit:
        raise invalid(member(name), f"at most {limit} UTF-8 bytes", value)
    return value
