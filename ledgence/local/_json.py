"""Decoding as the service does it: what a runner sends, what an author writes."""

from __future__ import annotations

import json
import re

from ledgence.local._errors import InputError
from ledgence.local._limits import DATA_BYTES, DATA_DEPTH, LINE_DEPTH
from ledgence.worker._profile import ProfileError, check, check_wire, loads

__all__ = ["decode_data", "decode_line", "measure_data"]

# No integer token with fewer digits can be outside -2**63 to 2**64-1.
_LONG_DIGITS = re.compile(rb"[0-9]{19}")


def decode_line(line: bytes) -> object:
    """Decode one line of a runner strictly (runner-protocol.md, section 16).

    Raises:
        ProfileError: Not UTF-8, not JSON, deeper than 127 containers, a number or
            text outside the profile, anywhere in the line.
    """
    value = loads(line)
    check_wire(value, max_depth=LINE_DEPTH)
    if _LONG_DIGITS.search(line) is not None:
        _check_tokens(line)
    return value


def _check_tokens(line: bytes) -> None:
    """Look at every integer token, also those a repeated name has hidden."""
    json.loads(line, parse_int=_integer)


def _integer(token: str) -> int:
    value = int(token)
    if not -(2**63) <= value < 2**64:
        raise ProfileError("int_range")
    return value


def decode_data(text: bytes) -> object:
    """Decode the data of an event as the service would accept it.

    Raises:
        InputError: Not one JSON value of the profile of at most 1 MiB.
    """
    try:
        value = loads(text.strip(b" \t\r\n"), unique=True)
        measure_data(value)
    except ProfileError as error:
        raise _input_error(text, error) from error
    return value


def measure_data(value: object) -> int:
    """Return the compact size of an event's data; at most 1 MiB, 64 deep.

    Raises:
        ProfileError: The value is not data that the service takes.
    """
    return check(value, DATA_BYTES, max_depth=DATA_DEPTH)


def _input_error(text: bytes, error: ProfileError) -> InputError:
    details: dict[str, object] = {}
    if error.path is not None:
        details["path"] = error.path
    if error.limit is not None:
        details["limit"] = error.limit
    if error.size is not None:
        details["size"] = error.size
    hint = _HINTS.get(error.reason)
    if error.reason == "syntax":
        details.update(_syntax_details(text))
    return InputError(
        f"the data is {_MEANING[error.reason]}",
        code=f"data_{error.reason}",
        details=details,
        hint=hint,
    )


def _syntax_details(text: bytes) -> dict[str, object]:
    try:
        json.loads(text.rstrip())
    except json.JSONDecodeError as error:
        start = max(0, error.pos - 20)
        near = error.doc[start : error.pos + 20]
        row = f"row {error.lineno}, " if "\n" in error.doc else ""
        at = f"{row}column {error.colno}"
        return {"at": at, "problem": error.msg, "near": repr(near)}
    except (ValueError, RecursionError):  # the profile has already said what is wrong
        return {}
    return {}


_MEANING = {
    "bytes": "larger than the service accepts",
    "depth": "nested too deeply",
    "surrogate": "not text: a lone surrogate",
    "int_range": "an integer outside -2**63 to 2**64-1",
    "non_finite": "a number too large for a float",
    "utf8": "not UTF-8",
    "syntax": "not JSON",
    "constant": "not JSON: NaN and Infinity are no JSON values",
    "duplicate": "ambiguous: a member name occurs twice in one object",
}

_HINTS = {
    "bytes": "store it elsewhere and pass a reference",
    "int_range": "send it as text",
    "non_finite": "send it as text",
    "constant": "use null or text",
}
