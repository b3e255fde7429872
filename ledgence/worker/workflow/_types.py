"""The shapes of decisions, for type checkers; loaded at run time only when asked for.

A decision is a plain dict: programs and harnesses subscript, copy and compare it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from ledgence.worker.workflow._context import WorkflowContext


class RetryPolicy(TypedDict):
    """How often an attempt is made, and after how long (workflow-api.md, section 7)."""

    max_attempts: int
    retry_delay_ms: int


class Program(TypedDict):
    """The program that a child runs."""

    id: str
    version: str


class Command(TypedDict):
    """A staged child; ``kind`` is ``workflow`` or, for a task, absent."""

    key: str
    kind: NotRequired[Literal["workflow"]]
    program: Program
    queue: str
    data: Any
    retry_policy: RetryPolicy
    attempt_timeout_ms: int


class _Decision(TypedDict):
    v: Literal[1]
    activation_id: str
    revision: int


class CompleteDecision(_Decision):
    """The workflow has succeeded."""

    kind: Literal["complete"]
    output: Any


class FailError(TypedDict):
    """Why a workflow has failed."""

    kind: str
    message: str


class FailDecision(_Decision):
    """The workflow has failed for good."""

    kind: Literal["fail"]
    error: FailError


class _Checkpoint(_Decision):
    continuation: str
    state: Any
    commands: list[Command]


class ContinueDecision(_Checkpoint):
    """Another activation follows at once."""

    kind: Literal["continue"]


class SuspendDecision(_Checkpoint):
    """Another activation follows when all these children have ended."""

    kind: Literal["suspend"]
    until: list[str]


class EventWait(TypedDict):
    """Wait for an external event."""

    kind: Literal["event"]
    key: str
    timeout_ms: int | None


class TimerWait(TypedDict):
    """Wait for a time."""

    kind: Literal["timer"]
    key: str
    delay_ms: int


class Action(TypedDict):
    """An action as JSON."""

    name: str
    version: str
    arguments: dict[str, Any]


class ApprovalWait(TypedDict):
    """Wait for a reviewer."""

    kind: Literal["approval"]
    key: str
    action: Action
    timeout_ms: int
    proposed_arguments: NotRequired[dict[str, Any] | None]


class WaitDecision(_Checkpoint):
    """Another activation follows when the wait is over."""

    kind: Literal["wait"]
    wait: EventWait | TimerWait | ApprovalWait


Decision: TypeAlias = (
    CompleteDecision | FailDecision | ContinueDecision | SuspendDecision | WaitDecision
)

# What a handler may return: a decision that is built by hand counts as well.
Returned: TypeAlias = Decision | dict[str, Any]

Handler: TypeAlias = Callable[
    [dict[str, Any], WorkflowContext], Returned | Awaitable[Returned]
]


class Use(TypedDict):
    """How much of a limit is used, in bytes."""

    size: int
    limit: int


class Sizes(TypedDict):
    """What ``WorkflowContext.sizes`` returns."""

    state: Use
    inputs: Use
    journal: Use
    commands: Use
