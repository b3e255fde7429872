"""From a log record to its frame (runner-protocol.md, 13.2 to 13.4).

The frame is made where the record is emitted, in the caller's thread and context, so
that it is a snapshot. What is the same for many records is encoded once: the names of
a logger and a level, the identities of an invocation.
"""

from datetime import UTC, datetime

from ledgence.worker import _invocation, _process
from ledgence.worker._profile import encode_frame

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Iterable
    from logging import LogRecord
    from typing import Any, TypeGuard

MAX_SEVERITY = 32  # characters, and bytes as well
MAX_LOGGER = 256  # characters
MAX_MESSAGE = 4096  # characters
MAX_NODES = 64
MAX_TEXT = 4096  # characters of all texts and keys of an attribute tree
MAX_LEVELS = 4  # containers inside each other
MAX_ITEMS = 32  # of one container
MAX_KEY = 256  # characters

TRUNCATED = "[truncated]"
UNSUPPORTED = "[unsupported]"

_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_NO_LIMIT = 2**31  # far above any record; the real limit is applied to the frame
_MAX_SOURCES = 256
_NAMES = (
    "event_id",
    "attempt_id",
    "source",
    "tenant_id",
    "namespace",
    "run_id",
    "task_id",
    "attempt_no",
    "workflow_id",
    "activation_id",
    "parent_workflow_id",
    "root_workflow_id",
)
_FIRST_WORKFLOW, _FIRST_PARENT = 8, 10  # places in _NAMES

# The begin of a frame, by protocol.
_HEADS = {v: b'{"v":%d,"type":"log","time":"' % v for v in (2, 3)}
_sources: dict[tuple[str, str], bytes] = {}


def build(record: "LogRecord", protocol: int, limit: int) -> bytes | None:
    """The frame of a record in the current context.

    Args:
        record: As the program's logger made it.
        protocol: The version of the frame, 2 or 3.
        limit: The most bytes of the frame, its newline included.

    Returns:
        None if not even an empty message fits.

    Raises:
        Exception: The record cannot be formatted or encoded.
    """
    message = str.__str__(record.getMessage())[:MAX_MESSAGE]
    given: Any = record.__dict__.get("attributes")
    attributes = given if is_small(given) else bounded(given)
    time = timestamp(record.created)
    head = _HEADS[protocol] + time + _source(record.levelname, record.name)
    invocation = _invocation.lookup(None)
    if _process.bridge is not None:
        tail = b"" if invocation is None else _identities(invocation, protocol)
        tail += _spans(_process.bridge.span_ids())
    elif invocation is None:
        tail = b""
    else:
        tail = invocation.log_tail or _tail(invocation, protocol)
    return _fit(head, message, attributes, tail, limit)


