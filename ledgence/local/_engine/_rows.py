"""What the engine remembers: one frozen record per row of the store.

The engine reads records, and writes by adding new ones and by changing named fields
(``Rows.change``); nothing else is mutable. The order of the fields is the order of
the columns. Values of programs are canonical bytes; times are Unix milliseconds; a
number 0 or 1 stands for no or yes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

__all__ = [
    "Activation",
    "Application",
    "Approval",
    "ApprovalState",
    "Attempt",
    "AttemptState",
    "Checkpoint",
    "Child",
    "ChildKind",
    "Fork",
    "InboxEvent",
    "LocalStep",
    "LogEntry",
    "Payload",
    "Quiescence",
    "Report",
    "Row",
    "Task",
    "TaskState",
    "Wait",
    "WaitKind",
    "Workflow",
    "WorkflowState",
]

TaskState: TypeAlias = Literal["queued", "active", "succeeded", "failed", "cancelled"]
AttemptState: TypeAlias = Literal["active", "succeeded", "failed", "cancelled", "lost"]
Quiescence: TypeAlias = Literal["confirmed", "unconfirmed"]
WorkflowState: TypeAlias = Literal[
    "running", "waiting", "failing", "cancelling", "succeeded", "failed", "cancelled"
]
ChildKind: TypeAlias = Literal["task", "workflow", "branch"]
WaitKind: TypeAlias = Literal["event", "timer", "approval"]
ApprovalState: TypeAlias = Literal[
    "pending", "approved", "rejected", "expired", "cancelled"
]


@dataclass(frozen=True, slots=True)
class Row:
    """A record of the store; ``TABLE`` and ``KEY`` say where it is found."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Payload(Row):
    """The submitted data of a task or a workflow, or a workflow's output."""

    TABLE = "payloads"
    KEY = ("owner_id",)

    owner_id: str
    data: bytes
    output: bytes | None = None


@dataclass(frozen=True, slots=True)
class Task(Row):
    """A logical unit of work; an activation of a workflow is one too."""

    TABLE = "tasks"
    KEY = ("task_id",)

    task_id: str
    run_id: str
    tenant_id: str
    namespace: str
    queue: str
    correlation_key: str | None
    idempotency_key: str | None
    program_id: str
    program_version: str
    digest: str
    size: int
    max_attempts: int
    retry_delay_ms: int
    attempt_timeout_ms: int
    traceparent: str | None
    tracestate: str | None
    workflow_id: str | None
    activation: int
    child_key: str | None
    submitted_at: int
    state: TaskState = "queued"
    attempt_count: int = 0
    current_attempt_id: str | None = None
    latest_attempt_id: str | None = None
    available_at: int = 0
    terminal_at: int | None = None
    cancel_requested_at: int | None = None


@dataclass(frozen=True, slots=True)
class Attempt(Row):
    """One execution of a task, with its lease."""

    TABLE = "attempts"
    KEY = ("attempt_id",)

    attempt_id: str
    task_id: str
    number: int
    lease_id: str
    event_id: str
    host_id: str
    claimed_at: int
    deadline: int
    authority_deadline: int
    lease_expires_at: int
    state: AttemptState = "active"
    renewed_at: int | None = None
    dispatched_at: int | None = None
    reported_at: int | None = None
    confirmed_at: int | None = None
    finished_at: int | None = None
    quiescence: Quiescence | None = None
    retry_at: int | None = None


@dataclass(frozen=True, slots=True)
class Report(Row):
    """What was reported of an attempt; immutable."""

    TABLE = "reports"
    KEY = ("attempt_id",)

    attempt_id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Workflow(Row):
    """One workflow execution, root or owned."""

    TABLE = "workflows"
    KEY = ("workflow_id",)

    workflow_id: str
    tenant_id: str
    namespace: str
    queue: str
    correlation_key: str | None
    idempotency_key: str | None
    program_id: str
    program_version: str
    digest: str
    size: int
    max_attempts: int
    retry_delay_ms: int
    attempt_timeout_ms: int
    traceparent: str | None
    tracestate: str | None
    parent_workflow_id: str | None
    root_workflow_id: str | None
    child_key: str | None
    depth: int
    submitted_at: int
    state: WorkflowState = "running"
    revision: int = 0
    activation_id: str | None = None
    terminal_at: int | None = None
    error_kind: str | None = None
    error_message: str | None = None
    drain_at: int | None = None


