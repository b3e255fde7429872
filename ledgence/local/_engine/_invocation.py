"""The invocation event of an attempt (orchestrator.md, section 5).

It is built from what was frozen at the claim, so the same attempt always shows the
same event and nothing of it needs to be stored.
"""

from __future__ import annotations

from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import Attempt, Payload, Task, Workflow
from ledgence.local._engine._values import JsonObject, unpack
from ledgence.local._events import format_time

__all__ = ["build_event", "task_data"]

SOURCE = "urn:ledgence:orchestrator"
TYPE = "com.ledgence.task.invocation.requested.v1"


def build_event(rows: Rows, task: Task, attempt: Attempt) -> JsonObject:
    """Return the CloudEvent of an attempt; absent attributes are left out."""
    event: JsonObject = {
        "specversion": "1.0",
        "id": attempt.event_id,
        "source": SOURCE,
        "type": TYPE,
        "subject": f"tasks/{task.task_id}",
        "time": format_time(attempt.claimed_at),
        "datacontenttype": "application/json",
        "ldgtenantid": task.tenant_id,
        "ldgnamespace": task.namespace,
        "ldgrunid": task.run_id,
        "ldgtaskid": task.task_id,
        "ldgattemptid": attempt.attempt_id,
        "ldgattemptno": attempt.number,
    }
    event.update(_lineage(rows, task))
    if task.traceparent is not None:
        event["traceparent"] = task.traceparent
        if task.tracestate is not None:
            event["tracestate"] = task.tracestate
    event["data"] = task_data(rows, task)
    return event


def _lineage(rows: Rows, task: Task) -> JsonObject:
    if task.workflow_id is None:
        return {}
    found: JsonObject = {"ldgworkflowid": task.workflow_id}
    if task.activation:
        found["ldgactivationid"] = task.task_id
    owner = rows.need(Workflow, task.workflow_id)
    if owner.parent_workflow_id is not None:
        found["ldgparentworkflowid"] = owner.parent_workflow_id
        found["ldgrootworkflowid"] = owner.root_workflow_id
    return found


def task_data(rows: Rows, task: Task) -> object:
    """Return the data of a task; every activation has that of its workflow."""
    owner = task.workflow_id if task.activation else task.task_id
    return unpack(rows.need(Payload, owner).data)
