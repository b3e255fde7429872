"""The context of an activation: the facade over the other rooms; no rule is its own."""

from __future__ import annotations

from ledgence.worker._exceptions import ArgumentError, PlacementError
from ledgence.worker._profile import thaw
from ledgence.worker.workflow._decisions import (
    approval_wait,
    event_wait,
    proposal,
    timer_wait,
    until_keys,
)
from ledgence.worker.workflow._offspring import ChildCalls
from ledgence.worker.workflow._state import current

TYPE_CHECKING = False

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence
    from typing import Any

    from ledgence.worker.workflow._approvals import ApprovalAction
    from ledgence.worker.workflow._branches import ForkRef
    from ledgence.worker.workflow._children import TaskRef
    from ledgence.worker.workflow._types import (
        CompleteDecision,
        ContinueDecision,
        FailDecision,
        SuspendDecision,
        WaitDecision,
    )


def workflow_context() -> WorkflowContext:
    """Return the context of the running activation, the same object on every call.

    It can be read in the handler, in tasks that it creates, in ``asyncio.to_thread``
    and inside local callables; not in a thread that is started without the context.

    Raises:
        WorkflowError: No activation is active here, or it has ended.
    """
    context = current.get()
    if context is None:
        raise PlacementError("no_activation")
    if context.closed:
        raise PlacementError("context_closed")
    return context


get_workflow_context = workflow_context


