"""Decoding of lines and of canonical bytes (json-profile.md, sections 5 and 9).

The standard library's scanner does the work. What it leaves to its caller is here:
strict UTF-8, constants, repeated names, endless integers and deep nesting.
"""

from __future__ import annotations

import sys

from ledgence.worker._exceptions import ProfileError
from ledgence.worker._profile_py_json import Hooks, scanner

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ledgence.worker._profile_py_json import Scanner

__all__ = ["loads", "thaw"]

_SPACE = " \t\n\r"
_DIGITS = b"0123456789"
_MAX_DIGITS = 4300  # of an integer token, whatever the interpreter's own limit is
_SAFE_DIGITS = 640  # no limit of the interpreter is lower than this
_MAX_NESTED = 1000  # containers inside each other, where the scanner gives up


def loads(line: bytes, *, unique: bool = False) -> Any:
    """Decode one line of JSON, with or without its newline (section 9).

    Args:
        line: Strict UTF-8; a byte order mark is no JSON.
        unique: Refuse an object that repeats a name; else the last value wins, at
            the place of the first.

    Returns:
        Exact ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and ``None``
        only; members in the order of the line. An overflowing float token gives an
        infinity and a lone surrogate escape a surrogate: the checks that follow
        refuse them.

    Raises:
        ProfileError: ``utf8`` (decided first, for the whole line), ``syntax``,
            ``constant``, ``int_range`` (more than 4300 digits), ``duplicate``
            (noticed where the object closes) or ``depth`` (256 containers inside
            each other always decode).
    """
    try:
        text = str(line, "utf-8")
    except UnicodeDecodeError:
        raise ProfileError("utf8") from None
    scan = _UNIQUE if unique else _PLAIN
    if len(line) > _SAFE_DIGITS and _has_endless(line):
        scan = _UNIQUE_LONG if unique else _LONG
    start = 0
    if text[:1] in _SPACE:  # an empty line, too
        start = len(text) - len(text.lstrip(_SPACE))
    value, end = _scan(scan, text, start, unique=unique)
    if end != len(text) and text[end:].strip(_SPACE):
        raise ProfileError("syntax")
    return value


def thaw(data: bytes) -> Any:
    """Decode canonical bytes, as ``encode`` made them, to an independent tree.

    Args:
        data: The result of ``encode``; anything else may be misread.

    Returns:
        Exact ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and ``None``
        only, members sorted by name (section 5).
    """
    return _scan(_PLAIN, str(data, "utf-8"), 0, unique=False)[0]


def _scan(scan: Scanner, text: str, start: int, *, unique: bool) -> tuple[Any, int]:
    try:
        try:
            return scan(text, start)
        except RecursionError:
            # Nested deeply, or called by a caller deep in its own stack.
            return _scan_nested(scan, text, start, unique=unique)
    except (ValueError, StopIteration) as error:
        if isinstance(error, ProfileError):
            raise
        raise ProfileError("syntax") from None
    except RecursionError:
        raise ProfileError("depth", None, _MAX_NESTED) from None


def _scan_nested(
    scan: Scanner, text: str, index: int, *, unique: bool
) -> tuple[Any, int]:
    """Decode one value with a stack of our own; ``scan`` is for scalars and names."""
    stack: list[tuple[list[Any], bool]] = []  # children, and whether it is an object
    while True:
        index = _past_space(text, index)
        opening = text[index : index + 1]
        if opening and opening in "[{":
            if len(stack) == _MAX_NESTED:
                raise ProfileError("depth", None, _MAX_NESTED)
            stack.append(([], opening == "{"))
            index = _past_space(text, index + 1)
            closed = text[index : index + 1] == ("}" if opening == "{" else "]")
            if not closed:
                if opening == "{":
                    index = _scan_name(scan, text, index, stack[-1][0])
                continue
            value: Any = {} if stack.pop()[1] else []
            index += 1
        else:
            value, index = scan(text, index)
        while stack:
            children, is_object = stack[-1]
            if is_object:
                children[-1] = (children[-1], value)
            else:
                children.append(value)
            index = _past_space(text, index)
            char = text[index : index + 1]
            index += 1
            if char == ",":
                if is_object:
                    index = _scan_name(scan, text, _past_space(text, index), children)
                break
            if char != ("}" if is_object else "]"):
                raise ProfileError("syntax")
            stack.pop()
            value = children
            if is_object:
                value = _unique_object(children) if unique else dict(children)
        else:
            return value, index


def _scan_name(scan: Scanner, text: str, index: int, children: list[Any]) -> int:
    """Read a name and its colon; the name waits in the list for its value."""
    if text[index : index + 1] != '"':
        raise ProfileError("syntax")
    name, index = scan(text, index)
    children.append(name)
    index = _past_space(text, index)
    if text[index : index + 1] != ":":
        raise ProfileError("syntax")
    return index + 1


def _past_space(text: str, index: int) -> int:
    while text[index : index + 1] in (" ", "\t", "\n", "\r"):
        index += 1
    return index


def _has_endless(line: bytes) -> bool:
    """Whether so many digits stand together that ``int`` might not take them.

    Such a run covers a place that is looked at here, with every step of its length.
    """
    length = min(sys.get_int_max_str_digits() or _MAX_DIGITS, _MAX_DIGITS)
    step = length + 1
    for place in range(length, len(line), step):
        if line[place] not in _DIGITS:
            continue
        before = line[max(0, place - length) : place]
        count = len(before) - len(before.rstrip(_DIGITS))
        after = line[place : place + step]
        count += len(after) - len(after.lstrip(_DIGITS))
        if count > length:
            return True
    return False


def _refuse_constant(_token: str) -> NoReturn:
    raise ProfileError("constant")


def _long_int(token: str) -> int:
    """The value of an integer token, without the interpreter's limit on digits."""
    digits = token.removeprefix("-")
    if len(digits) > _MAX_DIGITS:
        raise ProfileError("int_range")
    value = 0
    for place in range(0, len(digits), _SAFE_DIGITS):
        part = digits[place : place + _SAFE_DIGITS]
        value = value * 10 ** len(part) + int(part)
    return -value if token != digits else value


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ProfileError("duplicate")
    return members


_PLAIN = scanner(Hooks(parse_constant=_refuse_constant))
_UNIQUE = scanner(
    Hooks(parse_constant=_refuse_constant, object_pairs_hook=_unique_object)
)
# For lines with endless numbers: each integer token costs a call.
_LONG = scanner(Hooks(parse_constant=_refuse_constant, parse_int=_long_int))
_UNIQUE_LONG = scanner(
    Hooks(
        parse_constant=_refuse_constant,
        object_pairs_hook=_unique_object,
        parse_int=_long_int,
    )
)
