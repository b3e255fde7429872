"""The control calls that make children and branches and read their results."""

from __future__ import annotations

from ledgence.worker.workflow._branches import branch
from ledgence.worker.workflow._children import TaskRef, WorkflowRef, result
from ledgence.worker.workflow._generics import overload
from ledgence.worker.workflow._limits import DEFAULT_ATTEMPT_TIMEOUT_MS
from ledgence.worker.workflow._steps import StepCalls

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    from ledgence.worker.workflow._branches import BranchSpec, ForkRef
    from ledgence.worker.workflow._types import RetryPolicy

    T = TypeVar("T")


class ChildCalls(StepCalls):
    """``task``, ``workflow``, ``get_result``, ``branch`` and ``fork``."""

    __slots__ = ()

    def task(
        self,
        key: str,
        *,
        program: str,
        version: str,
        queue: str,
        data: Any,
        retry_policy: RetryPolicy | dict[str, int] | None = None,
        attempt_timeout_ms: int = DEFAULT_ATTEMPT_TIMEOUT_MS,
    ) -> TaskRef[Any]:
        """Stage a child task for the decision of this activation (section 7).

        Nothing is sent before the decision. The same command again stages nothing.

        Args:
            key: T(128), shared by tasks, subworkflows and branches.
            program: 1 to 128 of ``a-z 0-9 . _ -``, neither ``.`` nor ``..``.
            version: As ``program``.
            queue: T(128).
            data: A JSON value of at most 262144 bytes and 64 levels.
            retry_policy: ``{"max_attempts": 1..1000, "retry_delay_ms": 0..86400000}``;
                three attempts and 5000 ms by default.
            attempt_timeout_ms: 60000 to 86400000.

        Raises:
            WorkflowError: The key stands for another child, 64 children are staged, all
                together are over 262144 bytes, or an argument is not as above.
        """
        self._exchange.check()
        name = self._children.stage(
            key,
            program=program,
            version=version,
            queue=queue,
            data=data,
            retry_policy=retry_policy,
            attempt_timeout_ms=attempt_timeout_ms,
            is_workflow=False,
        )
        return TaskRef(name, self)

    def workflow(
        self,
        key: str,
        *,
        program: str,
        version: str,
        queue: str,
        data: Any,
        retry_policy: RetryPolicy | dict[str, int] | None = None,
        attempt_timeout_ms: int = DEFAULT_ATTEMPT_TIMEOUT_MS,
    ) -> WorkflowRef[Any]:
        """Stage an owned subworkflow; arguments and limits are those of ``task``."""
        self._exchange.check()
        name = self._children.stage(
            key,
            program=program,
            version=version,
            queue=queue,
            data=data,
            retry_policy=retry_policy,
            attempt_timeout_ms=attempt_timeout_ms,
            is_workflow=True,
        )
        return WorkflowRef(name, self)

    @overload
    def get_result(self, ref: TaskRef[T]) -> T: ...

    @overload
    def get_result(self, ref: str) -> Any: ...

    def get_result(self, ref: TaskRef[Any] | str) -> Any:
        """Return a copy of the output of a child that has succeeded.

        Args:
            ref: A reference of this context, or a key; of a branch, its key.

        Raises:
            WorkflowError: No child of that key has ended, it did not succeed, or the
                kind of the reference is not the child's.
        """
        self._exchange.check()
        return result(ref, self._activation.inputs, self)

    def branch(
        self,
        key: str,
        *,
        entrypoint: str,
        queue: str,
        data: Any,
        retry_policy: RetryPolicy | dict[str, int] | None = None,
        attempt_timeout_ms: int = DEFAULT_ATTEMPT_TIMEOUT_MS,
    ) -> BranchSpec:
        """Describe a branch of this workflow for ``fork``; nothing is sent (section 8).

        Args:
            key: T(128), shared with child tasks and subworkflows.
            entrypoint: Where the branch starts: a target, as a continuation is.
            queue: T(128).
            data: A JSON value; the whole branch has at most 131072 bytes.
            retry_policy: As for ``task``.
            attempt_timeout_ms: As for ``task``.

        Raises:
            WorkflowError: An argument is not as above.
        """
        self._exchange.check()
        return branch(
            self,
            key,
            entrypoint=self._target("entrypoint", entrypoint),
            queue=queue,
            data=data,
            retry_policy=retry_policy,
            attempt_timeout_ms=attempt_timeout_ms,
        )

    async def fork(self, key: str, *, branches: Sequence[BranchSpec]) -> ForkRef:
        """Register branches with the host now, before the decision (section 8).

        Nothing happens until it is awaited or made a task. When it returns, the
        branches are registered, not started or ended. The same fork again is not sent
        again and gives the same object.

        Args:
            key: T(128); keys of forks are apart from keys of children.
            branches: A list or tuple of 1 to 64 branches of this context with distinct
                keys; the request has at most 131072 bytes.

        Raises:
            WorkflowError: The key stands for another fork, a branch key is taken, an
                argument is not as above, or the host did not acknowledge.
        """
        self._exchange.check()
        fork: ForkRef = await self._forks.begin(key, branches, self._is_target)
        return fork
