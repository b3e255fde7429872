"""Registered entrypoints: one handler for each member of an enum.

A registry is filled while a program is imported, frozen by ``build``, and bound to the
context of an activation while its built handler runs. Nothing of it stays behind.
"""

# pyright: reportPrivateUsage=false
# The context is a room of the same house; a registry binds itself to it.

from __future__ import annotations

from enum import StrEnum

from ledgence.worker._exceptions import RegistryError
from ledgence.worker.workflow._context import workflow_context
from ledgence.worker.workflow._fields import describe, is_text
from ledgence.worker.workflow._generics import Generic

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, TypeAlias, TypeVar

    from ledgence.worker.workflow._types import Handler, Returned

    E = TypeVar("E", bound=StrEnum)
    H = TypeVar("H", bound=Handler)
    Built: TypeAlias = Callable[[dict[str, Any]], Coroutine[Any, Any, Returned]]
else:
    E = None

_START = "start"


class Workflow(Generic[E]):
    """The entrypoints of a program, by the members of an enum.

    ```python
    flow = Workflow(Entry)

    @flow.entrypoint(Entry.BEGIN, default=True)
    async def begin(event, ctx): ...

    handle = flow.build()
    ```

    Args:
        entries: A ``StrEnum`` class with at least one member, no aliases, and values
            that are T(128).

    Raises:
        WorkflowError: It is no such class.
    """

    __slots__ = ("_built", "_default", "_defaults", "_entries", "_handlers")

    def __init__(self, entries: type[E]) -> None:
        if not _is_family(entries):
            raise RegistryError("registry_enum", f"got {describe(entries)}")
        self._entries = entries
        self._handlers: dict[E, Handler] = {}
        self._defaults: list[E] = []
        self._built: Built | None = None

    def entrypoint(self, entry: E, *, default: bool = False) -> Callable[[H], H]:
        """Return a decorator that registers the handler of a member.

        The handler is called as ``handler(event, ctx)`` and may be sync or async. It is
        returned unchanged.

        Args:
            entry: A member of the enum class.
            default: Whether ``start``, the first continuation, selects it.

        Raises:
            WorkflowError: ``build`` was called, ``entry`` is of another enum, or
                ``default`` is no bool; and by the decorator, when ``build`` was called
                meanwhile, the handler is not callable, or the member has one.
        """
        self._check_open()
        if type(entry) is not self._entries:
            raise RegistryError("registry_entry", f"got {describe(entry)}")
        _check_flag(default)

        def register(handler: H) -> H:
            self._check_open()
            _check_callable(handler)
            if entry in self._handlers:
                raise RegistryError("registry_duplicate", entry.name)
            self._handlers[entry] = handler
            if default:
                self._defaults.append(entry)
            return handler

        return register

    def build(self) -> Built:
        """Freeze the registry and return the handler of the program.

        Further calls return the same object. The handler selects the default for the
        continuation ``start`` and otherwise the member whose value the continuation is;
        from then on the targets of the context are members of the enum.

        Raises:
            WorkflowError: A member has no handler, there is not exactly one default, or
                a member has the value ``start`` and is not the default.
        """
        if self._built is None:
            members: dict[str, E] = {entry.value: entry for entry in self._entries}
            members[_START] = self._checked_default()
            self._built = _handler(self._entries, members, self._handlers)
        return self._built

    def _check_open(self) -> None:
        if self._built is not None:
            raise RegistryError("registry_frozen")

    def _checked_default(self) -> E:
        missing = [entry.name for entry in self._entries if entry not in self._handlers]
        if missing:
            detail = f"missing {', '.join(missing[:8])}"
            raise RegistryError("registry_incomplete", detail)
        if len(self._defaults) != 1:
            names = ", ".join(entry.name for entry in self._defaults[:8]) or "none"
            raise RegistryError("registry_default", f"got {names}")
        default = self._defaults[0]
        for entry in self._entries:
            if entry.value == _START and entry is not default:
                raise RegistryError("registry_start", f"got {default.name}")
        return default


def _is_family(entries: object) -> bool:
    return (
        isinstance(entries, type)
        and issubclass(entries, StrEnum)
        and len(entries) > 0
        and len(entries) == len(entries.__members__)
        and all(is_text(entry.value) for entry in entries)
    )


def _check_flag(default: object) -> None:
    if type(default) is not bool:
        detail = f"expected a bool, got {describe(default)}"
        raise RegistryError("registry_flag", detail, argument="default")


def _check_callable(handler: object) -> None:
    if not callable(handler):
        raise RegistryError("registry_callable", f"got {describe(handler)}")


def _handler(
    family: type[E], members: dict[str, E], handlers: dict[E, Handler]
) -> Built:
    """Make the handler of a program from its frozen registry."""
    # Imported by then: an activation has loaded asyncio, and asyncio inspect.
    from inspect import isawaitable  # noqa: PLC0415 # start-up budget

    async def handle(event: dict[str, Any]) -> Any:
        context = workflow_context()
        entry = context._bind(family, members.get)  # noqa: SLF001 # a room of this house
        result = handlers[entry](event, context)
        return await result if isawaitable(result) else result

    return handle