class WorkflowContext(ChildCalls):
    """What a workflow's controller can see and do during one activation.

    Made by the library; a handler gets it from ``workflow_context()``. All methods are
    control calls: they raise inside a local callable, outside the event loop of the
    activation, after its end, and after a failed acknowledgement. Properties can be
    read anywhere and at any time, and give fresh copies.

    A refused call has no effect. Every refusal is a ``WorkflowError``.

    Args:
        payload: The payload of an activation. Tool builders make a context from it,
            inside a running loop; then they call the handler and
            ``await context._drain()``, take the decision from
            ``context._validate_decision(value)`` and ``await context._finish()``.
        rpc: ``async (operation, payload) -> result``.
        steps: An observer of local steps, or None.
    """

    __slots__ = ()

    def join(self, fork: ForkRef, *, resume: str, state: Any) -> SuspendDecision:
        """Make the decision to go on when all branches of a fork have ended.

        Args:
            fork: The very object that ``fork`` returned.
            resume: Where to go on.
            state: As for ``suspend``.
        """
        self._exchange.check()
        keys = self._forks.acknowledged(fork).branch_keys
        return self.suspend(continuation=resume, state=state, until=keys)

    def suspend(
        self,
        *,
        continuation: str,
        state: Any,
        until: Sequence[TaskRef[Any] | str] = (),
    ) -> SuspendDecision:
        """Make the decision to go on when all these children have ended.

        A decision has no effect until the handler returns it (section 9). It carries
        the commands that are staged when it is made.

        Args:
            continuation: Where to go on: T(128), in a registered program a member of
                its enum.
            state: A JSON value of at most 65536 bytes and 64 levels.
            until: A list or tuple of at most 64 references or keys, all distinct.

        Raises:
            WorkflowError: An argument is not as above, or the whole decision is over
                262144 bytes.
        """
        self._exchange.check()
        keys = until_keys(until, self)
        target = self._target("continuation", continuation)
        decision: SuspendDecision = self._decisions.checkpoint(
            "suspend", target, state, until=keys
        )
        return decision

    def continue_(self, *, continuation: str, state: Any) -> ContinueDecision:
        """Make the decision to go on at once in another activation."""
        self._exchange.check()
        target = self._target("continuation", continuation)
        decision: ContinueDecision = self._decisions.checkpoint(
            "continue", target, state
        )
        return decision

    def wait_event(
        self,
        key: str,
        *,
        continuation: str,
        state: Any,
        timeout_ms: int | None = None,
    ) -> WaitDecision:
        """Make the decision to go on when an external event arrives.

        Args:
            key: T(128), never used for a wait of this workflow before.
            continuation: As for ``suspend``.
            state: As for ``suspend``.
            timeout_ms: 0 to 31536000000; None waits for ever.
        """
        self._exchange.check()
        return self._wait(continuation, state, event_wait(key, timeout_ms))

    def sleep(
        self, key: str, delay_ms: int, *, continuation: str, state: Any
    ) -> WaitDecision:
        """Make the decision to go on after a time, 0 to 31536000000 ms."""
        self._exchange.check()
        return self._wait(continuation, state, timer_wait(key, delay_ms))

    def request_approval(
        self,
        key: str,
        *,
        action: ApprovalAction | dict[str, Any],
        state: Any,
        timeout_ms: int,
        continuation: str | None = None,
        resume: str | None = None,
        proposed_arguments: dict[str, Any] | None = None,
    ) -> WaitDecision:
        """Make the decision to go on when a reviewer has answered (section 11).

        Args:
            key: T(128), never used for a wait of this workflow before.
            action: An ``ApprovalAction`` or a dict of the same content.
            state: As for ``suspend``.
            timeout_ms: 0 to 31536000000; required.
            continuation: Where to go on; this or ``resume``, not both.
            resume: The same by another name.
            proposed_arguments: What the reviewer may see beside the action, at most
                32768 bytes.
        """
        self._exchange.check()
        if (continuation is None) == (resume is None):
            detail = "expected exactly one of continuation and resume"
            raise ArgumentError("invalid_type", detail, argument="continuation")
        target = resume if continuation is None else continuation
        proposed = proposal(proposed_arguments)
        wait = approval_wait(key, action, timeout_ms, proposed)
        return self._wait(target, state, wait)

    wait_approval = request_approval

    def complete(self, output: Any) -> CompleteDecision:
        """Make the decision that the workflow has succeeded.

        Args:
            output: A JSON value of 64 levels; the decision has at most 262144 bytes.

        Raises:
            WorkflowError: Commands are staged, or the output is not as above.
        """
        self._exchange.check()
        decision: CompleteDecision = self._decisions.complete(output)
        return decision

    def fail(self, kind: str, message: str) -> FailDecision:
        """Make the decision that the workflow has failed for good.

        Staged commands are dropped. An exception is another thing: the host may retry
        the activation then.

        Args:
            kind: T(128).
            message: At most 4096 UTF-8 bytes, maybe none.
        """
        self._exchange.check()
        decision: FailDecision = self._decisions.fail(kind, message)
        return decision

    def _wait(self, continuation: object, state: object, wait: bytes) -> WaitDecision:
        target = self._target("continuation", continuation)
        decision: WaitDecision = self._decisions.checkpoint(
            "wait", target, state, wait=wait
        )
        return decision

    # For tool builders, as the spec of the contract lists them.

    @property
    def _pending(self) -> dict[str, tuple[bytes, asyncio.Task[None]]]:
        """The steps that were started: binding and task, by key."""
        return {
            step.binding.key: (step.binding.encoded(), step.task)
            for step in self._journal.owned
            if step.task is not None
        }

    @property
    def _commands(self) -> list[dict[str, Any]]:
        """The staged commands, in staging order."""
        commands: list[dict[str, Any]] = thaw(self._children.encoded())
        return commands

    @property
    def _records(self) -> dict[str, dict[str, Any]]:
        """The replayed and committed records, by key."""
        return {
            key: {
                "key": key,
                "callable": record.callable,
                "input": thaw(record.input),
                "output": thaw(record.output),
            }
            for key, record in self._journal.records.items()
        }

    async def _drain(self) -> None:
        """Wait for everything that was started; raise a failure nobody observed."""
        if self._owned():
            from ledgence.worker.workflow._owned import drain  # noqa: PLC0415 # asyncio

            await drain(self._owned)

    def _decide(self, value: object) -> bytes:
        """Check what the handler returned; return its canonical bytes."""
        self._exchange.check()
        return self._decisions.decide(value, self._is_target)

    def _validate_decision(self, value: object) -> dict[str, Any]:
        """Check what the handler returned; return a copy of it."""
        decision: dict[str, Any] = thaw(self._decide(value))
        return decision

    async def _finish(self, cancel: bool = False) -> None:  # noqa: FBT001, FBT002 # the name and form that harnesses use
        """Close the context; then await, or cancel and await, what is owned."""
        self._exchange.closed = True
        if self._owned():
            from ledgence.worker.workflow._owned import finish  # noqa: PLC0415 # asyncio

            await finish(self._exchange, self._owned, cancel=cancel)

    def _release(self) -> None:
        """Take the finished context apart, so that no collector is needed."""
        self._made_forks = None
        if self._made_journal is not None:
            self._made_journal.release()
