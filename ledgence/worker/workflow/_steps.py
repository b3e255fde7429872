"""The control calls that run local steps."""

from __future__ import annotations

from ledgence.worker.workflow._approvals import check_approved, step_key
from ledgence.worker.workflow._bindings import (
    Binding,
    local_binding,
    operation_binding,
)
from ledgence.worker.workflow._generics import overload
from ledgence.worker.workflow._view import View

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any, TypeVar

    from ledgence.worker.workflow._bindings import OperationKind

    T = TypeVar("T")


class StepCalls(View):
    """``local``, ``operation``, ``approved_local`` and ``gather``."""

    __slots__ = ()

    @overload
    def local(
        self, key: str, fn: Callable[..., Coroutine[Any, Any, T]], **kwargs: Any
    ) -> Awaitable[T]: ...

    @overload
    def local(
        self, key: str, fn: Callable[..., Awaitable[T]], **kwargs: Any
    ) -> Awaitable[T]: ...

    @overload
    def local(self, key: str, fn: Callable[..., T], **kwargs: Any) -> Awaitable[T]: ...

    def local(self, key: str, fn: Callable[..., Any], **kwargs: Any) -> Awaitable[Any]:
        """Start a local step, or take its recorded output (workflow-api.md, 4).

        The step is started by the call, awaited or not. Its callable runs once with a
        copy of the arguments; the output is sent to the host and an await yields it,
        a fresh copy each time, when the host has stored it. A step that the journal
        holds already runs no more. The same key with the same callable and arguments
        is the same step.

        Args:
            key: T(128), without the prefix ``_approval:``.
            fn: A callable with a module and a qualified name, sync or async.
            kwargs: Its arguments; together at most 131072 bytes and 64 levels. They
                are recorded as given: defaults are not.

        Raises:
            WorkflowError: The key stands for another binding, 128 keys are in use, or
                an argument is not as above. On await: the output is no JSON, the
                record (131072 bytes) or the journal (262144 bytes) would be too large,
                or the host did not acknowledge.
        """
        self._exchange.check()
        journal = self._journal
        return journal.step(local_binding(key, fn, kwargs, journal.records))

    @overload
    def operation(
        self,
        key: str,
        fn: Callable[..., Coroutine[Any, Any, T]],
        *,
        kind: OperationKind,
        version: str,
        arguments: dict[str, Any],
    ) -> Awaitable[T]: ...

    @overload
    def operation(
        self,
        key: str,
        fn: Callable[..., Awaitable[T]],
        *,
        kind: OperationKind,
        version: str,
        arguments: dict[str, Any],
    ) -> Awaitable[T]: ...

    @overload
    def operation(
        self,
        key: str,
        fn: Callable[..., T],
        *,
        kind: OperationKind,
        version: str,
        arguments: dict[str, Any],
    ) -> Awaitable[T]: ...

    def operation(
        self,
        key: str,
        fn: Callable[..., Any],
        *,
        kind: OperationKind,
        version: str,
        arguments: dict[str, Any],
    ) -> Awaitable[Any]:
        """Start a local step that is known as a model or tool call (section 5).

        As ``local``, but the arguments are bound to the signature, the defaults are
        filled in and recorded, and the record names kind and version.

        Args:
            key: As for ``local``; both share the journal.
            fn: A callable whose signature can be read and has no positional-only
                parameters.
            kind: A member of ``OperationKind``.
            version: T(128).
            arguments: Keyword arguments, 62 levels deep each; with the defaults and
                the rest of the input at most 131072 bytes.

        Raises:
            WorkflowError: As ``local``; the arguments do not fit; the kind is another.
        """
        self._exchange.check()
        journal = self._journal
        binding = operation_binding(
            key,
            fn,
            kind=kind,
            version=version,
            arguments=arguments,
            recorded=journal.records,
        )
        return journal.step(binding)

    def approved_local(self, fn: Callable[..., Any], *, version: str) -> Awaitable[Any]:
        """Start the local step that runs the approved action (section 12).

        It runs with the arguments that the reviewer saw, once for the approval.

        Args:
            fn: The callable of the action, the same object at every call.
            version: The version of the action.

        Raises:
            WorkflowError: No approved approval woke the workflow, the callable or the
                version is another, or a default was not part of the action.
        """
        self._exchange.check()
        wake = self._activation.wake
        snapshot = check_approved(
            None if wake is None else wake.approval, fn, version, self._approved
        )
        key = step_key(snapshot.key)
        step = self._journal.step(Binding(key, snapshot.name, fn, snapshot.arguments))
        self._approved = fn
        return step

    async def gather(self, *operations: Awaitable[T]) -> list[T]:
        """Wait for all of them; return their results in order.

        Args:
            operations: At most 128 steps, forks or other awaitables.

        Raises:
            WorkflowError: There are more.
            BaseException: The failure of the first failed one in argument order, when
                all have ended.
        """
        from ledgence.worker.workflow._gather import gather  # noqa: PLC0415 # asyncio

        return await gather(self._exchange, operations)
