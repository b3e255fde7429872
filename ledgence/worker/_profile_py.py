"""The pure twin: the JSON profile of json-profile.md, complete, in Python.

Every function has two ways. The quick way checks in one walk, in whatever order is
fast, only that nothing can be wrong (exact types, ranges, depth, and that nodes and
code points fit the budget), and leaves the text to the standard library's encoder.
Where anything is or may be wrong, the reference walk of ``_profile_py_walk`` repeats
the matter in the order of section 2.2 and finds the reason and the path; if it finds
none, it writes the text itself (section 2.4 allows this).

The quick way stops as soon as the budget is passed, so shared containers, cycles and
big strings cost no more time or memory than the limit allows.
"""

from __future__ import annotations

from ledgence.worker._exceptions import ProfileError
from ledgence.worker._profile_py_json import encoder, quote, utf8, utf8_size
from ledgence.worker._profile_py_loads import loads, thaw
from ledgence.worker._profile_py_walk import INT_MAX, INT_MIN, real_type, walk

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ledgence.worker._profile_py_json import Encoder

    Judge = Callable[[Any, type[object]], int]

__all__ = [
    "ProfileError",
    "check",
    "check_wire",
    "encode",
    "encode_frame",
    "fingerprint",
    "fit_error",
    "freeze",
    "loads",
    "thaw",
]

_NO_LIMIT = 2**63
_TROUBLE = 2 * _NO_LIMIT  # more than any budget
# One digit of an int: such operands compare fastest.
_SMALL_MAX = 2**30 - 1
_SMALL_MIN = -_SMALL_MAX
_MESSAGE_CODE_POINTS = 512  # section 8: what is taken of a message
_MOST_DEPTH = 127  # what the compiled twin can hold


def encode(
    value: Any, limit: int, *, max_depth: int = 64, received: bool = False
) -> bytes:
    """The canonical bytes of a value (sections 2 and 3).

    Args:
        value: None or an exact bool, str, int, float, dict, list or tuple.
        limit: The most bytes of UTF-8, at least 0.
        max_depth: How many containers may be inside each other, 0 to 127.
        received: Count floats as the server does (section 4).

    Returns:
        Compact JSON in UTF-8, the members of each object sorted by name.

    Raises:
        ProfileError: ``bytes``, ``depth``, ``cycle``, ``type``, ``key_type``,
            ``surrogate``, ``int_range`` or ``non_finite``, with the path.
        TypeError: ``limit`` or ``max_depth`` is no int.
        ValueError: ``max_depth`` is not from 0 to 127.
    """
    found = _quick(_SORTED, value, limit, max_depth, _refused)
    if isinstance(found, bytes) and len(found) <= limit:
        return found
    return _canonical(found, value, limit, max_depth, received=received)


def check(
    value: Any, limit: int, *, max_depth: int = 64, received: bool = False
) -> int:
    """The length of what ``encode`` would return; same arguments, same errors."""
    return len(encode(value, limit, max_depth=max_depth, received=received))


def freeze(
    value: Any, limit: int, *, max_depth: int = 64, received: bool = False
) -> Any:
    """An independent copy of a value, of exact types only (section 5).

    Tuples become lists, members come out in sorted order, parts that were shared are
    separate. Same arguments and errors as ``encode``.
    """
    return thaw(encode(value, limit, max_depth=max_depth, received=received))


def fingerprint(
    value: Any, limit: int, *, max_depth: int = 96, received: bool = False
) -> str:
    """The lower-case hex SHA-256 of ``encode`` (section 6); the same errors."""
    return _sha256(encode(value, limit, max_depth=max_depth, received=received))


def check_wire(value: Any, *, max_depth: int = 64) -> None:
    """Refuse what no frame can carry (section 7).

    There is no budget: this is for values that are small or bounded otherwise.

    Args:
        value: As for ``encode``, and instances of subclasses.
        max_depth: How many containers may be inside each other, 0 to 127.

    Raises:
        ProfileError: As ``encode``, except ``bytes``.
    """
    if _quick(_ITERATED, value, _NO_LIMIT, max_depth, _held) is None:
        _reference(value, None, max_depth, exact=False)


