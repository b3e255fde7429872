"""The invocation event as the service builds it (orchestrator.md, section 5)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Attempt", "build_event", "format_time", "new_attempt"]

NewId = Callable[[str], str]


def _new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The identities of one execution.

    Attributes:
        claimed_at_ms: Unix milliseconds of the claim; the event's time.
        workflow_id: The workflow whose activation it is, else None.
        lineage: ``(parent, root)`` workflow ids of an owned workflow, else None.
    """

    event_id: str
    attempt_id: str
    task_id: str
    run_id: str
    claimed_at_ms: int
    attempt_no: int = 1
    tenant_id: str = "local"
    namespace: str = "default"
    workflow_id: str | None = None
    lineage: tuple[str, str] | None = None


def new_attempt(
    *,
    workflow: bool = False,
    new_id: NewId = _new_id,
    clock_ms: Callable[[], int] | None = None,
) -> Attempt:
    """Return the first attempt of a new task, or of a new workflow's activation."""
    now = time.time_ns() // 1_000_000 if clock_ms is None else clock_ms()
    return Attempt(
        event_id=new_id("evt"),
        attempt_id=new_id("att"),
        task_id=new_id("task"),
        run_id=new_id("run"),
        claimed_at_ms=now,
        workflow_id=new_id("wf") if workflow else None,
    )


def build_event(attempt: Attempt, data: object) -> dict[str, Any]:
    """Return the CloudEvent of an attempt; absent attributes are left out."""
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": attempt.event_id,
        "source": "urn:ledgence:orchestrator",
        "type": "com.ledgence.task.invocation.requested.v1",
        "subject": f"tasks/{attempt.task_id}",
        "time": format_time(attempt.claimed_at_ms),
        "datacontenttype": "application/json",
        "ldgtenantid": attempt.tenant_id,
        "ldgnamespace": attempt.namespace,
        "ldgrunid": attempt.run_id,
        "ldgtaskid": attempt.task_id,
        "ldgattemptid": attempt.attempt_id,
        "ldgattemptno": attempt.attempt_no,
    }
    if attempt.workflow_id is not None:
        event["ldgworkflowid"] = attempt.workflow_id
        event["ldgactivationid"] = attempt.task_id
    if attempt.lineage is not None:
        parent, root = attempt.lineage
        event["ldgparentworkflowid"] = parent
        event["ldgrootworkflowid"] = root
    event["data"] = data
    return event


def format_time(ms: int) -> str:
    """Return RFC 3339 with ``Z``, the fraction without trailing zeros.

    Args:
        ms: Unix milliseconds, 0 to 253402300799999.
    """
    seconds, rest = divmod(ms, 1000)
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    fraction = f".{rest:03}".rstrip("0") if rest else ""
    return f"{whole}{fraction}Z"
