"""Names of the package that are loaded when they are asked for.

Beside the shapes of decisions and the kinds of errors these are two functions that
tool builders use to encode and copy values by the rules of the contract.
"""

from __future__ import annotations

from ledgence.worker import _exceptions
from ledgence.worker._profile import thaw
from ledgence.worker.workflow._fields import encode

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

_SHAPES = frozenset(
    {
        "Command",
        "CompleteDecision",
        "ContinueDecision",
        "Decision",
        "FailDecision",
        "RetryPolicy",
        "Sizes",
        "SuspendDecision",
        "WaitDecision",
    }
)


def load(name: str) -> object:
    """Return a late name of the package.

    Raises:
        AttributeError: There is no such name.
    """
    if name in _SHAPES:
        from ledgence.worker.workflow import _types  # noqa: PLC0415 # it loads typing

        return getattr(_types, name)
    found = getattr(_exceptions, name, None)
    if isinstance(found, type) and issubclass(found, _exceptions.WorkflowError):
        return found
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    raise AttributeError(f"module 'ledgence.worker.workflow' has no attribute {name!r}")


def _encode(
    value: object, limit: int, max_depth: int = 64, *, authoritative: bool = False
) -> bytes:
    """Return the canonical bytes of a value; ``authoritative`` is received mode."""
    return encode("value", value, limit, max_depth, received=authoritative)


def _freeze(
    value: object, limit: int, max_depth: int = 64, *, authoritative: bool = False
) -> Any:
    """Return an independent copy of a value; ``authoritative`` is received mode."""
    return thaw(_encode(value, limit, max_depth, authoritative=authoritative))


_FUNCTIONS = {"_encode": _encode, "_freeze": _freeze}
