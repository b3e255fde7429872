"""What classes and methods need of ``typing``, without loading it at run time."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Generic, overload
else:

    class Generic:
        """A base that can be subscripted and does nothing."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    def overload(fn: Callable[..., Any]) -> Callable[..., Any]:
        """Mark a declaration that only type checkers read."""
        return fn


__all__ = ["Generic", "overload"]