@dataclass(frozen=True, slots=True)
class Activation(Row):
    """What an activation sees, frozen when it was scheduled."""

    TABLE = "activations"
    KEY = ("activation_id",)

    activation_id: str
    workflow_id: str
    revision: int
    scheduled_at: int
    continuation: str
    state: bytes
    inputs: bytes
    wake: bytes | None
    input_keys: bytes
    decision: str | None = None
    applied_at: int | None = None
    error_kind: str | None = None


@dataclass(frozen=True, slots=True)
class Application(Row):
    """A decision that could not be applied at once: a program was not resolved."""

    TABLE = "applications"
    KEY = ("activation_id",)

    activation_id: str
    workflow_id: str
    created_at: int
    due_at: int
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Checkpoint(Row):
    """How a waiting workflow goes on: with its children, or with its open wait."""

    TABLE = "checkpoints"
    KEY = ("workflow_id",)

    workflow_id: str
    activation_id: str
    continuation: str
    state: bytes
    until: bytes | None
    missing: int
    wait_key: str | None


@dataclass(frozen=True, slots=True)
class Child(Row):
    """A key of a workflow and the task or owned workflow behind it."""

    TABLE = "children"
    KEY = ("workflow_id", "key")

    workflow_id: str
    key: str
    kind: ChildKind
    target_id: str
    activation_id: str
    revision: int
    registered_at: int
    terminal_at: int | None = None
    consumed: int = 0
    cancel_sent: int = 0


@dataclass(frozen=True, slots=True)
class Fork(Row):
    """An accepted fork."""

    TABLE = "forks"
    KEY = ("workflow_id", "key")

    workflow_id: str
    key: str
    activation_id: str
    attempt_id: str
    accepted_at: int
    branches: int
    size: int
    digest: str
    branch_keys: bytes | None = None


@dataclass(frozen=True, slots=True)
class LocalStep(Row):
    """A committed record of an activation's journal."""

    TABLE = "local_steps"
    KEY = ("activation_id", "key")

    activation_id: str
    key: str
    callable: str
    attempt_id: str
    accepted_at: int
    size: int
    record: bytes


@dataclass(frozen=True, slots=True)
class Wait(Row):
    """An external wait; its key is used once per workflow."""

    TABLE = "waits"
    KEY = ("workflow_id", "key")

    workflow_id: str
    key: str
    kind: WaitKind
    activation_id: str
    installed_at: int
    deadline: int | None
    open: int = 1
    closed_at: int | None = None
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class InboxEvent(Row):
    """An accepted event; ``pending`` until a wait takes it or none can."""

    TABLE = "inbox"
    KEY = ("workflow_id", "key")

    workflow_id: str
    key: str
    event_id: str
    source: str
    accepted_at: int
    size: int
    pending: int
    event: bytes


@dataclass(frozen=True, slots=True)
class Approval(Row):
    """A request for approval and what became of it."""

    TABLE = "approvals"
    KEY = ("workflow_id", "key")

    workflow_id: str
    key: str
    activation_id: str
    revision: int
    action: bytes
    proposed: bytes | None
    created_at: int
    deadline: int
    status: ApprovalState = "pending"
    decision: bytes | None = None
    resumed_activation_id: str | None = None


@dataclass(frozen=True, slots=True)
class LogEntry(Row):
    """One line of a workflow's history."""

    TABLE = "log"
    KEY = ("sequence",)

    sequence: int
    workflow_id: str
    activation_id: str | None
    at: int
    reason: str
    subject: str | None
