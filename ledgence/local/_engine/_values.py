"""JSON values as the host keeps them: canonical bytes and the service's size.

A value crosses this room once. It comes out as canonical bytes, which are stored and
compared as they are (json-profile.md, section 6), together with the number of bytes
that the service counts for it: the service spells floats in another way
(json-profile.md, section 10), and its size is the one that counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ledgence.local._engine._errors import InvalidInput
from ledgence.worker._profile import ProfileError, encode, thaw
from ledgence.worker.workflow._fields import misfit
from ledgence.worker.workflow._limits import VALUE_DEPTH
from ledgence.worker.workflow._sizes import largest

__all__ = [
    "EMPTY_OBJECT",
    "NULL",
    "JsonObject",
    "Packed",
    "array_size",
    "pack",
    "parse",
    "service_float",
    "service_size",
    "unpack",
    "unpack_object",
]

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Packed:
    """One value: its canonical bytes and the size that the service counts."""

    data: bytes
    size: int


NULL = Packed(b"null", 4)
EMPTY_OBJECT = Packed(b"{}", 2)


def pack(
    value: object, limit: int, *, path: str = "$", depth: int = VALUE_DEPTH
) -> Packed:
    """Check a value and return its canonical bytes.

    Args:
        value: Any Python value.
        limit: The most bytes the service would count.
        path: Where the value stands in the request, for the error.
        depth: How many containers may be inside each other.

    Raises:
        InvalidInput: Not a value of the profile, too deep or too large.
    """
    try:
        # Received mode lets everything through that can be small enough for the
        # service; the exact comparison follows.
        data = encode(value, limit, max_depth=depth, received=True)
    except ProfileError as error:
        if error.reason == "bytes":
            raise _too_large(value, limit, path, depth) from error
        raise _unfit(error, path, value) from error
    size = service_size(value, data)
    if size > limit:
        raise _too_large(value, limit, path, depth)
    return Packed(data, size)


def unpack(data: bytes) -> Any:
    """Return a fresh value from canonical bytes."""
    return thaw(data)


def unpack_object(data: bytes) -> JsonObject:
    """Return a fresh object from canonical bytes that are known to hold one."""
    return cast("JsonObject", thaw(data))


def parse(text: bytes) -> Any:
    """Decode JSON as the service reads it, for whoever takes requests as text.

    Strict UTF-8, no repeated names, no constants; the token ``-0`` is the float
    -0.0 (orchestrator.md, section 0).

    Raises:
        InvalidInput: Not one JSON value.
    """
    try:
        return json.loads(
            text.decode(),
            parse_int=_integer,
            parse_constant=_constant,
            object_pairs_hook=_members,
        )
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {str(error)[:200]}") from error


def _integer(digits: str) -> int | float:
    return -0.0 if digits == "-0" else int(digits)


def _constant(token: str) -> float:
    raise ValueError(f"{token} is no JSON value")


def _members(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member name occurs twice in one object")
    return found


def array_size(sizes: Sequence[int]) -> int:
    """Return the size of an array of values of these sizes."""
    return 2 + sum(sizes) + max(0, len(sizes) - 1)


def service_size(value: object, data: bytes) -> int:
    """Return the service's size of a value with these canonical bytes."""
    # Only exponents -5 to -9 are spelled differently, and rarely anywhere.
    if b"e-0" not in data:
        return len(data)
    return len(data) + _difference(value)


def _difference(value: object) -> int:
    total = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is float:
            total += len(service_float(item)) - len(repr(item))
        elif isinstance(item, Mapping):
            stack.extend(cast("Mapping[str, object]", item).values())
        elif isinstance(item, list | tuple):
            stack.extend(cast("Sequence[object]", item))
    return total


def service_float(value: float) -> str:
    """Spell a finite float as the service does (json-profile.md, section 10)."""
    text = repr(value)
    mantissa, mark, exponent = text.partition("e-")
    if not mark:
        return text
    if exponent == "05":
        sign = "-" if mantissa.startswith("-") else ""
        return f"{sign}0.0000{mantissa.lstrip('-').replace('.', '')}"
    return f"{mantissa}e-{int(exponent)}"


# A value that was refused is measured up to so many limits, for the error.
_MEASURED = 16


def _unfit(error: ProfileError, path: str, value: object) -> InvalidInput:
    inside = error.path or "$"
    place = path + inside.removeprefix("$")
    if error.reason == "depth":
        expected = f"at most {error.limit} deep"
        return InvalidInput.at(place, expected, "containers nested too deeply")
    return InvalidInput.at(place, "JSON", misfit(error.reason, value, inside))


def _too_large(value: object, limit: int, path: str, depth: int) -> InvalidInput:
    """Say how large a value is and what makes it so."""
    most = limit * _MEASURED
    try:
        data = encode(value, most, max_depth=depth, received=True)
        got = f"{service_size(value, data)} bytes"
    except ProfileError:
        got = f"more than {most} bytes, or no JSON at all"
    error = InvalidInput.at(
        path,
        f"at most {limit} bytes",
        got,
        hint="store it elsewhere and pass a reference; a retry does not help",
    )
    error.details["largest"] = ", ".join(
        f"{path}{str(part['path']).removeprefix('$')} ({part['size']} bytes)"
        for part in largest(value, limit)
    )
    return error
