"""Stable names of callables, and the arguments that a call really has."""

from __future__ import annotations

from ledgence.worker._exceptions import ArgumentError
from ledgence.worker.workflow._fields import describe, is_text
from ledgence.worker.workflow._limits import NAME_BYTES

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def name_of(fn: object, prefix: str = "") -> str:
    """Return ``<prefix><module>:<qualified name>`` of a callable.

    Functions, methods, classes and what ``functools.wraps`` has named have both parts.
    Partial objects, plain callable instances and most built-in methods do not.

    Raises:
        ArgumentError: It has no such name, or one that is not T(512).
    """
    if callable(fn):
        module = getattr(fn, "__module__", None)
        qualname = getattr(fn, "__qualname__", None)
        if type(module) is str and type(qualname) is str and module and qualname:
            name = f"{prefix}{module}:{qualname}"
            if is_text(name, NAME_BYTES):
                return name
            detail = f"the name is no text of 1 to {NAME_BYTES} bytes: {describe(name)}"
            raise ArgumentError("invalid_callable", detail, argument="fn")
    raise ArgumentError("invalid_callable", f"got {describe(fn)}", argument="fn")


def effective_arguments(
    fn: Callable[..., Any], arguments: dict[str, Any]
) -> dict[str, Any]:
    """Bind keyword arguments to a signature and fill the defaults in.

    ``*args`` stays empty; what falls into ``**kwargs`` stands beside the named ones.
    The signature is read anew at every call: a default that has changed counts.

    Raises:
        ArgumentError: They do not fit, or a parameter is positional-only.
    """
    from inspect import Parameter, signature  # noqa: PLC0415 # needed by operations and actions only

    try:
        found = signature(fn)
    except (TypeError, ValueError) as error:
        raise _unbound(f"its signature cannot be read: {error}") from None
    parameters = found.parameters
    for parameter in parameters.values():
        if parameter.kind is Parameter.POSITIONAL_ONLY:
            raise _unbound(f"{parameter.name} is positional-only")
    try:
        bound = found.bind(**arguments)
    except TypeError as error:
        raise _unbound(str(error)[:200]) from None
    bound.apply_defaults()
    result: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = parameters[name].kind
        if kind is Parameter.VAR_KEYWORD:
            result.update(value)
        elif kind is not Parameter.VAR_POSITIONAL:
            result[name] = value
    return result


def _unbound(detail: str) -> ArgumentError:
    return ArgumentError("unbound_arguments", detail, argument="arguments")
