"""Small field checks, shared by everything that takes values or reads payloads.

The ``is_...`` functions only answer; the others refuse, with an ``ArgumentError`` that
names the argument. Types are exact everywhere: a ``StrEnum`` member is not a text and
a ``bool`` is not an integer (workflow-api.md, section 0).
"""

from __future__ import annotations

from ledgence.worker._exceptions import ArgumentError, LimitError, shown
from ledgence.worker._profile import ProfileError
from ledgence.worker._profile import encode as profile_encode
from ledgence.worker.workflow._kinds import is_dict, is_sequence
from ledgence.worker.workflow._limits import MESSAGE_BYTES, TEXT_BYTES
from ledgence.worker.workflow._sizes import largest, node_at

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet
    from typing import Any, TypeGuard

    from ledgence.worker._exceptions import ProgramError

_SLUG = "abcdefghijklmnopqrstuvwxyz0123456789._-"

_UNFIT = {
    "cycle": "a container inside itself",
    "surrogate": "a text with a lone surrogate",
    "int_range": "an int outside -2**63 to 2**64-1; send it as a text",
    "non_finite": "NaN or an infinity",
}

_PLAIN = (str, int, float, dict, list, tuple)

# What to do with a type that authors pass by habit, by its name: the types are not
# imported for this.
_CONVERSIONS = {
    "Decimal": "pass str(value)",
    "Step": "await it first",
    "UUID": "pass str(value)",
    "bytes": "pass it as text, for example in base64",
    "coroutine": "await it first",
    "date": "pass value.isoformat()",
    "datetime": "pass value.isoformat()",
    "frozenset": "pass a sorted list",
    "set": "pass a sorted list",
}


def clean(text: str) -> bool:
    """Tell whether a text has no Cc character and no noncharacter.

    Lone surrogates are not looked for: UTF-8 encoding finds them.
    """
    if text.isascii():
        return text.isprintable()
    return not any(map(_forbidden, set(text)))


def _forbidden(char: str) -> bool:
    code = ord(char)
    return (
        code < 0x20
        or 0x7F <= code <= 0x9F
        or 0xFDD0 <= code <= 0xFDEF
        or code & 0xFFFE == 0xFFFE
    )


def is_text(value: object, limit: int = TEXT_BYTES) -> TypeGuard[str]:
    """Tell whether a value is T(limit)."""
    # The length comes first, so that a huge text is neither scanned nor encoded.
    if type(value) is not str or not 0 < len(value) <= limit:
        return False
    if value.isascii():
        return value.isprintable()
    size = utf8_size(value)
    return size is not None and size <= limit and clean(value)


def is_integer(value: object, low: int, high: int) -> TypeGuard[int]:
    """Tell whether a value is Integer(low, high)."""
    return type(value) is int and low <= value <= high


def is_message(value: object) -> TypeGuard[str]:
    """Tell whether a value is a text of at most 4096 UTF-8 bytes, maybe empty."""
    # More code points than bytes allowed are refused without encoding them.
    if type(value) is not str or len(value) > MESSAGE_BYTES:
        return False
    size = utf8_size(value)
    return size is not None and size <= MESSAGE_BYTES


def is_slug(value: object) -> TypeGuard[str]:
    """Tell whether a value can be a program id or a program version."""
    return (
        type(value) is str
        and 0 < len(value) <= TEXT_BYTES
        and not value.strip(_SLUG)
        and value not in (".", "..")
    )


def is_object(value: object, names: AbstractSet[str]) -> TypeGuard[dict[str, Any]]:
    """Tell whether a value is an object with exactly these members."""
    return is_dict(value) and value.keys() == names


def is_exact(value: dict[Any, Any], names: AbstractSet[str]) -> bool:
    """Tell whether an author's dict has exactly these members, named by exact str."""
    return value.keys() == names and all(type(name) is str for name in value)


