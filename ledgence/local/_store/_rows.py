"""One transaction on the records: the general part, and what transitions look up."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ledgence.local._engine._ports import Usage
from ledgence.local._engine._rows import (
    Application,
    Attempt,
    Child,
    InboxEvent,
    LocalStep,
    Row,
    Task,
    Wait,
    Workflow,
)
from ledgence.local._engine._work import Scope
from ledgence.local._store._mapping import add, change, changed, remove, select, values

__all__ = ["RecordRows", "TransitionRows"]

R = TypeVar("R", bound=Row)


class RecordRows:
    """Records by key, on an open transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def get(self, kind: type[R], *key: str) -> R | None:
        """Return the record with this key."""
        row = self._db.execute(select(kind), key).fetchone()
        return None if row is None else kind(*row)

    def need(self, kind: type[R], *key: str | None) -> R:
        """Return the record with this key, which another record names."""
        row = self._db.execute(select(kind), key).fetchone()
        if row is None:
            raise LookupError(f"the store is damaged: no {kind.TABLE} {key}")
        return kind(*row)

    def add(self, row: Row) -> None:
        """Add a record; its key is new."""
        kind = type(row)
        self._db.execute(add(kind), values(row))

    def change(self, row: R, **fields: object) -> R:
        """Write these fields of a record and return it with them."""
        names = tuple(fields)
        key = [getattr(row, name) for name in row.KEY]
        self._db.execute(change(type(row), names), [*fields.values(), *key])
        return changed(row, fields)

    def remove(self, row: Row) -> None:
        """Remove a record."""
        key = [getattr(row, name) for name in row.KEY]
        self._db.execute(remove(type(row)), key)

    def log(
        self,
        workflow_id: str,
        at: int,
        reason: str,
        activation_id: str | None = None,
        subject: str | None = None,
    ) -> None:
        """Append a line to the history of a workflow."""
        self._db.execute(
            "INSERT INTO log (workflow_id, activation_id, at, reason, subject)"
            " VALUES (?, ?, ?, ?, ?)",
            (workflow_id, activation_id, at, reason, subject),
        )

    @contextmanager
    def savepoint(self) -> Generator[None]:
        """Undo what the block has written, and only that, when it raises."""
        self._db.execute("SAVEPOINT block")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK TO block")
            raise
        finally:
            self._db.execute("RELEASE block")

    def clock_floor(self) -> int:
        """Return a time that was reached before; nothing happens earlier."""
        return self._number("SELECT value FROM meta WHERE name = 'clock_floor'")

    def raise_clock_floor(self, now: int) -> None:
        """Note that this time was reached."""
        self._db.execute("UPDATE meta SET value = ? WHERE name = 'clock_floor'", (now,))

    def _one(self, kind: type[R], where: str, *arguments: object) -> R | None:
        row = self._db.execute(select(kind, where), arguments).fetchone()
        return None if row is None else kind(*row)

    def _many(self, kind: type[R], where: str, *arguments: object) -> list[R]:
        rows = self._db.execute(select(kind, where), arguments)
        return [kind(*row) for row in rows]

    def _number(self, statement: str, *arguments: object) -> int:
        return self._maybe(statement, *arguments) or 0

    def _maybe(self, statement: str, *arguments: object) -> int | None:
        row: tuple[int | None, ...] = self._db.execute(statement, arguments).fetchone()
        return row[0]