def encode_frame(value: dict[str, Any], limit: int, *, max_depth: int = 65) -> bytes:
    """One frame: compact JSON in the order of the members, and a newline (section 7).

    Args:
        value: The frame; instances of subclasses are spelled by what they hold.
        limit: The most bytes of UTF-8, the newline included.
        max_depth: How many containers may be inside each other, the frame counted.

    Returns:
        The bytes of the line.

    Raises:
        ProfileError: As ``encode``.
    """
    found = _quick(_ITERATED, value, limit, max_depth, _held)
    if isinstance(found, bytes) and len(found) < limit:
        return found + b"\n"
    if found is None:
        out = bytearray()
        _reference(value, limit, max_depth, exact=False, out=out)
        out += b"\n"
        if len(out) <= limit:
            return bytes(out)
        size = len(out)
    else:
        _reference(value, limit, max_depth, exact=False)
        size = _size(found) + 1
    raise ProfileError("bytes", "$", limit, size)


def fit_error(
    envelope: dict[str, Any],
    kind: str,
    message: str,
    limit: int,
    *,
    status: str = "error",
) -> dict[str, Any]:
    """A failure whose message is cut to what its frame can hold (section 8).

    Args:
        envelope: The members before ``status``; not changed.
        kind: The kind of the failure.
        message: Any text. Its first 512 code points count; a surrogate is replaced
            by ``?``; what does not fit is left out.
        limit: The most bytes of the frame, the newline included.
        status: The status of the result.

    Returns:
        A new dict: the envelope, ``status`` and ``error``.

    Raises:
        ProfileError: ``bytes`` at ``$`` if not even an empty text fits, or what is
            wrong with the envelope.
    """
    failure = {"kind": kind, "message": ""}
    frame = {**envelope, "status": status, "error": failure}
    try:
        fixed = len(encode_frame(frame, limit))
    except ProfileError as error:
        if error.reason != "bytes":
            raise
        raise ProfileError("bytes", "$", limit, error.size) from None
    failure["message"] = _prefix(message, limit - fixed)
    return frame


def _prefix(message: str, room: int) -> str:
    """The longest prefix whose JSON text has at most ``room`` bytes, quotes aside."""
    text = str.__getitem__(message, slice(_MESSAGE_CODE_POINTS))
    text = text.encode("utf-8", "replace").decode()
    text = text[:room]  # a code point has a byte at least
    if len(quote(text).encode()) - 2 <= room:
        return text
    end = 0
    for width in (64, 8, 1):
        # Ends inside the text, which is too long as a whole.
        while (cost := len(quote(text[end : end + width]).encode()) - 2) <= room:
            room -= cost
            end += width
    return text[:end]


def _quick(
    write: Encoder | None, value: Any, limit: int, max_depth: int, other: Judge
) -> bytes | str | None:
    """The JSON text of a value in which nothing is wrong, else maybe None.

    A text that is too long is left as it is: only its size is asked for.
    """
    if type(limit) is not int or type(max_depth) is not int:
        _check_integers(limit=limit, max_depth=max_depth)
    if not 0 <= max_depth <= _MOST_DEPTH:
        raise ValueError(f"max_depth must be from 0 to {_MOST_DEPTH}, got {max_depth}")
    try:
        # The value as the only item of an array, whose brackets are not counted.
        if _plain_items((value,), limit + 1, max_depth, other) < 0:
            return None
        text = _text(write, value)
        return utf8(text) if text is not None and len(text) <= limit else text
    except (UnicodeEncodeError, RecursionError):
        # A surrogate; or a caller deep in its own stack.
        return None


def _check_integers(**arguments: object) -> None:
    for name, value in arguments.items():
        if not isinstance(value, int):
            raise TypeError(f"{name} must be an int, got {type(value).__name__}")


def _text(write: Encoder | None, value: Any) -> str | None:
    if write is None:
        return None
    try:
        return "".join(write(value, 0))
    except (ValueError, RecursionError):
        # NaN or an infinity; or, again, a deep caller.
        return None


