"""How the place of a value is spelled in an error, once for both twins.

json-profile.md, section 1: ``$`` for the root, ``[3]`` for an item, ``.name`` for a
member whose name is an ASCII identifier, else ``["..."]`` with the name as an ASCII
JSON string. Of a name longer than 64 code points the first 64 and ``...`` count as
the name, so that a path stays short whatever the names are.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["spell"]

_NAME_CODE_POINTS = 64

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def spell(parts: Iterable[int | str]) -> str:
    """Spell the path of a node.

    Args:
        parts: The steps from the root: an int for the index of an item, a str (or
            an instance of a subclass) for the whole raw name of a member.

    Returns:
        The path, for example ``$.orders[3]["a b"]``.
    """
    out = ["$"]
    for part in parts:
        # By the real type, as everywhere in the profile: a name may be an instance
        # of a subclass with a __class__ or a __format__ of its own.
        if issubclass(type(part), str):
            out.append(_member(part))  # type: ignore[arg-type] # issubclass narrows types only
        else:
            out.append(f"[{part}]")
    return "".join(out)


def _member(name: str) -> str:
    short = str.__getitem__(name, slice(_NAME_CODE_POINTS))
    if str.__len__(name) > _NAME_CODE_POINTS:
        short += "..."
    # An exact str now: slicing does not keep a subclass.
    if short.isascii() and short.isidentifier():
        return "." + short
    return '["' + "".join(map(_escaped, short)) + '"]'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    if 0x20 <= code < 0x7F:
        return char
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"