def utf8_size(text: str) -> int | None:
    """Count the UTF-8 bytes of a short text; None when it has a lone surrogate."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return None


def text(argument: str, value: object, limit: int = TEXT_BYTES) -> str:
    """Return a T(limit) argument or refuse it."""
    if is_text(value, limit):
        return value
    detail = f"expected 1 to {limit} UTF-8 bytes of text, got {describe(value)}"
    raise ArgumentError("invalid_text", detail, argument=argument)


def integer(argument: str, value: object, low: int, high: int) -> int:
    """Return an Integer(low, high) argument or refuse it."""
    if is_integer(value, low, high):
        return value
    detail = f"expected {low} to {high}, got {describe(value)}"
    raise ArgumentError("invalid_integer", detail, argument=argument)


def items(argument: str, value: object, limit: int) -> list[Any] | tuple[Any, ...]:
    """Return an exact list or tuple of at most ``limit`` entries or refuse it."""
    if not is_sequence(value):
        detail = f"expected a list or a tuple, got {describe(value)}"
        raise ArgumentError("invalid_type", detail, argument=argument)
    if len(value) > limit:
        raise LimitError("too_many", argument=argument, size=len(value), limit=limit)
    return value


def mapping(argument: str, value: object) -> dict[str, Any]:
    """Return an exact dict or refuse it."""
    if is_dict(value):
        return value
    detail = f"expected a dict, got {describe(value)}"
    raise ArgumentError("invalid_type", detail, argument=argument)


def members(argument: str, value: object, names: Iterable[str]) -> dict[str, Any]:
    """Return a dict with exactly these members or refuse it."""
    found = mapping(argument, value)
    wanted = frozenset(names)
    if not is_exact(found, wanted):
        detail = f"expected {listed(wanted)}, got {listed(found)}"
        raise ArgumentError("invalid_members", detail, argument=argument)
    return found


def encode(
    argument: str,
    value: object,
    limit: int,
    depth: int,
    *,
    received: bool = False,
    key: str | None = None,
) -> bytes:
    """Return the canonical bytes of an argument or refuse it."""
    try:
        return profile_encode(value, limit, max_depth=depth, received=received)
    except ProfileError as error:
        raise unfit(argument, value, error, key) from None


def unfit(
    argument: str, value: object, error: ProfileError, key: str | None = None
) -> ProgramError:
    """Say for an author what the profile found in an argument."""
    path = error.path
    if error.reason == "bytes":
        return LimitError(
            "too_large",
            key=key,
            argument=argument,
            path=path,
            size=error.size,
            limit=error.limit,
            largest=largest(value, error.limit or 0),
        )
    if error.reason == "depth":
        return LimitError(
            "too_deep", key=key, argument=argument, path=path, limit=error.limit
        )
    found = misfit(error.reason, value, path or "$")
    return ArgumentError(
        "not_json", f"found {found}", key=key, argument=argument, path=path
    )


def misfit(reason: str, value: object, path: str) -> str:
    """Say what at a path is no JSON, and what to do with it where that is clear."""
    if reason in _UNFIT:
        return _UNFIT[reason]
    node = node_at(value, path)
    if reason == "key_type" and is_dict(node):
        names: list[object] = [name for name in node if type(name) is not str]
        name = names[0] if names else None
        return f"a member name that is no str: {describe(name)}"
    name = type(node).__name__
    text = f"an object of type {name[:80]}"
    if name in _CONVERSIONS:
        return f"{text}; {_CONVERSIONS[name]}"
    plain = [kind.__name__ for kind in _PLAIN if isinstance(node, kind)]
    return f"{text}; pass a plain {plain[0]}" if plain else text


def check_size(
    argument: str | None, what: str, size: int, limit: int, key: str | None = None
) -> None:
    """Refuse something that was put together from parts and is too large."""
    if size > limit:
        raise LimitError(
            "too_large", what, argument=argument, key=key, size=size, limit=limit
        )


def differing(expected: bytes, got: bytes) -> tuple[dict[str, str], ...]:
    """List what differs between two values, given by their canonical bytes."""
    from ledgence.worker.workflow._differences import (  # noqa: PLC0415 # for errors only
        differences,
    )

    return differences(expected, got)


def quoted(value: str) -> bytes:
    """Return the canonical bytes of a text that has passed ``is_text``."""
    if value.isascii() and '"' not in value and "\\" not in value:
        return b'"%b"' % value.encode()
    return profile_encode(value, 6 * len(value) + 2)


def describe(value: object) -> str:
    """Describe a value in a few words, whatever it is and however large."""
    kind = type(value)
    if value is None or kind is bool or kind is float:
        return repr(value)
    if kind is int:
        return repr(value) if abs(value) < 1 << 80 else "a very large int"  # type: ignore[arg-type,operator,unused-ignore] # narrowed by the exact type
    if kind is str:
        return shown(value) + _length(value)  # type: ignore[arg-type,unused-ignore] # as above
    if kind is dict or kind is list or kind is tuple:
        return f"a {kind.__name__} of {len(value)}"  # type: ignore[arg-type,unused-ignore] # as above
    return f"an object of type {kind.__name__[:80]}"


def _length(value: str) -> str:
    return f" ({len(value)} characters)" if len(value) > 80 else ""


def listed(names: Iterable[object]) -> str:
    """List member names, sorted and bounded."""
    texts = sorted(shown(name) for name in names if type(name) is str)
    more = ", ..." if len(texts) > 12 else ""
    return "{" + ", ".join(texts[:12]) + more + "}"
