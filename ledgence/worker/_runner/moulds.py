"""Cheap fresh objects of a costly base class: its first look is copied.

The constructor of a standard event loop takes as long as a small invocation. All that
it leaves behind are constants and empty collections.
"""

from collections import deque

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any


class Late:
    """A collection of a loop that is made when it is first asked for."""

    def __init__(self, kind: "type[Any]") -> None:
        self._kind = kind
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, loop: object, owner: type) -> "Any":
        made = loop.__dict__[self._name] = self._kind()
        return made


class Mould:
    """What the base class gives a new loop: seen once, then copied.

    Attributes:
        is_made: Whether loops can be filled from it.
    """

    def __init__(self) -> None:
        self.is_made = False
        self._plain: dict[str, object] = {}
        self._empty: list[tuple[str, type[object]]] = []

    def make(self, loop: object, own: "Container[str]") -> None:
        """Learn from a loop that is just made; not if it holds anything else.

        Args:
            loop: The loop.
            own: The names of what it gives itself each time.
        """
        plain: dict[str, object] = {}
        empty: list[tuple[str, type[object]]] = []
        fields: dict[str, object] = loop.__dict__
        for name, value in fields.items():
            kind = type(value)
            if value is None or kind in (bool, int, float):
                plain[name] = value
            elif kind in (dict, list, set, deque) and not value:
                empty.append((name, kind))
            elif name not in own and (
                value or type(vars(type(loop)).get(name)) is not Late
            ):
                return
        self._plain, self._empty, self.is_made = plain, empty, True

    def fill(self, fields: "dict[str, Any]") -> None:
        """Give a loop the fields that it would have."""
        fields.update(self._plain)
        for name, kind in self._empty:
            fields[name] = kind()


MOULD = Mould()
