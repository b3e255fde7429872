"""How a payload is refused: what was expected where, and what was found.

A path is relative to the part that a function looks at; who called it puts its own
place in front with ``within``.
"""

from __future__ import annotations

from ledgence.worker._exceptions import ActivationError
from ledgence.worker._profile import ProfileError
from ledgence.worker._profile import check as profile_check
from ledgence.worker._profile import encode as profile_encode
from ledgence.worker._profile_path import spell
from ledgence.worker.workflow._fields import (
    describe,
    is_integer,
    is_object,
    is_text,
    listed,
)
from ledgence.worker.workflow._kinds import is_dict
from ledgence.worker.workflow._limits import MAX_TIMESTAMP, TEXT_BYTES

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from typing import Any


def invalid(path: str, expected: str, found: object) -> ActivationError:
    """Make the error for a part of a payload."""
    detail = f"expected {expected}, got {describe(found)}"
    return ActivationError("invalid_activation", detail, path=path)


def member(name: str) -> str:
    """Spell the path of a member."""
    return spell((name,))


def within(error: ActivationError, *place: int | str) -> ActivationError:
    """Put the place of the part before the path inside it."""
    error.path = spell(place) + (error.path or "$")[1:]
    return error


def encode(path: str, value: object, limit: int, depth: int) -> bytes:
    """Return the canonical bytes of a received value; refuse what is over a limit."""
    try:
        return profile_encode(value, limit, max_depth=depth, received=True)
    except ProfileError as error:
        raise _unfit(path, error) from None


def fit(path: str, size: int, value: object, limit: int, depth: int) -> None:
    """Refuse a value of a known size that is over its limit in received mode.

    A size within the limit needs no walk. Only a value that is longer here than the
    host may have spelled it is walked once more, to count what its floats allow.
    """
    if size > limit:
        try:
            profile_check(value, limit, max_depth=depth, received=True)
        except ProfileError as error:
            raise _unfit(path, error) from None


def _unfit(path: str, error: ProfileError) -> ActivationError:
    return ActivationError(
        "invalid_activation",
        str(ProfileError(error.reason)),
        path=path + (error.path or "$")[1:],
        limit=error.limit,
        size=error.size,
    )


def members(value: object, names: AbstractSet[str], path: str = "$") -> dict[str, Any]:
    """Return an object with exactly these members."""
    if not is_object(value, names):
        found = listed(value) if is_dict(value) else describe(value)
        detail = f"expected exactly {listed(names)}, got {found}"
        raise ActivationError("invalid_activation", detail, path=path)
    return value


def text(owner: dict[str, Any], name: str, limit: int = TEXT_BYTES) -> str:
    """Return a member that is T(limit)."""
    value = owner[name]
    if not is_text(value, limit):
        raise invalid(member(name), f"a text of 1 to {limit} bytes", value)
    return value


def integer(owner: dict[str, Any], name: str, high: int = MAX_TIMESTAMP) -> int:
    """Return a member that is Integer(0, high)."""
    value = owner[name]
    if not is_integer(value, 0, high):
        raise invalid(member(name), f"an integer from 0 to {high}", value)
    return value


def choice(owner: dict[str, Any], name: str, choices: AbstractSet[str]) -> str:
    """Return a member that is one of some texts."""
    value = owner[name]
    if type(value) is not str or value not in choices:
        raise invalid(member(name), f"one of {listed(choices)}", value)
    return value
