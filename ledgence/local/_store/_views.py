"""The rest of a transaction: times of what waits, and pages for inspection."""

from __future__ import annotations

from typing import Any

from ledgence.local._engine._ports import Due, TaskFilter
from ledgence.local._engine._rows import (
    Approval,
    Child,
    InboxEvent,
    LogEntry,
    Task,
    Wait,
    Workflow,
)
from ledgence.local._store._rows import TransitionRows

__all__ = ["SqliteRows"]


class SqliteRows(TransitionRows):
    """All that the engine asks of a transaction."""

    def due(self) -> Due:
        """Return the earliest times of everything that waits."""
        running = self._db.execute(
            "SELECT min(lease_expires_at), min(deadline), count(*) FROM attempts"
            " WHERE state = 'active' AND reported_at IS NULL"
        ).fetchone()
        return Due(
            queued=self._maybe(
                "SELECT min(available_at) FROM tasks WHERE state = 'queued'"
            ),
            background=self._maybe(_BACKGROUND),
            lease=self._maybe(
                "SELECT min(lease_expires_at) FROM attempts"
                " WHERE state = 'active' AND reported_at IS NOT NULL"
            ),
            running_lease=running[0],
            running_deadline=running[1],
            running=running[2],
        )

    def list_tasks(self, wanted: TaskFilter) -> list[Task]:
        """Return a page of tasks, newest first."""
        where, arguments = _conditions(wanted, "task_id")
        return self._many(Task, where, *arguments)

    def list_workflows(self, wanted: TaskFilter) -> list[Workflow]:
        """Return a page of workflows, newest first."""
        where, arguments = _conditions(wanted, "workflow_id")
        return self._many(Workflow, where, *arguments)

    def list_approvals(
        self, workflow_id: str, after_key: str | None, limit: int
    ) -> list[Approval]:
        """Return approvals of a workflow by key in byte order."""
        return self._many(Approval, _BY_KEY, workflow_id, after_key or "", limit)

    def list_children(
        self, workflow_id: str, after: str | None, limit: int
    ) -> list[Child]:
        """Return children of a workflow by key in byte order."""
        return self._many(Child, _BY_KEY, workflow_id, after or "", limit)

    def list_waits(self, workflow_id: str, after: str | None, limit: int) -> list[Wait]:
        """Return waits of a workflow by key in byte order."""
        return self._many(Wait, _BY_KEY, workflow_id, after or "", limit)

    def list_inbox(
        self, workflow_id: str, after: str | None, limit: int
    ) -> list[InboxEvent]:
        """Return accepted events of a workflow by key in byte order."""
        return self._many(InboxEvent, _BY_KEY, workflow_id, after or "", limit)

    def list_activations(
        self, workflow_id: str, after_revision: int, limit: int
    ) -> list[str]:
        """Return activation ids of a workflow by revision."""
        rows = self._db.execute(
            "SELECT activation_id FROM activations"
            " WHERE workflow_id = ? AND revision > ? ORDER BY revision LIMIT ?",
            (workflow_id, after_revision, limit),
        )
        return [activation_id for (activation_id,) in rows]

    def list_log(self, workflow_id: str, after: int, limit: int) -> list[LogEntry]:
        """Return lines of a workflow's history after a sequence number."""
        where = "WHERE workflow_id = ? AND sequence > ? ORDER BY sequence LIMIT ?"
        return self._many(LogEntry, where, workflow_id, after, limit)


# Keys are never empty; SQLite compares text by its UTF-8 bytes.
_BY_KEY = "WHERE workflow_id = ? AND key > ? ORDER BY key LIMIT ?"

# Each of the three is answered from the first entry of an index.
_BACKGROUND = """
    SELECT min(at) FROM (
        SELECT min(deadline) AS at FROM waits WHERE open = 1 AND deadline IS NOT NULL
        UNION ALL SELECT min(drain_at) FROM workflows WHERE drain_at IS NOT NULL
        UNION ALL SELECT min(due_at) FROM applications)
"""


def _conditions(wanted: TaskFilter, id_column: str) -> tuple[str, list[Any]]:
    """Return condition, order and limit of a page, with their arguments."""
    terms = ["tenant_id = ?", "namespace = ?"]
    arguments: list[Any] = [wanted.scope.tenant_id, wanted.scope.namespace]
    simple = {
        "state = ?": wanted.state,
        "queue = ?": wanted.queue,
        "correlation_key = ?": wanted.correlation_key,
        "submitted_at >= ?": wanted.submitted_from,
        "submitted_at < ?": wanted.submitted_until,
        "parent_workflow_id = ?": wanted.parent_workflow_id,
    }
    for term, value in simple.items():
        if value is not None:
            terms.append(term)
            arguments.append(value)
    if wanted.root_only:
        terms.append("parent_workflow_id IS NULL")
    if wanted.after is not None:
        terms.append(f"(submitted_at, {id_column}) < (?, ?)")
        arguments += wanted.after
    order = f"ORDER BY submitted_at DESC, {id_column} DESC LIMIT ?"
    return f"WHERE {' AND '.join(terms)} {order}", [*arguments, wanted.limit]
