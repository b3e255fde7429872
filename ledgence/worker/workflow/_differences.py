"""What differs between two bindings, field by field and bounded."""

from __future__ import annotations

from ledgence.worker._profile import thaw
from ledgence.worker._profile_path import spell
from ledgence.worker.workflow._kinds import is_dict, is_list

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ENTRIES = 8  # differences that are kept
_SHOWN = 80  # characters of a value that are shown
_ABSENT = object()


def differences(expected: bytes, got: bytes) -> tuple[dict[str, str], ...]:
    """Compare two values by their canonical bytes.

    Returns:
        At most eight dicts with ``path``, ``expected`` and ``got``, in the order of
        the members. Values are spelled as JSON and cut after 80 characters, larger
        containers by their length; ``(absent)`` stands for a missing one. Numbers of
        different class differ: ``1``, ``1.0`` and ``true``.
    """
    found: list[dict[str, str]] = []
    for place, left, right in _walk((), thaw(expected), thaw(got)):
        found.append(
            {"path": spell(place), "expected": _spelled(left), "got": _spelled(right)}
        )
        if len(found) == _ENTRIES:
            break
    return tuple(found)


def _walk(
    place: tuple[int | str, ...], left: object, right: object
) -> Iterator[tuple[tuple[int | str, ...], object, object]]:
    if is_dict(left) and is_dict(right):
        for name in sorted(left.keys() | right.keys()):
            inner = left.get(name, _ABSENT), right.get(name, _ABSENT)
            yield from _walk((*place, name), *inner)
    elif is_list(left) and is_list(right):
        for index in range(max(len(left), len(right))):
            inner = _item(left, index), _item(right, index)
            yield from _walk((*place, index), *inner)
    # repr tells 0.0 from -0.0; the types tell 1 from True.
    elif type(left) is not type(right) or repr(left) != repr(right):
        yield place, left, right


def _item(values: list[Any], index: int) -> object:
    return values[index] if index < len(values) else _ABSENT


def _spelled(value: object) -> str:
    if value is _ABSENT:
        return "(absent)"
    if is_dict(value):
        return f"an object of {len(value)}"
    if is_list(value):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        # Shown, not compared: what cannot be printed needs no exact spelling.
        cut = "".join(
            char if char.isprintable() else "\ufffd" for char in value[:_SHOWN]
        )
        return f'"{cut}"' + ("..." if len(value) > _SHOWN else "")
    if value is None:
        return "null"
    return repr(value).lower()  # also for true and false