def _fit(
    head: bytes, message: str, attributes: "dict[str, Any]", tail: bytes, limit: int
) -> bytes | None:
    """Give up attributes, then halves of the message, until the frame fits."""
    while True:
        content = encode_frame(
            {"message": message, "attributes": attributes}, _NO_LIMIT
        )
        size = len(head) + len(content) - 1 + len(tail)  # "{" goes
        if size <= limit:
            return b"".join((head, content[1:-2], tail, b"}\n"))
        if not message and not attributes:
            return None
        message, attributes = message[: len(message) // 2], {}


_second: tuple[int, bytes] = (-1, b"")  # the last one, and its text


def timestamp(created: float) -> bytes:
    """What ``datetime.isoformat`` says of a moment, in UTC."""
    global _second  # noqa: PLW0603 - one entry is all the cache there is
    second = int(created)
    micros = round((created - second) * 1_000_000)
    if not 0 < micros < 1_000_000:
        return datetime.fromtimestamp(created, UTC).isoformat().encode()
    known, text = _second
    if known != second:
        text = datetime.fromtimestamp(second, UTC).isoformat()[:19].encode()
        _second = second, text
    return b"%b.%06d+00:00" % (text, micros)


def _source(level_name: str, logger_name: str) -> bytes:
    """The members ``severity`` and ``logger``, after the quote of the time."""
    key = level_name, logger_name
    text = _sources.get(key)
    if text is None:
        names = {
            "severity": severity(level_name),
            "logger": str.__str__(logger_name)[:MAX_LOGGER],
        }
        text = b'",' + encode_frame(names, _NO_LIMIT)[1:-2] + b","
        if len(_sources) >= _MAX_SOURCES:
            _sources.clear()
        _sources[key] = text
    return text


def severity(level_name: str) -> str:
    """A level's name within 32 characters and 32 bytes, never empty."""
    text = str.__str__(level_name)[:MAX_SEVERITY]
    if not text.isascii():
        text = text.encode()[:MAX_SEVERITY].decode(errors="ignore")
    return text or "NOTSET"


def _identities(invocation: "_invocation.Invocation", protocol: int) -> bytes:
    """The member ``invocation``, encoded once."""
    text = invocation.log_member
    if text is None:
        member = select_identities(invocation.identities, protocol)
        text = b"," + encode_frame({"invocation": member}, _NO_LIMIT)[1:-2]
        invocation.log_member = text
    return text


def _tail(invocation: "_invocation.Invocation", protocol: int) -> bytes:
    """The identities and, without the bridge, the carrier's ids; encoded once."""
    carrier = invocation.carrier
    ids = None if carrier is None else carrier["traceparent"].split("-")[1:3]
    tail = invocation.log_tail = _identities(invocation, protocol) + _spans(ids)
    return tail


def select_identities(values: "tuple[Any, ...]", protocol: int) -> "dict[str, Any]":
    """The identities that a record of a protocol has, by name and in order."""
    count = len(_NAMES)
    if protocol < 3:
        count = _FIRST_WORKFLOW
    elif values[_FIRST_PARENT] is None:
        count = _FIRST_PARENT
    pairs = zip(_NAMES[:count], values, strict=False)
    return {name: value for name, value in pairs if value is not None}


def _spans(ids: "Iterable[str] | None") -> bytes:
    """The members ``trace_id`` and ``span_id``, or neither."""
    if ids is None:
        return b""
    trace_id, span_id = ids
    return f',"trace_id":"{trace_id}","span_id":"{span_id}"'.encode()


def _is_exact_dict(value: object) -> "TypeGuard[dict[Any, Any]]":
    return type(value) is dict


def _is_dict(value: object) -> "TypeGuard[dict[Any, Any]]":
    return isinstance(value, dict)


def _is_array(value: object) -> "TypeGuard[list[Any] | tuple[Any, ...]]":
    return isinstance(value, (list, tuple))


def is_small(attributes: object) -> bool:
    """Whether a bounded copy would say the same: a short flat dict of plain scalars."""
    if not _is_exact_dict(attributes) or len(attributes) > MAX_ITEMS:
        return False
    text = MAX_TEXT
    for key, value in attributes.items():
        if type(key) is not str or len(key) > MAX_KEY:
            return False
        text -= len(key)
        kind: type[object] = type(value)  # pyright: ignore[reportUnknownVariableType] - any
        if kind is str:
            text -= len(value)
        elif kind is int:
            if not _INT_MIN <= value <= _INT_MAX:
                return False
        elif kind is not float and kind is not bool and value is not None:
            return False
    return text >= 0


def bounded(attributes: object) -> "dict[str, Any]":
    """A bounded copy of an attribute tree (section 13.3); empty for what is no dict.

    Raises:
        Exception: Whatever the program's own containers raise.
    """
    return _Budget().members(attributes, 0) if _is_dict(attributes) else {}


class _Budget:
    """What is left of the nodes and of the text of one tree."""

    __slots__ = ("nodes", "text")

    def __init__(self) -> None:
        self.nodes = MAX_NODES - 1  # the root has taken one
        self.text = MAX_TEXT

    def members(self, value: "dict[Any, Any]", depth: int) -> "dict[str, Any]":
        copy: dict[str, Any] = {}
        for index, (key, item) in enumerate(value.items()):
            if index >= MAX_ITEMS or not self.nodes:
                break
            if isinstance(key, str):
                name = self.cut(key, MAX_KEY)  # charged before its value
                copy[name] = self.visit(item, depth + 1)
        return copy

    def items(self, value: "Iterable[Any]", depth: int) -> "list[Any]":
        copy: list[Any] = []
        for item in value:
            if len(copy) >= MAX_ITEMS or not self.nodes:
                break
            copy.append(self.visit(item, depth + 1))
        return copy

    def cut(self, text: str, longest: int) -> str:
        kept = str.__str__(text)[: min(longest, self.text)]
        self.text -= len(kept)
        return kept

    def visit(self, value: object, depth: int) -> object:
        self.nodes -= 1
        if value is None or isinstance(value, (bool, float)):
            return value
        if isinstance(value, str):
            return self.cut(value, self.text)
        if isinstance(value, int):
            return value if _INT_MIN <= value <= _INT_MAX else UNSUPPORTED
        if _is_dict(value):
            return TRUNCATED if depth >= MAX_LEVELS else self.members(value, depth)
        if _is_array(value):
            return TRUNCATED if depth >= MAX_LEVELS else self.items(value, depth)
        return UNSUPPORTED
