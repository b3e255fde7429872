"""What the engine asks of the world: a store, a clock, identifiers, programs.

The store is the only one with a memory. ``Store.writing`` is one transaction: what
the block did is kept as a whole when it ends, and leaves no trace when it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from ledgence.local._engine._rows import (
    Application,
    Approval,
    Attempt,
    Child,
    InboxEvent,
    LocalStep,
    LogEntry,
    Row,
    Task,
    Wait,
    Workflow,
)
from ledgence.local._engine._work import Descriptor, Program, Scope

__all__ = ["Clock", "Due", "NewId", "Programs", "Rows", "Store", "TaskFilter", "Usage"]

R = TypeVar("R", bound=Row)

NewId: TypeAlias = Callable[[str], str]
"""Makes a fresh identifier: ``new_id("task")`` gives ``task_<uuid>``."""


class Clock(Protocol):
    """The one authoritative clock of a host."""

    def now_ms(self) -> int:
        """Return Unix milliseconds, UTC."""
        ...


class Programs(Protocol):
    """The store of published programs."""

    def resolve(self, program: Program) -> Descriptor | None:
        """Return the descriptor of a version, or None when there is none.

        Raises:
            Unavailable: The store cannot tell now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """How much an activation, or an inbox, holds already."""

    count: int
    size: int
    branches: int = 0


