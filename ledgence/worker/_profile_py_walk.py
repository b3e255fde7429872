"""The reference walk: every test of the profile, in the order of the contract.

json-profile.md, sections 2.2 (phase 1) and 7 (wire rules). The walk keeps its own
stack, so it needs no recursion, and it knows where it is, so it can say where a value
fails. The pure twin comes here when its quick path met trouble of any kind, and for
values which the quick path does not know: containers of subclasses under wire rules.
"""

from __future__ import annotations

from itertools import islice

from ledgence.worker._exceptions import ProfileError
from ledgence.worker._profile_path import spell
from ledgence.worker._profile_py_json import quote, utf8_size

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

__all__ = ["INT_MAX", "INT_MIN", "real_type", "walk"]

INT_MIN = -(2**63)
INT_MAX = 2**64 - 1
_SHORTEST_FLOAT = 3  # bytes of the shortest float token of the server, section 4
_NO_LIMIT = 2**63  # more than any walk can charge
_INFINITY = float("inf")
_END = object()
_PIECE = 1 << 14  # code points of a long text that are written at once

# What of a container that was walked is worth remembering, and how much of it.
_SEEN_CHARGE = 32
_SEEN_CONTAINERS = 512

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
    """A container that is being walked, and the state of the walk at its opening."""

    __slots__ = (
        "allowance",
        "children",
        "container",
        "height",
        "hooks",
        "is_object",
        "place",
        "remaining",
        "started",
        "step",
    )

    def __init__(
        self, container: Any, children: Iterator[tuple[Any, Any]], *, is_object: bool
    ) -> None:
        self.container = container  # held, so that its identity stays its own
        self.children = children
        self.is_object = is_object
        self.step: Any = 0  # the index or name of the child in hand
        self.started = False  # whether there was a child before
        self.height = 1  # the containers inside each other here, this one counted
        self.hooks = False  # whether user code told what is inside
        self.remaining = 0
        self.allowance = 0
        self.place = 0


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
        "seen",
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
        # By identity: the container, and what walking it once has come to.
        self.seen: dict[int, tuple[Any, int, int, int, int, int]] = {}

    def run(self, value: Any) -> int:
        # The root is the only child of a frame that is in no path.
        frame = root = _Open(None, iter([(0, value)]), is_object=False)
        while True:
            item = self.scalars(frame)
            if item is not _END:
                frame = self.enter(item, frame)
            elif frame is root:
                return self.allowance
            else:
                frame = self.leave(frame, root)

    def scalars(self, frame: _Open) -> Any:
        """Visit children up to the next container, which is returned, or the end."""
        out = self.out
        for step, item in frame.children:
            if frame.is_object:
                self.name(step, frame)
            elif out is not None and frame.started:
                out += b","
            frame.started = True
            frame.step = step
            # Steps 1 to 6 of section 2.2. Types are compared by identity alone: a
            # metaclass may define equality.
            self.remaining -= 1
            if self.remaining < 0:
                raise self.fault("bytes", frame, self.limit)
            kind = real_type(item)
            if kind is str:
                self.text(item, frame)
            elif item is None:
                if out is not None:
                    out += b"null"
            elif kind is bool:
                if out is not None:
                    out += b"true" if item else b"false"
            elif kind is int:
                if not INT_MIN <= item <= INT_MAX:
                    raise self.fault("int_range", frame)
                if out is not None:
                    out += b"%d" % item
            elif kind is float:
                self.real(item, frame)
            elif kind is dict or kind is list or kind is tuple:
                return item
            elif self.exact or not self.subclass(item, kind, frame):
                if self.exact or not issubclass(kind, (dict, list, tuple)):
                    raise self.fault("type", frame)
                return item
        return _END

    def subclass(self, item: Any, kind: type[object], frame: _Open) -> bool:
        """Visit a scalar of a subclass by what it holds; False for other objects.

        Only methods of the built-in types are called: the object is never asked.
        """
        if issubclass(kind, str):
            self.text(item, frame)
        elif issubclass(kind, int):
            if not (int.__ge__(item, INT_MIN) and int.__le__(item, INT_MAX)):
                raise self.fault("int_range", frame)
            if self.out is not None:
                self.out += int.__repr__(item).encode()
        elif issubclass(kind, float):
            self.real(float.__float__(item), frame)
        else:
            return False
        return True

    def name(self, name: Any, frame: _Open) -> None:
        """Step 9 of section 2.2; a fault of the name is at the object that holds it."""
        kind = real_type(name)
        if kind is not str and (self.exact or not issubclass(kind, str)):
            raise self.fault("key_type", None)
        self.remaining -= 1
        if self.remaining < 0:
            raise self.fault("bytes", None, self.limit)
        if self.out is None:
            self.text(name, None)
            return
        if frame.started:
            self.out += b","
        self.text(name, None)
        self.out += b":"

    def text(self, text: Any, frame: _Open | None) -> None:
        """The string rule: count, scan, charge; nothing is copied before the count."""
        if str.__len__(text) > self.remaining:
            raise self.fault("bytes", frame, self.limit)
        raw = str.__str__(text)
        try:
            self.remaining -= utf8_size(raw)
        except UnicodeEncodeError:
            raise self.fault("surrogate", frame) from None
        if self.remaining < 0:
            raise self.fault("bytes", frame, self.limit)
        if self.out is not None:
            self.out += b'"'
            for start in range(0, len(raw), _PIECE):
                piece = quote(raw[start : start + _PIECE])
                self.out += piece.encode()[1:-1]
            self.out += b'"'

    def real(self, number: float, frame: _Open) -> None:
        if not -_INFINITY < number < _INFINITY:
            raise self.fault("non_finite", frame)
        token = float.__repr__(number).encode()
        self.allowance += max(0, len(token) - _SHORTEST_FLOAT)
        if self.out is not None:
            self.out += token

    def enter(self, item: Any, frame: _Open) -> _Open:
        """Steps 7 and 8 of section 2.2; returns the frame to go on with."""
        depth = len(self.open)
        if depth >= self.max_depth:
            raise self.fault("depth", frame, self.max_depth)
        for holder in self.open:
            if holder.container is item:
                raise self.fault("cycle", frame)
        seen = self.seen.get(id(item))
        if seen is not None:
            _, height, charge, allowance, start, end = seen
            # A part that is shared: it would pass again, so it is not walked again.
            if depth + height <= self.max_depth and charge <= self.remaining:
                self.remaining -= charge
                self.allowance += allowance
                frame.height = max(frame.height, height + 1)
                if self.out is not None:
                    self.out += self.out[start:end]
                return frame
        inner = self.opened(item)
        inner.remaining = self.remaining
        inner.allowance = self.allowance
        if self.out is not None:
            inner.place = len(self.out)
            self.out += b"{" if inner.is_object else b"["
        self.open.append(inner)
        return inner

    def opened(self, item: Any) -> _Open:
        kind = real_type(item)
        items: Iterable[Any] = item
        if issubclass(kind, dict):
            members: Iterable[tuple[Any, Any]] = item.items()
            if self.ordered:
                members = sorted(members)
            inner = _Open(item, iter(members), is_object=True)
        else:
            if kind is list:
                # Never more than it holds now: another thread may append as fast as
                # this walk goes on.
                items = islice(items, len(item))
            inner = _Open(item, enumerate(items), is_object=False)
        inner.hooks = not (kind is dict or kind is list or kind is tuple)
        return inner

    def leave(self, frame: _Open, root: _Open) -> _Open:
        """Close a container; returns the frame around it."""
        if self.out is not None:
            self.out += b"}" if frame.is_object else b"]"
        self.open.pop()
        outer = self.open[-1] if self.open else root
        outer.height = max(outer.height, frame.height + 1)
        charge = frame.remaining - self.remaining
        if frame.hooks:
            outer.hooks = True
        elif charge >= _SEEN_CHARGE:
            if len(self.seen) >= _SEEN_CONTAINERS:
                self.seen.clear()
            self.seen[id(frame.container)] = (
                frame.container,
                frame.height,
                charge,
                self.allowance - frame.allowance,
                frame.place,
                0 if self.out is None else len(self.out),
            )
        return outer

    def fault(
        self, reason: str, frame: _Open | None, limit: int | None = None
    ) -> ProfileError:
        """The error of the child in hand; of the object that holds it for None."""
        steps = [holder.step for holder in self.open]
        if frame is None:
            steps.pop()
        return ProfileError(reason, spell(steps), limit)
