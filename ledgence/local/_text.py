"""Texts of the contract: bounded, without control characters."""

from __future__ import annotations

import re

from ledgence.local._limits import KEY_BYTES

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_NONCHARACTER = re.compile(
    "[\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
    + "]"
)


def byte_length(text: str) -> int:
    """Return the UTF-8 length of ``text``, or -1 when it has a lone surrogate."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return -1


def is_text(value: object, limit: int = KEY_BYTES) -> bool:
    """Tell whether ``value`` is a ``T(limit)``: 1 to ``limit`` bytes, no control."""
    return (
        isinstance(value, str)
        and 0 < byte_length(value) <= limit
        and _CONTROL.search(value) is None
        and _NONCHARACTER.search(value) is None
    )


def shorten(text: str, limit: int = 80) -> str:
    """Return at most ``limit`` characters of ``text``, marked where it was cut."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
