"""The reference walk: every test of the profile, in the order of the contract.

json-profile.md, sections 2.2 (phase 1) and 7 (wire rules). The walk keeps its own
stack, so it needs no recursion, and it knows where it is, so it can say where a value
fails. The pure twin comes here when its quick path met trouble of any kind, and for
values which the quick path does not know: instances of subclasses under wire rules.
"""

from __future__ import annotations

from itertools import islice

from ledgence.worker._exceptions import ProfileError
from ledgence.worker._profile_path import spell
from ledgence.worker._profile_py_json import quote

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["INT_MAX", "INT_MIN", "real_type", "walk"]

INT_MIN = -(2**63)
INT_MAX = 2**64 - 1
_SHORTEST_FLOAT = 3  # bytes of the shortest float token of the server, section 4
_NO_LIMIT = 2**63  # more than any walk can charge
_INFINITY = float("inf")
_END = object()

# The type itself, which no __class__ can hide; for checkers its result is not unknown.
real_type: Callable[[Any], type[object]] = type


def walk(
    value: Any,
    limit: int | None,
    max_depth: int,
    *,
    exact: bool = True,
    ordered: bool = False,
    out: bytearray | None = None,
) -> int:
    """Visit every node as section 2.2 says and refuse at the first failed test.

    Args:
        value: The value.
        limit: The budget in bytes; None for no budget (``check_wire``).
        max_depth: How many containers may be inside each other.
        exact: The canonical rules (exact types only), else the wire rules.
        ordered: Visit the members of an object by name. This writes canonical
            text, but of several faults another one may be met first.
        out: Where to write the JSON text of the value, if anywhere.

    Returns:
        The allowance of received mode in bytes (section 4).

    Raises:
        ProfileError: With the reason, and the path of the node that failed.
    """
    steps = _Walk(limit, max_depth, exact=exact, ordered=ordered, out=out)
    return steps.run(value)


class _Open:
    """A container that is being walked; held here, so its identity stays its own."""

    __slots__ = ("children", "container", "is_object", "started", "step")

    def __init__(
        self, container: Any, children: Iterator[Any], *, is_object: bool
    ) -> None:
        self.container = container
        self.children = children
        self.is_object = is_object
        self.started = False
        self.step: int | str = 0  # the child in hand


class _Walk:
    __slots__ = (
        "allowance",
        "exact",
        "limit",
        "max_depth",
        "open",
        "ordered",
        "out",
        "remaining",
    )

    def __init__(
        self,
        limit: int | None,
        max_depth: int,
        *,
        exact: bool,
        ordered: bool,
        out: bytearray | None,
    ) -> None:
        self.limit = limit
        self.remaining = _NO_LIMIT if limit is None else limit
        self.max_depth = max_depth
        self.exact = exact
        self.ordered = ordered
        self.out = out
        self.open: list[_Open] = []
        self.allowance = 0

    def run(self, value: Any) -> int:
        self.visit(value, real_type(value))
        stack = self.open
        while stack:
            holder = stack[-1]
            child: Any = next(holder.children, _END)
            if child is _END:
                stack.pop()
                self.write(b"}" if holder.is_object else b"]")
                continue
            if holder.is_object:
                name, item = child
                self.name(name, real_type(name), holder)
            else:
                item = child
                if holder.started:
                    self.write(b",")
                    holder.step += 1  # type: ignore[operator] # an array counts
            holder.started = True
            self.visit(item, real_type(item))
        return self.allowance

    def visit(self, item: Any, kind: type[object]) -> None:
        """Steps 1 to 8 of section 2.2 for one node; ``kind`` is its real type."""
        self.charge(1, None)
        exact = self.exact
        # Types are compared by identity alone: a metaclass may define equality.
        if item is None:
            self.write(b"null")
        elif kind is bool:
            self.write(b"true" if item else b"false")
        elif kind is str or (not exact and issubclass(kind, str)):
            self.text(item, None)
        elif kind is int or (not exact and issubclass(kind, int)):
            # Methods of int itself: an instance of a subclass is never asked.
            if not (int.__ge__(item, INT_MIN) and int.__le__(item, INT_MAX)):
                raise self.fault("int_range", None)
            self.write(int.__repr__(item).encode())
        elif kind is float or (not exact and issubclass(kind, float)):
            number = float.__float__(item)
            if not -_INFINITY < number < _INFINITY:
                raise self.fault("non_finite", None)
            token = float.__repr__(number).encode()
            self.allowance += max(0, len(token) - _SHORTEST_FLOAT)
            self.write(token)
        elif kind is dict or (not exact and issubclass(kind, dict)):
            self.enter(item, is_object=True)
        elif (
            kind is list
            or kind is tuple
            or (not exact and issubclass(kind, (list, tuple)))
        ):
            self.enter(item, is_object=False)
        else:
            raise self.fault("type", None)

    def enter(self, item: Any, *, is_object: bool) -> None:
        if len(self.open) >= self.max_depth:
            raise self.fault("depth", None, self.max_depth)
        for holder in self.open:
            if holder.container is item:
                raise self.fault("cycle", None)
        if is_object:
            members = item.items()
            children = iter(sorted(members) if self.ordered else members)
        elif real_type(item) is list:
            # Never more than it holds now: another thread may append as fast as
            # this walk goes on.
            children = islice(item, len(item))
        else:
            children = iter(item)
        self.write(b"{" if is_object else b"[")
        self.open.append(_Open(item, children, is_object=is_object))

    def name(self, name: Any, kind: type[object], holder: _Open) -> None:
        """Step 9 of section 2.2; a fault of the name is at the object that holds it."""
        if kind is not str and (self.exact or not issubclass(kind, str)):
            raise self.fault("key_type", holder)
        self.charge(1, holder)
        if holder.started:
            self.write(b",")
        self.text(name, holder)
        self.write(b":")
        holder.step = name

    def text(self, text: Any, holder: _Open | None) -> None:
        """The string rule: count, scan, charge; nothing is copied before the count."""
        if str.__len__(text) > self.remaining:
            raise self.fault("bytes", holder, self.limit)
        raw = str.__str__(text)
        size = len(raw) if raw.isascii() else _utf8_size(raw)
        if size < 0:
            raise self.fault("surrogate", holder)
        self.charge(size, holder)
        if self.out is not None:
            self.out += quote(raw).encode()

    def charge(self, size: int, holder: _Open | None) -> None:
        self.remaining -= size
        if self.remaining < 0:
            raise self.fault("bytes", holder, self.limit)

    def write(self, token: bytes) -> None:
        if self.out is not None:
            self.out += token

    def fault(
        self, reason: str, holder: _Open | None, limit: int | None = None
    ) -> ProfileError:
        """The error of the node in hand, or of the object that holds it."""
        steps = [each.step for each in self.open if each is not holder]
        return ProfileError(reason, spell(steps), limit)


def _utf8_size(text: str) -> int:
    """The length in UTF-8, or -1 where there is none."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return -1
