"""The W3C trace context grammar (runner-protocol.md, 5.3; workflow-wire.md, 4.4).

Shared by the processing context of a frame and by CloudEvents. Texts in, verdicts out;
no regular expressions, because ``re`` costs more than the whole start of a runner.
"""

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from typing import Any, TypeGuard

MAX_TRACESTATE_CHARACTERS = 512
MAX_TRACESTATE_MEMBERS = 32

_HEX = frozenset("0123456789abcdef")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_FIRST = _LETTERS | frozenset("0123456789")
_KEY = _FIRST | frozenset("_*/-")


def is_object(value: object) -> "TypeGuard[dict[str, Any]]":
    """Whether a decoded value is a JSON object."""
    return isinstance(value, dict)


def is_traceparent(value: object) -> bool:
    """Version 00, lower-case hexadecimal, neither id all zeros, any flags."""
    if not isinstance(value, str) or len(value) != 55:
        return False
    version, trace_id, span_id, flags = value[:3], value[3:35], value[36:52], value[53:]
    return (
        version == "00-"
        and value[35] == "-"
        and value[52] == "-"
        and _HEX.issuperset(trace_id)
        and _HEX.issuperset(span_id)
        and _HEX.issuperset(flags)
        and trace_id.strip("0") != ""
        and span_id.strip("0") != ""
    )


def is_tracestate(value: object) -> bool:
    """ASCII, at most 512 characters and 32 members, each a key once and a value."""
    if not isinstance(value, str):
        return False
    if len(value) > MAX_TRACESTATE_CHARACTERS or not value.isascii():
        return False
    members = value.split(",")
    if len(members) > MAX_TRACESTATE_MEMBERS:
        return False
    seen: set[str] = set()
    for member in members:
        text = member.strip(" ")
        if not text:
            continue
        key, equals, content = text.partition("=")
        if not equals or key in seen or not _is_key(key) or not _is_value(content):
            return False
        seen.add(key)
    return True


def _is_key(key: str) -> bool:
    tenant, at, system = key.partition("@")
    if not at:
        return _is_name(key, _LETTERS, 256)
    return _is_name(tenant, _FIRST, 241) and _is_name(system, _LETTERS, 14)


def _is_name(name: str, first: frozenset[str], longest: int) -> bool:
    return 0 < len(name) <= longest and name[0] in first and _KEY.issuperset(name)


def _is_value(text: str) -> bool:
    # ASCII already; what is not printable is outside U+0020 to U+007E.
    return 0 < len(text) <= 256 and text.isprintable() and "=" not in text


def is_carrier(value: object) -> bool:
    """A processing context: ``traceparent``, maybe ``tracestate``, nothing else."""
    if not is_object(value) or not is_traceparent(value.get("traceparent")):
        return False
    if value.get("tracestate") is None:
        return len(value) == 1 + ("tracestate" in value)
    return len(value) == 2 and is_tracestate(value["tracestate"])
