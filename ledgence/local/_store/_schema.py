"""The tables, and how a store of an older version is brought forward.

``PRAGMA user_version`` is the version of a store. A migration is the list of
statements that lead from one version to the next; all that are missing run in one
transaction. A version, once released, is never edited: what changes is appended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["APPLICATION_ID", "MIGRATIONS"]

# "LDGL" in PRAGMA application_id marks the files that are ours.
APPLICATION_ID: Final = 0x4C44474C

_FIRST = (
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID
    """,
    "INSERT INTO meta VALUES ('clock_floor', 0)",
    """
    CREATE TABLE payloads (owner_id TEXT PRIMARY KEY, data BLOB, output BLOB)
    """,
    """
    CREATE TABLE tasks (
        task_id TEXT PRIMARY KEY, run_id TEXT, tenant_id TEXT, namespace TEXT,
        queue TEXT, correlation_key TEXT, idempotency_key TEXT,
        program_id TEXT, program_version TEXT, digest TEXT, size INTEGER,
        max_attempts INTEGER, retry_delay_ms INTEGER, attempt_timeout_ms INTEGER,
        traceparent TEXT, tracestate TEXT,
        workflow_id TEXT, activation INTEGER, child_key TEXT,
        submitted_at INTEGER, state TEXT, attempt_count INTEGER,
        current_attempt_id TEXT, latest_attempt_id TEXT, available_at INTEGER,
        terminal_at INTEGER, cancel_requested_at INTEGER)
    """,
    """
    CREATE UNIQUE INDEX tasks_key ON tasks (tenant_id, namespace, idempotency_key)
        WHERE idempotency_key IS NOT NULL
    """,
    """
    CREATE INDEX tasks_queued ON tasks (available_at, submitted_at, task_id)
        WHERE state = 'queued'
    """,
    """
    CREATE INDEX tasks_listed
        ON tasks (tenant_id, namespace, submitted_at, task_id)
    """,
    """
    CREATE TABLE attempts (
        attempt_id TEXT PRIMARY KEY, task_id TEXT, number INTEGER, lease_id TEXT,
        event_id TEXT, host_id TEXT, claimed_at INTEGER, deadline INTEGER,
        authority_deadline INTEGER, lease_expires_at INTEGER, state TEXT,
        renewed_at INTEGER, dispatched_at INTEGER, reported_at INTEGER,
        confirmed_at INTEGER, finished_at INTEGER, quiescence TEXT, retry_at INTEGER)
    """,
    "CREATE INDEX attempts_of_task ON attempts (task_id, number)",
    """
    CREATE INDEX attempts_active ON attempts (lease_expires_at, deadline, reported_at)
        WHERE state = 'active'
    """,
    "CREATE TABLE reports (attempt_id TEXT PRIMARY KEY, body BLOB)",
    """
    CREATE TABLE workflows (
        workflow_id TEXT PRIMARY KEY, tenant_id TEXT, namespace TEXT, queue TEXT,
        correlation_key TEXT, idempotency_key TEXT,
        program_id TEXT, program_version TEXT, digest TEXT, size INTEGER,
        max_attempts INTEGER, retry_delay_ms INTEGER, attempt_timeout_ms INTEGER,
        traceparent TEXT, tracestate TEXT,
        parent_workflow_id TEXT, root_workflow_id TEXT, child_key TEXT,
        depth INTEGER, submitted_at INTEGER, state TEXT, revision INTEGER,
        activation_id TEXT, terminal_at INTEGER, error_kind TEXT, error_message TEXT,
        drain_at INTEGER)
    """,
    """
    CREATE UNIQUE INDEX workflows_key
        ON workflows (tenant_id, namespace, idempotency_key)
        WHERE idempotency_key IS NOT NULL
    """,
    """
    CREATE INDEX workflows_listed
        ON workflows (tenant_id, namespace, submitted_at, workflow_id)
    """,
    """
    CREATE INDEX workflows_draining ON workflows (drain_at)
        WHERE drain_at IS NOT NULL
    """,
    """
    CREATE TABLE activations (
        activation_id TEXT PRIMARY KEY, workflow_id TEXT, revision INTEGER,
        scheduled_at INTEGER, continuation TEXT, state BLOB, inputs BLOB, wake BLOB,
        input_keys BLOB, decision TEXT, applied_at INTEGER, error_kind TEXT)
    """,
    "CREATE UNIQUE INDEX activations_of ON activations (workflow_id, revision)",
    """
    CREATE TABLE applications (
        activation_id TEXT PRIMARY KEY, workflow_id TEXT, created_at INTEGER,
        due_at INTEGER, tries INTEGER)
    """,
    "CREATE INDEX applications_due ON applications (due_at)",
    """
    CREATE TABLE checkpoints (
        workflow_id TEXT PRIMARY KEY, activation_id TEXT, continuation TEXT,
        state BLOB, until BLOB, missing INTEGER, wait_key TEXT)
    """,
    """
    CREATE TABLE children (
        workflow_id TEXT, key TEXT, kind TEXT, target_id TEXT, activation_id TEXT,
        revision INTEGER, registered_at INTEGER, terminal_at INTEGER,
        consumed INTEGER, cancel_sent INTEGER, PRIMARY KEY (workflow_id, key))
    """,
    """
    CREATE INDEX children_alive ON children (workflow_id, kind, cancel_sent)
        WHERE terminal_at IS NULL
    """,
    """
    CREATE INDEX children_finished ON children (workflow_id, terminal_at, target_id)
        WHERE terminal_at IS NOT NULL AND consumed = 0
    """,
    """
    CREATE TABLE forks (
        workflow_id TEXT, key TEXT, activation_id TEXT, attempt_id TEXT,
        accepted_at INTEGER, branches INTEGER, size INTEGER, digest TEXT,
        PRIMARY KEY (workflow_id, key))
    """,
    "CREATE INDEX forks_of ON forks (activation_id, size, branches)",
    """
    CREATE TABLE local_steps (
        activation_id TEXT, key TEXT, callable TEXT, attempt_id TEXT,
        accepted_at INTEGER, size INTEGER, record BLOB,
        PRIMARY KEY (activation_id, key))
    """,
    """
    CREATE TABLE waits (
        workflow_id TEXT, key TEXT, kind TEXT, activation_id TEXT,
        installed_at INTEGER, deadline INTEGER, open INTEGER, closed_at INTEGER,
        ended TEXT, PRIMARY KEY (workflow_id, key))
    """,
    "CREATE INDEX waits_open ON waits (workflow_id) WHERE open = 1",
    """
    CREATE INDEX waits_due ON waits (deadline)
        WHERE open = 1 AND deadline IS NOT NULL
    """,
    """
    CREATE TABLE inbox (
        workflow_id TEXT, key TEXT, event_id TEXT, source TEXT, accepted_at INTEGER,
        size INTEGER, pending INTEGER, event BLOB, PRIMARY KEY (workflow_id, key))
    """,
    "CREATE UNIQUE INDEX inbox_identity ON inbox (workflow_id, source, event_id)",
    """
    CREATE INDEX inbox_pending ON inbox (workflow_id, size) WHERE pending = 1
    """,
    """
    CREATE TABLE approvals (
        workflow_id TEXT, key TEXT, activation_id TEXT, revision INTEGER, action BLOB,
        proposed BLOB, created_at INTEGER, deadline INTEGER, status TEXT,
        decision BLOB, resumed_activation_id TEXT, PRIMARY KEY (workflow_id, key))
    """,
    """
    CREATE TABLE log (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT, workflow_id TEXT,
        activation_id TEXT, at INTEGER, reason TEXT, subject TEXT)
    """,
    "CREATE INDEX log_of ON log (workflow_id, sequence)",
)

# An export repeats a fork as it was sent: its branches in their order. NULL for forks
# that were accepted before; their order is not known.
_SECOND = ("ALTER TABLE forks ADD COLUMN branch_keys BLOB",)

MIGRATIONS: Final[Sequence[Sequence[str]]] = (_FIRST, _SECOND)
