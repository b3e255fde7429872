"""Says what a JSON value must be made of, and finds the first place where it is not.

A shape is a function of a value and its place; it returns nothing or raises
``Misshapen``. Members that a shape does not name are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._values import pack
from ledgence.local._shapes import as_list, as_object
from ledgence.worker._profile_path import spell
from ledgence.worker.workflow._fields import describe

__all__ = [
    "VALUE_BYTES",
    "VALUE_DEPTH",
    "Misshapen",
    "Place",
    "Shape",
    "anything",
    "array",
    "by_member",
    "flag",
    "maybe",
    "members",
    "number",
    "object_",
    "text",
    "value",
]

# No part of a run is nearly as large; two parts together are shown and compared.
VALUE_BYTES: Final = 16_777_216
VALUE_DEPTH: Final = 127

Place: TypeAlias = tuple[int | str, ...]
Shape: TypeAlias = Callable[[Any, Place], None]


class Misshapen(Exception):
    """A value is not what its shape says.

    Attributes:
        path: Where, such as ``$.activations[0].context``.
        expected: What its shape says.
        got: What is there, in a few words.
    """

    def __init__(self, path: str, expected: str, got: str) -> None:
        super().__init__(path, expected, got)
        self.path = path
        self.expected = expected
        self.got = got


def _plain(expected: str, fits: Callable[[Any], bool]) -> Shape:
    def check(found: Any, place: Place) -> None:
        if not fits(found):
            raise Misshapen(spell(place), expected, describe(found))

    return check


text: Final = _plain("a text", lambda found: type(found) is str and found != "")
number: Final = _plain("an integer", lambda found: type(found) is int)
flag: Final = _plain("true or false", lambda found: type(found) is bool)
object_: Final = _plain("an object", lambda found: as_object(found) is not None)
_list: Final = _plain("a list", lambda found: as_list(found) is not None)


def anything(found: Any, place: Place) -> None:
    """Let every value pass."""


def value(found: Any, place: Place) -> None:
    """Let what is JSON pass, of a size and depth that can be shown and compared."""
    try:
        pack(found, VALUE_BYTES // 2 - 2, depth=VALUE_DEPTH - 1)
    except InvalidInput as error:
        path, expected, got = (
            str(error.details[one]) for one in ("path", "expected", "got")
        )
        raise Misshapen(spell(place) + path[1:], expected, got) from error


def maybe(shape: Shape) -> Shape:
    """Let null pass as well."""

    def check(found: Any, place: Place) -> None:
        if found is not None:
            shape(found, place)

    return check


def array(shape: Shape) -> Shape:
    """Let a list pass whose items have a shape."""

    def check(found: Any, place: Place) -> None:
        _list(found, place)
        for index, item in enumerate(found):
            shape(item, (*place, index))

    return check


def members(
    needed: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None
) -> Shape:
    """Let an object pass with these members, and any others."""
    allowed = {**needed, **(optional or {})}

    def check(found: Any, place: Place) -> None:
        object_(found, place)
        for name in needed:
            if name not in found:
                raise Misshapen(spell((*place, name)), "a member", "(absent)")
        for name, shape in allowed.items():
            if name in found:
                shape(found[name], (*place, name))

    return check


def by_member(name: str, shapes: Mapping[str, Shape]) -> Shape:
    """Let an object pass whose shape is told by one of its members."""
    tagged = members({name: _plain(" or ".join(shapes), lambda one: one in [*shapes])})

    def check(found: Any, place: Place) -> None:
        tagged(found, place)
        shapes[found[name]](found, place)

    return check