@dataclass(frozen=True, slots=True)
class Due:
    """The earliest time of each kind of thing that waits; None when there is none.

    Attributes:
        queued: A queued task becomes, or became, available.
        background: A wait, a drain or an application is due.
        lease: A lease ends of an attempt whose report was accepted.
        running_lease: A lease ends of an attempt without a report.
        running_deadline: The deadline of an attempt without a report.
        running: How many attempts have no report.
    """

    queued: int | None
    background: int | None
    lease: int | None
    running_lease: int | None
    running_deadline: int | None
    running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Which tasks, or workflows, a list shows; all conditions hold at once.

    Attributes:
        after: Only what comes after this ``(submitted_at, id)`` in the list's order.
        parent_workflow_id: Workflows only: those owned by this one.
        root_only: Workflows only: those that nothing owns.
    """

    scope: Scope
    state: str | None = None
    queue: str | None = None
    correlation_key: str | None = None
    submitted_from: int | None = None
    submitted_until: int | None = None
    parent_workflow_id: str | None = None
    root_only: bool = False
    after: tuple[int, str] | None = None
    limit: int = 50


class Rows(Protocol):
    """One transaction on the records.

    ``get`` sees what the transaction itself has written. Records are frozen:
    ``change`` writes the named fields and returns the changed record.
    """

    def get(self, kind: type[R], *key: str) -> R | None:
        """Return the record with this key."""
        ...

    def need(self, kind: type[R], *key: str | None) -> R:
        """Return the record with this key, which another record names.

        Raises:
            LookupError: There is none: the store is damaged.
        """
        ...

    def add(self, row: Row) -> None:
        """Add a record; its key is new."""
        ...

    def change(self, row: R, **fields: object) -> R:
        """Write these fields of a record and return it with them."""
        ...

    def remove(self, row: Row) -> None:
        """Remove a record."""
        ...

    def log(
        self,
        workflow_id: str,
        at: int,
        reason: str,
        activation_id: str | None = None,
        subject: str | None = None,
    ) -> None:
        """Append a line to the history of a workflow."""
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """Undo what the block has written, and only that, when it raises."""
        ...

    def clock_floor(self) -> int:
        """Return a time that was reached before; nothing happens earlier."""
        ...

    def raise_clock_floor(self, now: int) -> None:
        """Note that this time was reached."""
        ...

    # Submission and claims.

    def task_by_key(self, scope: Scope, key: str) -> Task | None:
        """Return the task that was submitted under an idempotency key."""
        ...

    def workflow_by_key(self, scope: Scope, key: str) -> Workflow | None:
        """Return the root workflow that was submitted under an idempotency key."""
        ...

    def claimable(
        self, now: int, scope: Scope | None, queues: Sequence[str] | None
    ) -> Task | None:
        """Return the first queued task that is available."""
        ...

    def expired_attempts(self, now: int, limit: int) -> list[Attempt]:
        """Return active attempts whose lease has ended."""
        ...

    def foreign_attempts(self, host_id: str, limit: int) -> list[Attempt]:
        """Return active attempts that another host has claimed."""
        ...

    def attempts_of(self, task_id: str) -> list[Attempt]:
        """Return all attempts of a task by number."""
        ...

    # Activations.

    def journal(self, activation_id: str) -> list[LocalStep]:
        """Return the records of an activation by key."""
        ...

    def journal_usage(self, activation_id: str) -> Usage:
        """Return count and summed size of an activation's records."""
        ...

    def fork_usage(self, activation_id: str) -> Usage:
        """Return count, summed size and branches of an activation's forks."""
        ...

    # Children.

    def children(self, workflow_id: str, keys: Iterable[str]) -> list[Child]:
        """Return those of the keys that are children, in the given order."""
        ...

    def finished_children(self, workflow_id: str, limit: int) -> list[Child]:
        """Return terminal children not yet consumed, oldest first."""
        ...

    def has_unfinished_child(self, workflow_id: str) -> bool:
        """Tell whether an owned task or workflow is not terminal."""
        ...

    def live_workflows(self, workflow_id: str) -> int:
        """Count the owned workflows that are not terminal."""
        ...

    def children_to_cancel(self, workflow_id: str, limit: int) -> list[Child]:
        """Return children not terminal and not asked to stop yet."""
        ...

    def consume(self, workflow_id: str, keys: Iterable[str]) -> None:
        """Mark children as consumed."""
        ...

    # Waits and the inbox.

    def open_wait(self, workflow_id: str) -> Wait | None:
        """Return the wait that is installed and not closed."""
        ...

    def due_waits(self, now: int, limit: int) -> list[Wait]:
        """Return open waits whose deadline has come."""
        ...

    def event_by_identity(
        self, workflow_id: str, source: str, event_id: str
    ) -> InboxEvent | None:
        """Return the accepted event with this identity."""
        ...

    def inbox_usage(self, workflow_id: str) -> Usage:
        """Return count and summed size of the pending events."""
        ...

    def discard_events(self, workflow_id: str) -> None:
        """Let no pending event be delivered any more."""
        ...

    # Background work and its times.

    def due_applications(self, now: int, limit: int) -> list[Application]:
        """Return decisions that are to be tried again."""
        ...

    def due_drains(self, now: int, limit: int) -> list[Workflow]:
        """Return failing and cancelling workflows with work to do."""
        ...

    def due(self) -> Due:
        """Return the earliest times of everything that waits."""
        ...

    # Inspection.

    def list_tasks(self, wanted: TaskFilter) -> list[Task]:
        """Return a page of tasks, newest first."""
        ...

    def list_workflows(self, wanted: TaskFilter) -> list[Workflow]:
        """Return a page of workflows, newest first."""
        ...

    def list_approvals(
        self, workflow_id: str, after_key: str | None, limit: int
    ) -> list[Approval]:
        """Return approvals of a workflow by key in byte order."""
        ...

    def list_children(
        self, workflow_id: str, after: str | None, limit: int
    ) -> list[Child]:
        """Return children of a workflow by key in byte order."""
        ...

    def list_waits(self, workflow_id: str, after: str | None, limit: int) -> list[Wait]:
        """Return waits of a workflow by key in byte order."""
        ...

    def list_inbox(
        self, workflow_id: str, after: str | None, limit: int
    ) -> list[InboxEvent]:
        """Return accepted events of a workflow by key in byte order."""
        ...

    def list_activations(
        self, workflow_id: str, after_revision: int, limit: int
    ) -> list[str]:
        """Return activation ids of a workflow by revision."""
        ...

    def list_log(self, workflow_id: str, after: int, limit: int) -> list[LogEntry]:
        """Return lines of a workflow's history after a sequence number."""
        ...


class Store(Protocol):
    """Where the records live."""

    def writing(self) -> AbstractContextManager[Rows]:
        """Open a transaction that may write; others wait for it.

        Raises:
            Unavailable: The store cannot be reached, or could not keep the changes.
        """
        ...

    def reading(self) -> AbstractContextManager[Rows]:
        """Open a transaction that sees one moment and writes nothing."""
        ...
