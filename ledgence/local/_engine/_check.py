"""Checks of request members; each refuses with ``InvalidInput`` at a path."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._limits import CORRELATION_BYTES
from ledgence.local._engine._values import JsonObject
from ledgence.worker.workflow._fields import (
    describe,
    is_integer,
    is_text,
    listed,
    utf8_size,
)
from ledgence.worker.workflow._limits import MAX_TIMESTAMP, MESSAGE_BYTES, TEXT_BYTES

__all__ = [
    "array",
    "choice",
    "correlation",
    "integer",
    "member",
    "message",
    "record",
    "text",
    "timestamp",
]


def record(
    value: object,
    required: Collection[str],
    optional: Collection[str] = (),
    *,
    path: str = "$",
) -> JsonObject:
    """Return an object with all required members and no unknown ones."""
    if type(value) is not dict:
        raise InvalidInput.at(path, "an object", describe(value))
    found = cast("JsonObject", value)
    missing = [name for name in required if name not in found]
    if missing:
        raise InvalidInput.at(path, "all members", f"an object without {missing[0]}")
    if len(found) > len(required):
        unknown = [n for n in found if n not in required and n not in optional]
        if unknown:
            expected = f"only {listed((*required, *optional))}"
            raise InvalidInput.at(path, expected, describe(unknown[0]))
    return found


def member(value: object, name: str) -> object:
    """Return a member of what may be an object; None when there is none."""
    return cast("JsonObject", value).get(name) if type(value) is dict else None


def array(value: object, low: int, high: int, *, path: str) -> list[object]:
    """Return a list of ``low`` to ``high`` items."""
    if type(value) is not list:
        raise InvalidInput.at(path, "a list", describe(value))
    items = cast("list[object]", value)
    if not low <= len(items) <= high:
        raise InvalidInput.at(path, f"{low} to {high} items", f"{len(items)} items")
    return items


def text(value: object, limit: int = TEXT_BYTES, *, path: str) -> str:
    """Return a T(limit)."""
    if is_text(value, limit):
        return value
    raise InvalidInput.at(path, f"1 to {limit} bytes of clean text", describe(value))


def integer(value: object, low: int, high: int, *, path: str) -> int:
    """Return an integer of this range; floats and booleans are none."""
    if is_integer(value, low, high):
        return value
    raise InvalidInput.at(path, f"an integer from {low} to {high}", describe(value))


def timestamp(value: object, *, path: str) -> int:
    """Return Unix milliseconds."""
    return integer(value, 0, MAX_TIMESTAMP, path=path)


def choice(value: object, options: Collection[str], *, path: str) -> str:
    """Return one of these texts."""
    if type(value) is str and value in options:
        return value
    raise InvalidInput.at(path, " or ".join(sorted(options)), describe(value))


def message(value: object, *, path: str) -> str:
    """Return a text of at most 4096 bytes; any characters, also none."""
    if type(value) is str:
        size = utf8_size(value) if len(value) <= MESSAGE_BYTES else MESSAGE_BYTES + 1
        if size is not None and size <= MESSAGE_BYTES:
            return value
    raise InvalidInput.at(path, f"at most {MESSAGE_BYTES} bytes", describe(value))


def correlation(value: object, *, path: str) -> str | None:
    """Return a correlation key of 0 to 512 bytes without control characters."""
    if value is None:
        return None
    if type(value) is str and len(value) <= CORRELATION_BYTES:
        size = utf8_size(value)
        if size is not None and size <= CORRELATION_BYTES and not _control(value):
            return value
    expected = f"0 to {CORRELATION_BYTES} bytes without control characters"
    raise InvalidInput.at(path, expected, describe(value))


def _control(value: str) -> bool:
    # Category Cc is exactly these; noncharacters are allowed here.
    return any(char < " " or "\x7f" <= char <= "\x9f" for char in value)
