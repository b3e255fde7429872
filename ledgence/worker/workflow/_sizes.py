"""The size meter: how full the limits are, and what makes a value large.

Nothing here encodes: sizes that the library has anyway are compared with their limits,
and after a refusal a second, bounded walk finds the largest parts.
"""

from __future__ import annotations

from ledgence.worker._profile_path import spell
from ledgence.worker.workflow._kinds import is_dict, is_sequence
from ledgence.worker.workflow._limits import WARNING_PERCENT

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeAlias

    _Part: TypeAlias = tuple[int, bool, "Sequence[tuple[int | str, _Part]]"]
    _Entry: TypeAlias = tuple[tuple[int | str, ...], _Part]

_WALK_FACTOR = 4  # steps of the second walk, in limits
_NAMED = 3  # sub-paths that an error names
_OPENED = 128  # containers that are looked into to find them
_DEPTH = 128
_ESCAPED_SHORT = '"\\\b\t\n\f\r'
_ESCAPED_LONG = "".join(
    chr(code) for code in range(0x20) if chr(code) not in _ESCAPED_SHORT
)


class Meter:
    """Warns once per activation and resource when a limit is nearly reached."""

    __slots__ = ("_warned",)

    if TYPE_CHECKING:
        _warned: set[str]

    def note(self, resource: str, size: int, limit: int) -> None:
        """Compare a size in bytes with its limit; log a warning from 80 % on."""
        if size * 100 < limit * WARNING_PERCENT:
            return
        # Made late: an activation that stays below pays nothing for it.
        if not hasattr(self, "_warned"):
            self._warned = set()
        if resource not in self._warned:
            self._warned.add(resource)
            _warn(resource, size, limit)


def _warn(resource: str, size: int, limit: int) -> None:
    from ledgence.worker._logs import get_logger  # noqa: PLC0415 # logging is loaded only by activations that come near a limit

    get_logger("ledgence.worker.workflow").warning(
        "workflow %s: %d of %d bytes are used",
        resource,
        size,
        limit,
        extra={"attributes": {"resource": resource, "size": size, "limit": limit}},
    )


def largest(value: object, limit: int) -> tuple[dict[str, object], ...]:
    """Find the parts that make a value large.

    Args:
        value: Any object; what is no JSON counts nothing.
        limit: The limit that was passed. The walk takes at most 4 x limit steps (one
            for each container, scalar and code point of a text); sizes that it could
            not finish are lower bounds. No text is copied.

    Returns:
        Up to three dicts with ``path``, ``size`` (bytes of canonical JSON) and
        ``exact``, the largest first; no part contains another. A container is
        named instead of its parts when none of them is a quarter of it.
    """
    chosen: list[_Entry] = []
    waiting: list[_Entry] = [((), _Walk(_WALK_FACTOR * limit).measure(value))]
    opened = 0
    while waiting and len(chosen) < _NAMED:
        place, part = entry = max(waiting, key=lambda entry: entry[1][0])
        waiting.remove(entry)
        size, _, parts = part
        is_worth_it = not place or any(4 * child[0] >= size for _, child in parts)
        if parts and is_worth_it and opened < _OPENED:
            opened += 1
            waiting.extend(((*place, step), child) for step, child in parts)
        else:
            chosen.append(entry)
    return tuple(
        {"path": spell(place), "size": size, "exact": exact}
        for place, (size, exact, _) in chosen
    )


class _Walk:
    """One walk with a budget of steps.

    A measured part is (size, exact, its largest children with their steps).
    """

    __slots__ = ("_left", "_open")

    def __init__(self, steps: int) -> None:
        self._left = steps
        self._open: set[int] = set()

    def measure(self, value: object) -> _Part:
        self._left -= 1
        kind = type(value)
        if self._left < 0:
            return 0, False, ()
        if kind is str:
            return *self._text(value), ()  # type: ignore[arg-type,unused-ignore] # narrowed by the exact type
        if kind is dict or kind is list or kind is tuple:
            return self._container(value)
        return _scalar(value), True, ()

    def _text(self, value: str) -> tuple[int, bool]:
        size = len(value) + 2
        if len(value) > self._left:
            return size, False
        self._left -= len(value)
        size += sum(map(value.count, _ESCAPED_SHORT))
        if not value.isprintable():
            size += 5 * sum(map(value.count, _ESCAPED_LONG))
        if not value.isascii():
            size += sum(map(_wide, value))
        return size, True

    def _container(self, value: Any) -> _Part:
        # The profile refuses cycles and deep nesting; this walk only must not loop.
        if id(value) in self._open or len(self._open) >= _DEPTH:
            return 0, False, ()
        self._open.add(id(value))
        size, all_exact = 2 + max(len(value) - 1, 0), True
        parts: list[tuple[int | str, _Part]] = []
        for step, item in _children(value):
            if type(step) is str:
                name_size, exact = self._text(step)
                size += name_size + 1
                all_exact = all_exact and exact
            part = self.measure(item)
            size += part[0]
            all_exact = all_exact and part[1]
            if len(parts) < _NAMED or part[0] > parts[-1][1][0]:
                parts = sorted([*parts, (step, part)], key=_size_of, reverse=True)
                del parts[_NAMED:]
            if self._left < 0:
                break
        self._open.discard(id(value))
        return size, all_exact, parts


def _size_of(entry: tuple[int | str, _Part]) -> int:
    return entry[1][0]


def _wide(char: str) -> int:
    """Count the UTF-8 bytes of a code point beyond its first."""
    return (char > "\x7f") + (char > "\u07ff") + (char > "\uffff")


def _scalar(value: object) -> int:
    kind = type(value)
    if value is None or kind is bool:
        return 5 if value is False else 4
    if kind is float or (kind is int and -(2**63) <= value < 2**64):  # type: ignore[operator,unused-ignore] # narrowed by the exact type
        return len(repr(value))
    return 0


def node_at(value: Any, path: str) -> Any:
    """Follow a spelled path into a value.

    A name that the path has cut leads nowhere; then the last object on the way is
    returned.
    """
    node, rest = value, path[1:]
    while rest:
        for step, child in _children(node):
            spelled = spell((step,))[1:]
            if rest.startswith(spelled) and rest[len(spelled) :][:1] in ("", ".", "["):
                node, rest = child, rest[len(spelled) :]
                break
        else:
            break
    return node


def _children(node: object) -> Iterable[tuple[int | str, Any]]:
    if is_dict(node):
        return ((name, item) for name, item in node.items() if type(name) is str)
    if is_sequence(node):
        return enumerate(node)
    return ()