def _plain_items(
    items: list[Any] | tuple[Any, ...], budget: int, room: int, other: Judge
) -> int:
    """Take an array's text from the budget; below zero is trouble of any kind.

    What is taken is the least that the text can be: a byte for a number, quotes and a
    byte for each code point of a string. No value is refused for it that the contract
    accepts, as a float adds no more to the allowance than it has bytes above one.
    Cycles need no test of their own: they end at the depth.

    Args:
        items: The array; a byte of it is paid for already, as of any node.
        budget: The bytes that are left.
        room: How many containers may be inside each other, this one counted.
        other: What an object of no exact type takes, itself paid for.
    """
    budget -= 2 * len(items) or 1
    if budget < 0 or room < 0:
        return -1
    # A snapshot: another thread may append as fast as this loop goes on.
    for item in tuple(items):
        kind = real_type(item)
        if kind is str:
            budget -= len(item) + 1
        elif kind is dict:
            budget = _plain_members(item, budget, room - 1, other)
            if budget < 0:
                return -1
        elif kind is int:
            # Two quick comparisons of small integers for nearly every one.
            if (item > _SMALL_MAX or item < _SMALL_MIN) and not (
                INT_MIN <= item <= INT_MAX
            ):
                return -1
        elif item is None or kind is float or kind is bool:
            pass
        elif kind is list or kind is tuple:
            budget = _plain_items(item, budget, room - 1, other)
            if budget < 0:
                return -1
        else:
            budget -= other(item, kind)
    return budget


def _plain_members(
    members: dict[Any, Any], budget: int, room: int, other: Judge
) -> int:
    """Take an object's text from the budget, as ``_plain_items``."""
    budget -= 5 * len(members) or 1
    if budget < 0 or room < 0:
        return -1
    for name, item in members.items():
        if type(name) is str:
            budget -= len(name)
        elif issubclass(type(name), str):
            budget -= other(name, real_type(name)) - 1
        else:
            return -1
        kind = real_type(item)
        if kind is str:
            budget -= len(item) + 1
        elif kind is dict:
            budget = _plain_members(item, budget, room - 1, other)
            if budget < 0:
                return -1
        elif kind is int:
            if (item > _SMALL_MAX or item < _SMALL_MIN) and not (
                INT_MIN <= item <= INT_MAX
            ):
                return -1
        elif item is None or kind is bool or kind is float:
            pass
        elif kind is list or kind is tuple:
            budget = _plain_items(item, budget, room - 1, other)
            if budget < 0:
                return -1
        else:
            budget -= other(item, kind)
    return budget


def _refused(_item: Any, _kind: type[object]) -> int:
    """Under the canonical rules any object of another type is trouble."""
    return _TROUBLE


def _held(item: Any, kind: type[object]) -> int:
    """Under the wire rules scalars of subclasses are spelled by what they hold.

    Only methods of the built-in types are called: the object is never asked.
    """
    if issubclass(kind, str):
        return str.__len__(item) + 1
    if issubclass(kind, int):
        fits = int.__ge__(item, INT_MIN) and int.__le__(item, INT_MAX)
        return 0 if fits else _TROUBLE
    return 0 if issubclass(kind, float) else _TROUBLE


def _canonical(
    found: bytes | str | None, value: Any, limit: int, max_depth: int, *, received: bool
) -> bytes:
    """What ``encode`` does where the quick way ended; ``found`` is what it wrote."""
    allowance = _reference(value, limit, max_depth)
    if found is None:
        found = _text(_SORTED, value)
    if found is None:
        out = bytearray()
        _reference(value, limit, max_depth, ordered=True, out=out)
        found = bytes(out)
    size = _size(found)
    if size > (limit + allowance if received else limit):
        raise ProfileError("bytes", "$", limit, size)
    return found if isinstance(found, bytes) else utf8(found)


def _size(text: bytes | str) -> int:
    return len(text) if isinstance(text, bytes) else utf8_size(text)


def _reference(
    value: Any,
    limit: int | None,
    max_depth: int,
    *,
    exact: bool = True,
    ordered: bool = False,
    out: bytearray | None = None,
) -> int:
    try:
        return walk(value, limit, max_depth, exact=exact, ordered=ordered, out=out)
    except RecursionError:
        # Not even this walk has the few frames that it needs.
        raise ProfileError("depth", "$", max_depth) from None


_SORTED = encoder(ordered=True)
_ITERATED = encoder(ordered=False)


def _sha256(data: bytes) -> str:
    # Private modules first: a program may have a hashlib of its own.
    for module in ("_sha2", "_sha256", "hashlib"):
        try:
            digest = __import__(module).sha256(data).hexdigest()
        except ImportError:
            continue
        return str(digest)
    raise ImportError("hashlib")
