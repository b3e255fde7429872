"""Exact container types, in the form that type checkers understand.

Subclasses do not count: an ``OrderedDict`` is not an object (workflow-api.md, 0).
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, TypeGuard


def is_dict(value: object) -> TypeGuard[dict[str, Any]]:
    """Tell whether a value is an exact dict; its names are not looked at."""
    return type(value) is dict


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Tell whether a value is an exact list."""
    return type(value) is list


def is_sequence(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Tell whether a value is an exact list or tuple."""
    return type(value) is list or type(value) is tuple