class TransitionRows(RecordRows):
    """What the transitions ask beyond single records. Each uses an index."""

    def task_by_key(self, scope: Scope, key: str) -> Task | None:
        """Return the task that was submitted under an idempotency key."""
        return self._one(Task, _BY_SUBMISSION, scope.tenant_id, scope.namespace, key)

    def workflow_by_key(self, scope: Scope, key: str) -> Workflow | None:
        """Return the root workflow that was submitted under an idempotency key."""
        tenant, namespace = scope.tenant_id, scope.namespace
        return self._one(Workflow, _BY_SUBMISSION, tenant, namespace, key)

    def claimable(
        self, now: int, scope: Scope | None, queues: Sequence[str] | None
    ) -> Task | None:
        """Return the first queued task that is available."""
        where = "WHERE state = 'queued' AND available_at <= ?"
        arguments: list[Any] = [now]
        if scope is not None:
            where += " AND tenant_id = ? AND namespace = ?"
            arguments += [scope.tenant_id, scope.namespace]
        if queues is not None:
            where += f" AND queue IN ({_marks(queues)})"
            arguments += queues
        order = " ORDER BY available_at, submitted_at, task_id LIMIT 1"
        return self._one(Task, where + order, *arguments)

    def expired_attempts(self, now: int, limit: int) -> list[Attempt]:
        """Return active attempts whose lease has ended."""
        where = (
            "WHERE state = 'active' AND lease_expires_at <= ?"
            " ORDER BY lease_expires_at, attempt_id LIMIT ?"
        )
        return self._many(Attempt, where, now, limit)

    def foreign_attempts(self, host_id: str, limit: int) -> list[Attempt]:
        """Return active attempts that another host has claimed."""
        where = (
            "WHERE state = 'active' AND host_id != ?"
            " ORDER BY claimed_at, attempt_id LIMIT ?"
        )
        return self._many(Attempt, where, host_id, limit)

    def attempts_of(self, task_id: str) -> list[Attempt]:
        """Return all attempts of a task by number."""
        return self._many(Attempt, "WHERE task_id = ? ORDER BY number", task_id)

    def journal(self, activation_id: str) -> list[LocalStep]:
        """Return the records of an activation by key."""
        return self._many(
            LocalStep, "WHERE activation_id = ? ORDER BY key", activation_id
        )

    def journal_usage(self, activation_id: str) -> Usage:
        """Return count and summed size of an activation's records."""
        return self._usage(
            "SELECT count(*), coalesce(sum(size), 0), 0 FROM local_steps"
            " WHERE activation_id = ?",
            activation_id,
        )

    def fork_usage(self, activation_id: str) -> Usage:
        """Return count, summed size and branches of an activation's forks."""
        return self._usage(
            "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(branches), 0)"
            " FROM forks WHERE activation_id = ?",
            activation_id,
        )

    def _usage(self, statement: str, *arguments: object) -> Usage:
        return Usage(*self._db.execute(statement, arguments).fetchone())

    def children(self, workflow_id: str, keys: Iterable[str]) -> list[Child]:
        """Return those of the keys that are children, in the given order."""
        found = (self.get(Child, workflow_id, key) for key in keys)
        return [child for child in found if child is not None]

    def finished_children(self, workflow_id: str, limit: int) -> list[Child]:
        """Return terminal children not yet consumed, oldest first."""
        where = (
            "WHERE workflow_id = ? AND terminal_at IS NOT NULL AND consumed = 0"
            " ORDER BY terminal_at, target_id LIMIT ?"
        )
        return self._many(Child, where, workflow_id, limit)

    def has_unfinished_child(self, workflow_id: str) -> bool:
        """Tell whether an owned task or workflow is not terminal."""
        statement = (
            "SELECT EXISTS (SELECT 1 FROM children"
            " WHERE workflow_id = ? AND terminal_at IS NULL)"
        )
        return bool(self._number(statement, workflow_id))

    def live_workflows(self, workflow_id: str) -> int:
        """Count the owned workflows that are not terminal."""
        statement = (
            "SELECT count(*) FROM children WHERE workflow_id = ?"
            " AND terminal_at IS NULL AND kind IN ('workflow', 'branch')"
        )
        return self._number(statement, workflow_id)

    def children_to_cancel(self, workflow_id: str, limit: int) -> list[Child]:
        """Return children not terminal and not asked to stop yet."""
        where = (
            "WHERE workflow_id = ? AND terminal_at IS NULL AND cancel_sent = 0 LIMIT ?"
        )
        return self._many(Child, where, workflow_id, limit)

    def consume(self, workflow_id: str, keys: Iterable[str]) -> None:
        """Mark children as consumed."""
        statement = "UPDATE children SET consumed = 1 WHERE workflow_id = ? AND key = ?"
        self._db.executemany(statement, [(workflow_id, key) for key in keys])

    def open_wait(self, workflow_id: str) -> Wait | None:
        """Return the wait that is installed and not closed."""
        return self._one(Wait, "WHERE workflow_id = ? AND open = 1", workflow_id)

    def due_waits(self, now: int, limit: int) -> list[Wait]:
        """Return open waits whose deadline has come."""
        where = (
            "WHERE open = 1 AND deadline IS NOT NULL AND deadline <= ?"
            " ORDER BY deadline LIMIT ?"
        )
        return self._many(Wait, where, now, limit)

    def event_by_identity(
        self, workflow_id: str, source: str, event_id: str
    ) -> InboxEvent | None:
        """Return the accepted event with this identity."""
        where = "WHERE workflow_id = ? AND source = ? AND event_id = ?"
        return self._one(InboxEvent, where, workflow_id, source, event_id)

    def inbox_usage(self, workflow_id: str) -> Usage:
        """Return count and summed size of the pending events."""
        return self._usage(
            "SELECT count(*), coalesce(sum(size), 0), 0 FROM inbox"
            " WHERE workflow_id = ? AND pending = 1",
            workflow_id,
        )

    def discard_events(self, workflow_id: str) -> None:
        """Let no pending event be delivered any more."""
        self._db.execute(
            "UPDATE inbox SET pending = 0 WHERE workflow_id = ? AND pending = 1",
            (workflow_id,),
        )

    def due_applications(self, now: int, limit: int) -> list[Application]:
        """Return decisions that are to be tried again."""
        where = "WHERE due_at <= ? ORDER BY due_at LIMIT ?"
        return self._many(Application, where, now, limit)

    def due_drains(self, now: int, limit: int) -> list[Workflow]:
        """Return failing and cancelling workflows with work to do."""
        where = "WHERE drain_at IS NOT NULL AND drain_at <= ? ORDER BY drain_at LIMIT ?"
        return self._many(Workflow, where, now, limit)


_BY_SUBMISSION = "WHERE tenant_id = ? AND namespace = ? AND idempotency_key = ?"


def _marks(items: Sequence[str]) -> str:
    return ", ".join("?" * len(items))
