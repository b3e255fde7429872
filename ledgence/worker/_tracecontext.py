"""The W3C trace context grammar of carriers and event attributes.

runner-protocol.md 5.3 and workflow-wire.md 4.4 share it. Only version 00 of
``traceparent`` is taken; nothing is rewritten. ``re`` is not imported, so that reading
a carrier costs no start-up time.
"""

from __future__ import annotations

__all__ = ["traceparent_ok", "tracestate_ok"]

_HEX = "0123456789abcdef"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_KEY = _LOWER + "0123456789_*/-"
_MAX_STATE = 512  # characters
_MAX_MEMBERS = 32
_MAX_VALUE = 256


def traceparent_ok(text: str) -> bool:
    """Tell whether a text is ``00-<32 hex>-<16 hex>-<2 hex>`` with ids that are set."""
    if len(text) != 55:
        return False
    version, trace_id, span_id, flags = (
        text[:3],
        text[3:35],
        text[36:52],
        text[53:],
    )
    return (
        version == "00-"
        and text[35] == "-"
        and text[52] == "-"
        and not (trace_id + span_id + flags).strip(_HEX)
        and bool(trace_id.strip("0"))
        and bool(span_id.strip("0"))
    )


def tracestate_ok(text: str) -> bool:
    """Tell whether a text is a ``tracestate``; it may be empty."""
    if len(text) > _MAX_STATE or not text.isascii():
        return False
    members = text.split(",")
    if len(members) > _MAX_MEMBERS:
        return False
    keys = set()
    for member in members:
        stripped = member.strip(" ")
        if not stripped:
            continue
        key, equals, value = stripped.partition("=")
        if not equals or key in keys or not (_key_ok(key) and _value_ok(value)):
            return False
        keys.add(key)
    return True


def _key_ok(key: str) -> bool:
    tenant, at, system = key.partition("@")
    if not at:
        return 0 < len(key) <= 256 and key[0] in _LOWER and not key.strip(_KEY)
    return (
        0 < len(tenant) <= 241
        and tenant[0] in _LOWER + "0123456789"
        and 0 < len(system) <= 14
        and system[0] in _LOWER
        and not (tenant + system).strip(_KEY)
    )


def _value_ok(value: str) -> bool:
    # Commas cannot occur here: the members were split at them.
    return 0 < len(value) <= _MAX_VALUE and value.isprintable() and "=" not in value
