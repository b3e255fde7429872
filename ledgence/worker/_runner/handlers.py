"""From ``module:function`` to a callable of the artifact (runner-protocol.md, 3.3).

A handler must come from the artifact, whatever the standard library or the helper
have under its name: each package on the way and the module itself are looked up in
the artifact alone, their places are checked before and after the import.
"""

import _frozen_importlib_external as _files
import os
import sys

from ledgence.worker import _stdlib
from ledgence.worker._runner.options import StartRefused

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_CO_COROUTINE = 0x80  # of a code object: made by "async def"


def resolve(
    root: str, module_name: str, function: str, *, allow_async: bool
) -> "Callable[[Any], Any]":
    """Import the handler's module from the artifact and fetch the handler.

    Args:
        root: The artifact, resolved; it heads ``sys.path`` already.
        module_name: Dotted identifiers.
        function: The attribute of that module.
        allow_async: Whether a coroutine function may be the handler (protocol 3).

    Raises:
        StartRefused: The name is taken, not found in the artifact, leads outside it,
            or what it names cannot be the handler.
        BaseException: Whatever the program's own import raises.
    """
    if _stdlib.is_taken(module_name):
        raise StartRefused(
            f"the handler module {module_name!r} conflicts with a preloaded module:"
            " give the program's module another name"
        )
    places: Iterable[str] = [root]
    name = ""
    parts = module_name.split(".")
    for index, part in enumerate(parts):
        name = f"{name}.{part}" if name else part
        found = _files.PathFinder.find_spec(name, places)  # type: ignore[arg-type] # any iterable will do
        if found is None:
            raise StartRefused(
                f"the handler module {name!r} was not found in the artifact {root}"
            )
        _check_place(name, found, root)
        __import__(name)
        spec = getattr(sys.modules.get(name), "__spec__", None)
        _check_place(name, spec, root)
        if index + 1 < len(parts):
            inner = _locations(spec)
            if inner is None:
                raise StartRefused(f"{name!r} is a module and not a package")
            places = inner
    handler = getattr(sys.modules[name], function, None)
    if not callable(handler):
        raise StartRefused(
            f"the handler {function!r} of {module_name!r} is absent or not callable"
        )
    if not allow_async and is_coroutine_function(handler):
        raise StartRefused(
            f"the handler {module_name}:{function} is an async function,"
            " which needs protocol version 3"
        )
    return handler  # type: ignore[no-any-return] # it is callable


def _locations(spec: object) -> "Iterable[str] | None":
    return getattr(spec, "submodule_search_locations", None)


def _check_place(name: str, spec: object, root: str) -> None:
    """Refuse a module that does not lie in the artifact with all its parts."""
    places = [] if (found := _locations(spec)) is None else list(found)
    origin = getattr(spec, "origin", None)
    if origin is not None:
        places.append(origin)
    if not places:
        raise StartRefused(f"the module {name!r} has no place in the artifact")
    for place in places:
        if not _is_inside(place, root):
            raise StartRefused(
                f"the module {name!r} is not the artifact's: it lies at {place!r},"
                f" outside {root}"
            )


def _is_inside(place: object, root: str) -> bool:
    if not isinstance(place, str) or not os.path.isabs(place):
        return False  # for example "built-in"
    resolved = os.path.realpath(place)
    return resolved == root or resolved.startswith(root.rstrip("/") + "/")


def is_coroutine_function(handler: "Any") -> bool:
    """What ``inspect.iscoroutinefunction`` says; a plain function needs no inspect."""
    if type(handler) is type(resolve) and not hasattr(handler, "_is_coroutine_marker"):
        return bool(handler.__code__.co_flags & _CO_COROUTINE)
    from inspect import iscoroutinefunction  # noqa: PLC0415 - slow and seldom needed

    return iscoroutinefunction(handler)
